# SPDX-License-Identifier: Apache-2.0
"""``python -m readers.plans <metadata.json> <reader> <query>``: plans once in this process, and prints the figures.

The libraries are imported and the table's metadata is read before the clock starts. Nothing of the index, of the
manifest list or of a manifest has been read then.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection
from typing import Any

from pyiceberg.expressions import And, BooleanExpression, GreaterThanOrEqual, In, LessThan
from pyiceberg.table import StaticTable

#: The values of `seq` that a file of the table holds.
ROWS = 100_000


def values(query: str, files: int) -> Collection[int]:
    """The values of `seq` that a query asks for."""
    middle = files // 2 * ROWS
    if query == "range":
        return range(middle, middle + 300 * ROWS)
    if query == "list in a row":
        return {middle + place * ROWS + 7 for place in range(250)}
    return {place * (files // 250) * ROWS + 7 for place in range(250)}


def index(metadata: str, wanted: Collection[int]) -> Callable[[], int]:
    from zonemap.pyiceberg import plan

    scan = StaticTable.from_metadata(metadata).scan(row_filter=_filter(wanted))

    def run() -> int:
        found = plan(scan)
        if not found.is_from_index:
            raise RuntimeError(found.reason)
        return len(found.tasks)

    return run


def pyiceberg(metadata: str, wanted: Collection[int]) -> Callable[[], int]:
    scan = StaticTable.from_metadata(metadata).scan(row_filter=_filter(wanted))
    return lambda: len(list(scan.plan_files()))


def polars(metadata: str, wanted: Collection[int]) -> Callable[[], int]:
    import polars
    import polars_iceberg  # noqa: F401 - imported before the clock starts

    seq = polars.col("seq")
    condition = (seq >= wanted.start) & (seq < wanted.stop) if isinstance(wanted, range) else seq.is_in(sorted(wanted))
    query = polars.scan_iceberg(metadata).filter(condition)

    def run() -> int:
        first = query.explain().splitlines()[0]
        others = first.rpartition("... ")[2].split(" ")[0] if "... " in first else "0"
        return 1 + int(others)

    return run


READERS: dict[str, Any] = {"index": index, "pyiceberg": pyiceberg, "polars": polars}


def _filter(wanted: Collection[int]) -> BooleanExpression:
    if isinstance(wanted, range):
        return And(GreaterThanOrEqual("seq", wanted.start), LessThan("seq", wanted.stop))
    return In("seq", set(wanted))


def main(metadata: str, reader: str, query: str) -> None:
    files = int(StaticTable.from_metadata(metadata).current_snapshot().summary["total-data-files"])
    run = READERS[reader](metadata, values(query, files))
    wall, cpu = time.perf_counter(), time.process_time()
    planned = run()
    figures = {
        "files": planned,
        "cpuMillis": round((time.process_time() - cpu) * 1000, 2),
        "wallMillis": round((time.perf_counter() - wall) * 1000, 2),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
