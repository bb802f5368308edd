# SPDX-License-Identifier: Apache-2.0
"""Plans with PyIceberg, by itself and through the server."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence

from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable, Table

from demo_serve.queries import Comparison, Planned, Query

#: PyIceberg's own plans take seconds.
OWN_PLANS = 1
SERVED_PLANS = 5


def compare(url: str, queries: Sequence[Query]) -> Iterator[Comparison]:
    """Plans each query both ways, and reads the files of those that have some.

    Args:
        url: The URL of the server.
        queries: The queries.
    """
    catalog = load_catalog("served", type="rest", uri=url, **{"scan-planning-mode": "server"})
    for query in queries:
        served = catalog.load_table(query.table.partition(".")[2])
        own = StaticTable.from_metadata(served.metadata_location)
        yield Comparison("PyIceberg", query, _planned(own, query, OWN_PLANS), _planned(served, query, SERVED_PLANS))


def _planned(table: Table, query: Query, plans: int) -> Planned:
    millis = []
    for _ in range(plans):
        started = time.perf_counter()
        files = sorted(task.file.file_path for task in table.scan(row_filter=query.where).plan_files())
        millis.append((time.perf_counter() - started) * 1000)
    rows = []
    if query.is_read:
        scan = table.scan(row_filter=query.where, selected_fields=("flight_id",))
        rows = sorted(scan.to_arrow()["flight_id"].to_pylist())
    return Planned(files, rows, statistics.median(millis))
