# SPDX-License-Identifier: Apache-2.0
"""Runs one query with the index off and on in the same session, by turns."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo import measured_plans
from demo.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUNDS = 3
_SLOW_MS = 3_000


@dataclass(frozen=True)
class Run:
    """One execution of a query.

    Attributes:
        planning_ms: From SQL text to physical plan, file planning included; nan for a command, which plans as it runs.
        query_ms: From SQL text to the last row; for a query that is only planned, the same as ``planning_ms``.
        files: Number of data files that the scans planned to read.
        bytes: Size of these files.
        read: Number of data files of the query's own table that tasks opened, if each file is one split.
        indexed_scans: Number of scans that were planned from the index; for a MERGE, of scans that lost files by it.
        rows: The rows of the result, each as text, sorted; the planned files of a query that is only planned; the
            number and a digest of the rows of the table after a command.
    """

    planning_ms: float
    query_ms: float
    files: int
    bytes: int
    read: int
    indexed_scans: int
    rows: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """The runs of one query, without the warm-up.

    Attributes:
        query: The query.
        table_files: Number of data files of its table.
        off: Runs with ``spark.sql.zonemap.enabled=false``: Iceberg's own planning.
        on: Runs with ``spark.sql.zonemap.enabled=true``.
    """

    query: Query
    table_files: int
    off: tuple[Run, ...]
    on: tuple[Run, ...]

    @property
    def rows_equal(self) -> bool:
        """True if every run returned the same rows."""
        return len({run.rows for run in (*self.off, *self.on)}) == 1

    @property
    def failure(self) -> str:
        """Why this query failed the check; empty if it succeeded."""
        if not self.rows_equal:
            return "rows differ between runs"
        if not self.on[0].rows:
            return "no rows to compare"
        if not all(run.indexed_scans for run in self.on):
            return "not planned from the index when on"
        if any(run.indexed_scans for run in self.off):
            return "planned from the index when off"
        return ""


def planning_ms(runs: tuple[Run, ...]) -> float:
    """Returns the median planning time, in milliseconds."""
    return statistics.median(run.planning_ms for run in runs)


def query_ms(runs: tuple[Run, ...]) -> float:
    """Returns the median time of the whole query, in milliseconds."""
    return statistics.median(run.query_ms for run in runs)


def gain(found: Comparison) -> float:
    """Returns by what factor the index makes the query faster."""
    return query_ms(found.off) / query_ms(found.on)


def warm_up(spark: SparkSession, query: Query) -> None:
    """Runs a query with the index off and on, so that Spark has loaded its classes before a query is measured."""
    for enabled in (False, True):
        run(spark, query, enabled=enabled)


def compare(spark: SparkSession, query: Query, table_files: int) -> Comparison:
    """Runs the query once with the index off and on to warm up, then ``ROUNDS`` times each, by turns.

    A query that takes seconds without the index runs once without it: warming up saves little of such a time. A command
    runs once each, after a warm-up with the index, whose rows nothing reads.
    """
    if query.kind == "merge":
        _warm_up_command(spark, query)
        return Comparison(
            query,
            table_files,
            (_command(spark, query, enabled=False),),
            (_command(spark, query, enabled=True),),
        )
    measure = _plan if query.kind == "plan" else run
    off, on = [measure(spark, query, enabled=False)], [measure(spark, query, enabled=True)]
    slow = off[0].query_ms > _SLOW_MS
    for _ in range(ROUNDS):
        if not slow:
            off.append(measure(spark, query, enabled=False))
        on.append(measure(spark, query, enabled=True))
    return Comparison(query, table_files, tuple(off[-ROUNDS:]), tuple(on[-ROUNDS:]))


def run(spark: SparkSession, query: Query, *, enabled: bool) -> Run:
    """Runs the query once with the index off or on."""
    scans, start, frame = _start(spark, query, enabled=enabled)
    planned = time.perf_counter()
    rows = frame.collect()
    end = time.perf_counter()
    return Run(
        planning_ms=(planned - start) * 1000,
        query_ms=(end - start) * 1000,
        files=measured_plans.scan_metric(frame, "resultDataFiles"),
        bytes=measured_plans.scan_metric(frame, "totalDataFileSize"),
        read=measured_plans.scan_metric(frame, "numSplits", query.table),
        indexed_scans=measured_plans.planned_scans(spark) - scans,
        rows=tuple(sorted(map(str, rows))),
    )


def _plan(spark: SparkSession, query: Query, *, enabled: bool) -> Run:
    """Plans the query once with the index off or on; its files need not exist."""
    scans, start, frame = _start(spark, query, enabled=enabled)
    millis = (time.perf_counter() - start) * 1000
    planned = measured_plans.planned_files(frame)
    return Run(
        planning_ms=millis,
        query_ms=millis,
        files=len(planned),
        bytes=0,
        read=len(planned),
        indexed_scans=measured_plans.planned_scans(spark) - scans,
        rows=tuple(planned),
    )


def _start(spark: SparkSession, query: Query, *, enabled: bool) -> tuple[int, float, DataFrame]:
    """Plans the query with the index off or on; returns the scans that were planned before, the start and the frame."""
    _switch(spark, enabled)
    scans = measured_plans.planned_scans(spark)
    start = time.perf_counter()
    frame = spark.sql(query.sql)
    measured_plans.plan(frame)
    return scans, start, frame


def _warm_up_command(spark: SparkSession, query: Query) -> None:
    before = _snapshot(spark, query.table)
    _switch(spark, True)
    spark.sql(query.sql)
    _roll_back(spark, query.table, before)


def _command(spark: SparkSession, query: Query, *, enabled: bool) -> Run:
    """Runs the command once with the index off or on, reads the table without the index, and rolls it back."""
    before = _snapshot(spark, query.table)
    _switch(spark, enabled)
    start = time.perf_counter()
    frame = spark.sql(query.sql)
    millis = (time.perf_counter() - start) * 1000
    read = measured_plans.command_metric(frame, "numSplits", query.table)
    skipped = measured_plans.command_metric(frame, "zonemapFilesSkippedByJoinKeys", query.table)
    _switch(spark, False)
    columns = ", ".join(spark.table(query.table).columns)
    rows = spark.sql(f"SELECT count(*), sum(xxhash64({columns}) % 1000000007) FROM {query.table}").collect()
    _roll_back(spark, query.table, before)
    return Run(
        planning_ms=math.nan,
        query_ms=millis,
        files=read + skipped,
        bytes=0,
        read=read,
        indexed_scans=int(skipped > 0),
        rows=tuple(map(str, rows)),
    )


def _snapshot(spark: SparkSession, table: str) -> int:
    return int(spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()[0][0])


def _roll_back(spark: SparkSession, table: str, snapshot: int) -> None:
    catalog, _, name = table.partition(".")
    spark.sql(f"CALL {catalog}.system.rollback_to_snapshot(table => '{name}', snapshot_id => {snapshot})").collect()


def _switch(spark: SparkSession, enabled: bool) -> None:
    spark.sql(f"SET spark.sql.zonemap.enabled={str(enabled).lower()}")
