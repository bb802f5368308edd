# SPDX-License-Identifier: Apache-2.0
"""The smaller Atlas table, which has rows, and the query of the talk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

METADATA = "lake.db.atlas"
ROWS = "lake.db.atlas_rows"
REGIONS = 4
FILES_A_PARTITION = 8
DAYS = 28
ROWS_A_FILE = 2000

_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
_NAMES = 1_000_000
_STEP = _NAMES // (FILES_A_PARTITION * ROWS_A_FILE)


def query(table: str, *, name: bool = True) -> str:
    """Returns the talk's query over six of the 28 days; without the name condition, only partitions prune files."""
    start, end = (f"TIMESTAMP'{_FIRST_DAY + timedelta(days=day):%Y-%m-%d} 00:00:00'" for day in (9, 15))
    named = f"name = 'metric.{4800 * _STEP:09d}' AND " if name else ""
    return f"SELECT DISTINCT tags['type'] AS type FROM {table} WHERE {named}ts > {start} AND ts <= {end} ORDER BY type"


def write(spark: SparkSession) -> None:
    """Writes the table in 14 commits of two days each; the files of a partition are ordered by name."""
    spark.sql(
        f"CREATE TABLE {ROWS} (ts TIMESTAMP, region STRING, name STRING, value DOUBLE, tags MAP<STRING, STRING>) "
        "USING iceberg PARTITIONED BY (days(ts), region) TBLPROPERTIES ('write.distribution-mode' = 'none')"
    )
    per_partition = FILES_A_PARTITION * ROWS_A_FILE
    for days in (range(first, first + 2) for first in range(0, DAYS, 2)):
        rows = spark.range(len(days) * REGIONS * per_partition)
        partition, row = F.floor(F.col("id") / per_partition), F.col("id") % per_partition
        day = F.lit(days[0]) + F.floor(partition / REGIONS)
        second = int(_FIRST_DAY.timestamp()) + day * 86_400 + row * 86_399 / per_partition
        kind = F.element_at(F.array(*map(F.lit, ("counter", "gauge", "timer"))), (row % 3 + 1).cast("int"))
        rows.select(
            F.timestamp_seconds(second).alias("ts"),
            F.format_string("region-%02d", partition % REGIONS).alias("region"),
            F.format_string("metric.%09d", (row * _STEP).cast("long")).alias("name"),
            (row / 7).alias("value"),
            F.create_map(F.lit("type"), kind, F.lit("unit"), F.lit("ms")).alias("tags"),
        ).repartitionByRange(
            len(days) * REGIONS * FILES_A_PARTITION, F.to_date("ts"), "region", "name"
        ).sortWithinPartitions("ts", "region", "name").writeTo(ROWS).append()
