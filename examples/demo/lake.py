# SPDX-License-Identifier: Apache-2.0
"""Writes the demo's Iceberg tables: two as streaming jobs would, with many commits of many small files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING

from demo import measured_plans

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FLIGHTS = "lake.db.flights"
METRICS = "lake.db.metrics"
CLAIMS = "lake.db.claims"
EVENTS = "lake.db.events"

FILES_PER_COMMIT = 64
METRICS_DAYS = 16
FIRST_DAY = date(2013, 12, 1)
_NAMES_PER_FAMILY = 64
_FAMILIES = ("cpu", "disk", "gc", "http", "jvm", "mem", "net", "rpc")
_NAMES = _NAMES_PER_FAMILY * len(_FAMILIES)
_ROWS_PER_NAME_AND_DAY = 32

#: Data files of the table of metadata alone, and of each of its commits.
EVENTS_FILES = 200_000
_EVENTS_PER_COMMIT = 10_000
_EVENTS_COLUMNS = "event_id BIGINT, ts TIMESTAMP, " + ", ".join(f"measure_{number} BIGINT" for number in range(1, 5))

_PROPERTIES = """TBLPROPERTIES (
  'format-version' = '2', 'write.distribution-mode' = 'none', 'write.parquet.compression-codec' = 'zstd',
  'write.merge.mode' = 'merge-on-read')"""

Step = Callable[[], None]


def write_flights(spark: SparkSession, flights: pa.Table, commits: int, step: Step) -> None:
    """Appends the flights in time order, one commit after the other; ``step`` is called after each."""
    spark.sql(f"""CREATE TABLE {FLIGHTS} (
      flight_id BIGINT, time_hour TIMESTAMP, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
      dep_delay INT, arr_delay INT, air_time INT, distance INT) USING iceberg {_PROPERTIES}""")
    rows = flights.num_rows
    with _files_per_commit(spark):
        for commit in range(commits):
            start, end = commit * rows // commits, (commit + 1) * rows // commits
            spark.createDataFrame(flights.slice(start, end - start)).writeTo(FLIGHTS).append()
            step()


def write_metrics(spark: SparkSession, days: int, step: Step) -> None:
    """Appends made-up telemetry, one commit a day, each day's files ordered by metric name."""
    spark.sql(f"""CREATE TABLE {METRICS} (
      name STRING, date DATE, ts TIMESTAMP, value DOUBLE, tags MAP<STRING, STRING>) USING iceberg {_PROPERTIES}""")
    families = ", ".join(f"'{family}'" for family in _FAMILIES)
    number = f"(id DIV {_ROWS_PER_NAME_AND_DAY})"
    for day in range(days):
        today = f"DATE '{FIRST_DAY + timedelta(days=day)}'"
        spark.range(0, _NAMES * _ROWS_PER_NAME_AND_DAY, 1, FILES_PER_COMMIT).selectExpr(
            f"concat(element_at(array({families}), CAST({number} DIV {_NAMES_PER_FAMILY} AS INT) + 1), '.', "
            f"lpad(string({number} % {_NAMES_PER_FAMILY}), 4, '0')) AS name",
            f"{today} AS date",
            f"timestampadd(MINUTE, CAST(id % {_ROWS_PER_NAME_AND_DAY} AS INT) * 45, TIMESTAMP({today})) AS ts",
            f"CAST(pmod(hash(id, {day}), 100000) AS DOUBLE) / 100 AS value",
            "map('type', element_at(array('counter', 'gauge', 'percentile', 'timer'), pmod(hash(id), 4) + 1), "
            "'node', concat('i-', pmod(hash(id, 1), 500)), 'app', concat('app', pmod(hash(id, 2), 40))) AS tags",
        ).writeTo(METRICS).append()
        step()


def write_claims(spark: SparkSession, ids: Sequence[int]) -> None:
    """Writes a small table of claims, each about one flight; a third of them is about the weather."""
    spark.sql(f"CREATE TABLE {CLAIMS} (flight_id BIGINT, reason STRING, arr_delay INT) USING iceberg {_PROPERTIES}")
    reasons = ("weather", "crew", "other")
    rows = ", ".join(f"({number}, '{reasons[at % 3]}', {at % 300})" for at, number in enumerate(ids))
    spark.sql(f"INSERT INTO {CLAIMS} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")


def write_events(spark: SparkSession, step: Step, count: int | None = None) -> None:
    """Writes the metadata of a table of ``count`` data files, by default ``EVENTS_FILES``, which do not exist."""
    spark.sql(f"CREATE TABLE {EVENTS} ({_EVENTS_COLUMNS}) USING iceberg {_PROPERTIES}")
    body = files("demo").joinpath("AppendFiles.java").read_text(encoding="utf-8")
    for start in range(0, count or EVENTS_FILES, _EVENTS_PER_COMMIT):
        measured_plans.run_java(spark, EVENTS, body, first=start, end=start + _EVENTS_PER_COMMIT)
        step()
    spark.sql(f"REFRESH TABLE {EVENTS}")


def events_commits() -> int:
    """Returns the number of commits of ``write_events``."""
    return EVENTS_FILES // _EVENTS_PER_COMMIT


def file_count(spark: SparkSession, table: str) -> int:
    """Returns the number of data files of the table's current snapshot."""
    return int(spark.sql(f"SELECT count(*) FROM {table}.files").collect()[0][0])


@contextmanager
def _files_per_commit(spark: SparkSession) -> Iterator[None]:
    """Splits local rows into ``FILES_PER_COMMIT`` tasks, in order; without a shuffle each task writes one file."""
    key = "spark.sql.leafNodeDefaultParallelism"
    spark.conf.set(key, str(FILES_PER_COMMIT))
    try:
        yield
    finally:
        spark.conf.unset(key)
