# SPDX-License-Identifier: Apache-2.0
"""Runs the demo of append ingestion from an empty folder to the figures."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import zonemap
from demo import flights
from demo_ingest import counting, direct, queries, report
from demo_ingest.journal import accepted
from demo_ingest.lake import TABLE, WRITERS, Lake
from demo_ingest.processes import COMMITTER, SPARK_WRITERS, Processes
from zonemap import ZonemapError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DIRECT_APPENDS = 24
# Limits of a demo that hangs; a busy machine stays far below them.
_START_SECONDS = 600.0
_DRAIN_SECONDS = 600.0
_LOG_WIDTH = 140
#: The share of all appends at which each process is killed; the committer is the last one.
_KILLS = ((0.2, f"writer-{WRITERS - 1}"), (0.35, COMMITTER))


def run(folder: Path, *, iceberg: str, sqlite: str) -> int:
    """Appends all flights from eight processes, kills two, counts, and prints the figures.

    Args:
        folder: Folder of the lake; an earlier demo in it is deleted.
        iceberg: Iceberg's runtime, as a version or as a jar.
        sqlite: The JDBC driver of SQLite, as a version or as a jar.

    Returns:
        0, or 1 if a row is lost or doubled, or the query was not planned from the index.
    """
    started = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, _LOG_WIDTH)
    lake = Lake(folder.resolve(), iceberg, sqlite)
    rows = flights.load()
    appends = lake.create(rows)
    spark = _session(lake)
    try:
        with Processes(lake) as processes, _progress(console) as progress:
            _start(lake, processes)
            queries.warm_up(spark)
            lake.go.touch()
            newest = queries.Newest(spark, lake)
            crashes = _watch(lake, newest, processes, progress, appends)
            _drain(lake, processes, rows.num_rows)
        newest.look_at_last(accepted(lake))
        fresh = newest.best
        compared = direct.append(lake, _DIRECT_APPENDS)
        counted = counting.count(lake, rows.num_rows, crashes[-1].at)
        failures = [counted.failure, "no query saw new rows" if fresh is None else fresh.failure(spark)]
    finally:
        spark.stop()
    report.print_tables(console, counted, compared, crashes, fresh)
    console.print(f"total: {time.monotonic() - started:.0f} s", markup=False)
    for failure in filter(None, failures):
        console.print(f"FAILED: {failure}", markup=False)
    return 1 if any(failures) else 0


def _session(lake: Lake) -> SparkSession:
    """Starts the session of the queries."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra of this package

    builder = SparkSession.Builder().appName("zonemap demo")
    for key, value in (lake.confs() | {"spark.master": "local[2]", "spark.driver.memory": "1g"}).items():
        builder = builder.config(key, value)
    return zonemap.configure(builder, iceberg=lake.iceberg, ingest=True).getOrCreate()


def _start(lake: Lake, processes: Processes) -> None:
    """Starts all processes and waits until those with a JVM are ready."""
    processes.start_committer()
    for number in range(WRITERS):
        processes.start_writer(number)
    end = time.monotonic() + _START_SECONDS
    ready = [lake.folder / f"ready-{number}" for number in SPARK_WRITERS]
    while not (all(map(Path.exists, ready)) and TABLE in lake.log(COMMITTER).read_text(errors="replace")):
        processes.check()
        if time.monotonic() > end:
            raise ZonemapError(
                f"Cannot start the processes of the demo: they were not ready after {_START_SECONDS:g} s. "
                f"Read their output in '{lake.log(COMMITTER).parent}'."
            )
        time.sleep(0.1)


def _watch(
    lake: Lake, newest: queries.Newest, processes: Processes, progress: Progress, appends: int
) -> list[report.Crash]:
    """Kills and starts processes, and queries, until all writers have ended; returns the crashes."""
    task = progress.add_task("accepted appends", total=appends)
    with ThreadPoolExecutor(1) as pool:
        crashing = pool.submit(_crash, lake, processes, appends)
        while not crashing.done() or processes.check():
            if crashing.done():
                crashing.result()  # raises if it failed: the writers would wait for the crashes forever
            times = accepted(lake)
            progress.update(task, completed=len(times))
            newest.look(times)
            time.sleep(0.1)
    progress.update(task, completed=len(accepted(lake)))
    return crashing.result()


def _crash(lake: Lake, processes: Processes, appends: int) -> list[report.Crash]:
    """Kills each process of ``_KILLS`` when it is due, and starts it again; returns the crashes."""
    started = time.monotonic()
    found = []
    for share, name in _KILLS:
        while (count := len(accepted(lake))) < share * appends:
            if not processes.check():
                raise ZonemapError(f"Cannot show a crash: the writers ended before '{name}' was killed.")
            time.sleep(0.05)
        process = processes.crash(name)
        found.append(report.Crash(time.time(), time.monotonic() - started, name, process, count))
    lake.crashed.touch()
    return found


def _drain(lake: Lake, processes: Processes, rows: int) -> None:
    """Waits until all rows are committed and the committer has removed their records, while the committer runs."""
    end = time.monotonic() + _DRAIN_SECONDS
    with contextlib.closing(lake.catalog()) as catalog:
        table = catalog.load_table(TABLE.removeprefix("lake."))
        while time.monotonic() < end:
            processes.check()
            snapshot = table.refresh().current_snapshot()
            if snapshot is not None and snapshot.summary is not None:
                total = int(snapshot.summary["total-records"] or 0)
                if total >= rows and not counting.records(lake, table, "pending"):
                    break
            time.sleep(0.1)


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)
