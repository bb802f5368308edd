"""Runs one query with the index off and on in the same session, by turns."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonemap import _jvm, confs
from zonemap.demo.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
_SLOW_MS = 5_000


@dataclass(frozen=True)
class Run:
    """One execution of a query.

    Attributes:
        planning_ms: From SQL text to physical plan, file planning included.
        query_ms: From SQL text to the last row.
        files: Number of data files that the scans planned to read.
        bytes: Size of these files.
        read: Number of data files of the query's own table that tasks opened, if each file is one split.
        indexed_scans: Number of scans that were planned from the index.
        rows: The rows of the result, each as text, sorted.
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


def compare(spark: SparkSession, query: Query, table_files: int) -> Comparison:
    """Runs the query once with the index off and on to warm up, then ``ROUNDS`` times each, by turns.

    The warm-up of a query that takes many seconds counts as its first round: warming up saves little of such a time.
    """
    off: list[Run] = []
    on: list[Run] = []
    runs = 1 + ROUNDS
    while len(on) < runs:
        off.append(run(spark, query, enabled=False))
        on.append(run(spark, query, enabled=True))
        if off[0].query_ms > _SLOW_MS:
            runs = ROUNDS
    return Comparison(query, table_files, tuple(off[-ROUNDS:]), tuple(on[-ROUNDS:]))


def run(spark: SparkSession, query: Query, *, enabled: bool) -> Run:
    """Runs the query once with the index off or on."""
    spark.sql(f"SET {confs.ENABLED}={str(enabled).lower()}")
    scans = _jvm.planned_scans(spark)
    start = time.perf_counter()
    frame = spark.sql(query.sql)
    _jvm.plan(frame)
    planned = time.perf_counter()
    rows = frame.collect()
    end = time.perf_counter()
    return Run(
        planning_ms=(planned - start) * 1000,
        query_ms=(end - start) * 1000,
        files=_jvm.scan_metric(frame, "resultDataFiles"),
        bytes=_jvm.scan_metric(frame, "totalDataFileSize"),
        read=_jvm.scan_metric(frame, "numSplits", query.table),
        indexed_scans=_jvm.planned_scans(spark) - scans,
        rows=tuple(sorted(map(str, rows))),
    )
