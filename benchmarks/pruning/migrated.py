# SPDX-License-Identifier: Apache-2.0
"""A table of imported Parquet files: files read before and after footers prove statistics, beside a native one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import expr

import zonemap
from demo.compare import compare
from demo.queries import Query
from pruning import lake
from pruning.cases import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLE = "lake.db.migrated"
_GROUPS = (
    "top-k",
    "LIMIT",
    "join, static",
    "join, keys",
    "star",
    "date function",
    "arithmetic",
    "two columns",
    "count",
)
_COUNT = Case("count", "{t} WHERE id >= 51200", "true")


def write(spark: SparkSession, folder: Path) -> None:
    """Writes the rows of the events as Parquet files without Iceberg, one for each data file, and imports them.

    Args:
        folder: the folder of the Parquet files.
    """
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    events = spark.table(lake.EVENTS)
    # a file has the rows of one file of the events, so that only the statistics of both tables differ
    by_file = events.repartitionById(lake.FILES, expr(f"CAST(id DIV {lake.ROWS_PER_FILE} AS INT)"))
    by_file.sortWithinPartitions("id").write.parquet(str(folder))
    spark.sql(f"CREATE TABLE {TABLE} ({lake.COLUMNS}) USING iceberg")
    spark.sql(f"CALL lake.system.add_files(table => 'db.migrated', source_table => '`parquet`.`{folder}`')")


def measure(spark: SparkSession) -> list[dict[str, Any]]:
    """Returns the files that each query reads in the native table, and in the imported one without and with footers."""
    chosen = [case for case in cases() if case.group in _GROUPS and case.table == lake.EVENTS] + [_COUNT]
    native = [_files(spark, case, lake.EVENTS) for case in chosen]
    zonemap.Index(spark, TABLE).build(footers=0)
    doubtful = [_files(spark, case, TABLE) for case in chosen]
    zonemap.Index(spark, TABLE).refresh()
    proven = [_files(spark, case, TABLE) for case in chosen]
    rows = []
    for case, native_files, without, with_footers in zip(chosen, native, doubtful, proven, strict=True):
        row = {"group": case.group, "query": case.query, "nativeFiles": native_files}
        rows.append(row | {"doubtfulFiles": without, "provenFiles": with_footers})
        print(f"{case.group:22} native {native_files:4}  imported {without:4} -> {with_footers:4}  {case.query[:60]}")
    return rows


def _files(spark: SparkSession, case: Case, table: str) -> int:
    columns = {"LIMIT": "1 AS one", "count": "count(*), min(id)"}.get(case.group, "e.id, e.user")
    text = f"SELECT {columns} FROM {case.query.format(t=f'{table} e')}"
    compared = compare(spark, Query(case.group, table, text), 0)
    if not compared.rows_equal:
        raise AssertionError(f"{text}: rows differ between index off and on")
    return compared.on[0].read
