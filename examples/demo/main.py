# SPDX-License-Identifier: Apache-2.0
"""Runs the demo from an empty folder to the report."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import zonemap
from demo import compare, flights, lake, report, session
from demo.queries import queries
from zonemap import ZonemapError
from zonemap.results import BuildResult
from zonemap.session import driver_jvm

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_IN_VALUES = 500
_CLAIMS = 40
#: The facts that the demo builds, by table.
_FACTS = {lake.FLIGHTS: ["bloom(tailnum)"]}
_LOG_WIDTH = 140


def run(folder: Path, *, iceberg: str, commits: int) -> int:
    """Writes the lake, builds the index, compares the queries, prints a table and writes ``report.html``.

    Args:
        folder: Folder of the lake and the report; ``lake`` of an earlier demo in it is deleted first.
        iceberg: Iceberg's runtime, as a version or as a jar.
        commits: Largest number of commits to each table, with 64 files in each commit.

    Returns:
        0, or 1 if rows differ or a query with the index on was not planned from it.
    """
    started = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _LOG_WIDTH)
    folder = folder.resolve()
    warehouse = folder / "lake"
    shutil.rmtree(warehouse, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    spark = session.start(warehouse, iceberg)
    try:
        rows = flights.load()
        with _progress(console) as progress:
            days = min(commits, lake.METRICS_DAYS)
            _write(spark, progress, rows, commits, days)
            builds = _build_indexes(spark, progress)
            asked = queries(
                flights.ids_of_busiest_aircraft(rows, _IN_VALUES),
                lake.FIRST_DAY + timedelta(days=days - 1),
                flights.rare_aircraft(rows),
            )
            counts = {build.table: build.data_files for build in builds}
            task = progress.add_task("comparing queries", total=len(asked))
            found = []
            compare.warm_up(spark, asked[0])
            for query in asked:
                found.append(compare.compare(spark, query, counts[query.table]))
                progress.advance(task)
        found.sort(key=compare.gain, reverse=True)
        facts = report.Facts(driver_jvm.versions(spark), os.cpu_count() or 1, time.monotonic() - started)
        report.print_table(console, found, builds)
        page = folder / "report.html"
        page.write_text(report.html_page(found, builds, facts), encoding="utf-8")
    finally:
        spark.stop()
    console.print(f"report: {page}   total: {facts.seconds:.0f} s", markup=False)
    bad = [entry for entry in found if entry.failure]
    for entry in bad:
        console.print(f"FAILED {entry.query.title}: {entry.failure}", markup=False)
    return 1 if bad else 0


def _write(spark: SparkSession, progress: Progress, rows: pa.Table, commits: int, days: int) -> None:
    task = progress.add_task(f"writing {lake.FLIGHTS}", total=commits)
    lake.write_flights(spark, rows, commits, lambda: progress.advance(task))
    other = progress.add_task(f"writing {lake.METRICS}", total=days)
    lake.write_metrics(spark, days, lambda: progress.advance(other))
    lake.write_claims(spark, range(1_000, rows.num_rows, rows.num_rows // _CLAIMS)[:_CLAIMS])
    last = progress.add_task(f"writing {lake.EVENTS}", total=lake.events_commits())
    lake.write_events(spark, lambda: progress.advance(last))


def _build_indexes(spark: SparkSession, progress: Progress) -> list[BuildResult]:
    """Builds the indexes and checks that they cover all data files of the tables."""
    tables = (lake.FLIGHTS, lake.METRICS, lake.EVENTS)
    task = progress.add_task("building the index", total=len(tables))
    builds = []
    for table in tables:
        build = zonemap.Index(spark, table).build(facts=_FACTS.get(table, []))
        files = lake.file_count(spark, table)
        if build.data_files != files:
            raise ZonemapError(
                f"Cannot use the index of '{table}': it covers {build.data_files:,} of {files:,} files. "
                "This is a defect; please report it with this output."
            )
        builds.append(build)
        progress.advance(task)
    return builds


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)
