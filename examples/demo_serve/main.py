# SPDX-License-Identifier: Apache-2.0
"""Runs the demo: a lake with an index, a server, two clients, and a table of their plans."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import zonemap
from demo import flights, lake, session
from demo_serve import pyiceberg_client, server, spark_client
from demo_serve.queries import EVENTS_FILES, QUERIES, Comparison

_COMMITS = 12
_LOG_WIDTH = 120


def run(folder: Path, *, iceberg: str) -> int:
    """Writes and indexes the lake, starts the server, compares the plans and prints them.

    Args:
        folder: Folder of the lake; ``lake`` of an earlier demo in it is deleted first.
        iceberg: Iceberg's runtime, as a version or as a jar.

    Returns:
        0, or 1 if a client got other rows or no files by the server's plan.
    """
    started = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _LOG_WIDTH)
    warehouse = folder.resolve() / "lake"
    shutil.rmtree(warehouse, ignore_errors=True)
    warehouse.mkdir(parents=True)
    with console.status("writing and indexing the lake"):
        jar, counts = _write(warehouse, iceberg)
    with server.running(warehouse, iceberg, log=folder / "server.log") as running:
        console.print(
            f"zonemap serve answers at {running.url}; the clients know this URL and no jar of zonemap", markup=False
        )
        with console.status("PyIceberg plans"):
            found = list(pyiceberg_client.compare(running.url, QUERIES))
        with console.status("Spark and Iceberg plan"):
            found += spark_client.compare(running.url, warehouse, jar)
    console.print(_table(found, counts))
    console.print(f"total: {time.monotonic() - started:.0f} s", markup=False)
    bad = [entry for entry in found if entry.failure]
    for entry in bad:
        console.print(f"FAILED {entry.client}, {entry.query.title}: {entry.failure}", markup=False)
    return 1 if bad else 0


def _write(warehouse: Path, iceberg: str) -> tuple[str, dict[str, int]]:
    """Writes and indexes the tables, and ends the session.

    Returns:
        The jar of Iceberg's runtime, and the number of data files of each table.
    """
    spark = session.start(warehouse, iceberg)
    try:
        lake.write_flights(spark, flights.load(), _COMMITS, lambda: None)
        lake.write_events(spark, lambda: None, EVENTS_FILES)
        builds = [zonemap.Index(spark, table).build() for table in (lake.FLIGHTS, lake.EVENTS)]
        return session.iceberg_jar(spark), {build.table: build.data_files for build in builds}
    finally:
        spark.stop()


def _table(found: Sequence[Comparison], counts: Mapping[str, int]) -> Table:
    table = Table(title="one plan: by the client itself, and by the server", title_justify="left")
    table.add_column("client")
    table.add_column("scan")
    for column in ("files", "own plan", "served", "ms own", "ms served", "faster"):
        table.add_column(column, justify="right")
    table.add_column("rows equal")
    for entry in found:
        own, served = entry.own, entry.served
        table.add_row(
            entry.client,
            entry.query.title,
            f"{counts[entry.query.table]:,}",
            f"{len(own.files):,}",
            f"{len(served.files):,}",
            f"{own.millis:,.0f}",
            f"{served.millis:,.0f}",
            f"{own.millis / served.millis:.1f} x",
            ("yes" if not entry.failure else "NO") if entry.query.is_read else "not read",
        )
    return table
