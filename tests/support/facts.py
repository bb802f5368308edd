# SPDX-License-Identifier: Apache-2.0
"""Tables whose files have facts: appends of one range of ids a file, builds, and the files that a condition reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Row, SparkSession

from support import plans, product


def insert(
    spark: SparkSession,
    table: str,
    select: Sequence[str],
    rows: int,
    start: int,
    files: int,
    file_format: str = "parquet",
) -> None:
    """Appends `files` files with `rows` ids each, from `start` on; `select` has the columns as expressions of `id`."""
    frame = spark.range(start, start + files * rows, 1, files).selectExpr(*select)
    frame.writeTo(table).option("write-format", file_format).append()


def build(spark: SparkSession, table: str, facts: str, more: str = "") -> dict[str, Row]:
    """Builds facts; returns the rows of the answer by their part. `more` is the text of other arguments."""
    return {row.part: row for row in product.call(spark, "build_index", table, f", facts => '{facts}'{more}")}


def files_of_each(spark: SparkSession, relation: str, conditions: Iterable[str]) -> dict[str, int]:
    """The number of files that a query with each of the conditions reads."""
    named = list(conditions)
    return {c: len(paths) for c, paths in zip(named, plans.planned_files_of(spark, relation, named), strict=True)}


def files(spark: SparkSession, relation: str, where: str) -> int:
    """The number of files that a query with this condition reads."""
    return len(plans.planned_files(spark.sql(f"SELECT * FROM {relation} WHERE {where}")))
