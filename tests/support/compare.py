# SPDX-License-Identifier: Apache-2.0
"""Assertions that compare a query planned from the index with the same query planned by Iceberg."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Row, SparkSession

from support import plans, product
from support.session import STOCK


def canonical(value: Any) -> Any:
    """Converts a value, such as NaN, a list, a map or bytes, to a hashable value that equals itself."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, Row):
        return tuple(canonical(v) for v in value)
    if isinstance(value, (list, tuple)):
        return tuple(canonical(v) for v in value)
    if isinstance(value, dict):
        return tuple(sorted((repr(canonical(k)), repr(canonical(v))) for k, v in value.items()))
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def bag(rows: list[Row]) -> Counter:
    return Counter(tuple(canonical(v) for v in row) for row in rows)


def assert_same_rows(actual: list[Row], expected: list[Row], what: str) -> None:
    ours, theirs = bag(actual), bag(expected)
    if ours != theirs:
        lost, extra = theirs - ours, ours - theirs
        raise AssertionError(f"{what}: lost {list(lost.items())[:5]}, extra {list(extra.items())[:5]}")


def assert_rows_equal_off_on(spark: SparkSession, sql: str, *, at_least: int = 0) -> list[Row]:
    """Asserts that the query returns the same bag of rows with the product off and on; returns the rows."""
    with product.off(spark):
        expected = spark.sql(sql).collect()
    with product.on(spark):
        actual = spark.sql(sql).collect()
    assert_same_rows(actual, expected, sql)
    assert len(actual) >= at_least, f"{sql}: {len(actual)} rows, the test wants at least {at_least}"
    return actual


def rows_of_each(spark: SparkSession, queries: Sequence[str], first: int = 0) -> list[list[Row]]:
    """Returns the rows of each query; one job runs all queries, as the branches of a UNION ALL.

    The queries must have the same columns. The rows of each query have the column `branch` in addition, which counts
    the queries from `first`.
    """
    union = " UNION ALL ".join(f"SELECT {n} AS branch, * FROM ({query})" for n, query in enumerate(queries, first))
    found: list[list[Row]] = [[] for _ in queries]
    for row in spark.sql(union).collect():
        found[row.branch - first].append(row)
    return found


def assert_each_equal_off_on(spark: SparkSession, queries: Sequence[str]) -> int:
    """Asserts that each query is planned from the index and returns the same rows as without; returns their number.

    The queries must have the same columns.
    """
    with product.off(spark):
        expected = rows_of_each(spark, queries)
    before = product.counters(spark)
    found = rows_of_each(spark, queries)
    change = product.counters(spark) - before
    assert change.planned_scans >= len(queries) and change.fallbacks == 0, change
    for query, rows, wanted in zip(queries, found, expected, strict=True):
        assert_same_rows(rows, wanted, query)
    return sum(map(len, expected))


def assert_planned_by_index(spark: SparkSession, sql: str, *, scans: int = 1, mode: str | None = None) -> None:
    """Asserts that EXPLAIN of the query plans at least `scans` scans from the index and that no scan falls back."""
    if STOCK:
        return
    before = product.counters(spark)
    told = explain(spark, sql)
    change = product.counters(spark) - before
    assert change.planned_scans >= scans, f"{sql}: {change}, wanted {scans} scans planned from the index; {told}"
    assert change.fallbacks == 0, f"{sql}: {change}; {told}"
    if mode is not None:
        assert f"mode {mode}" in told, f"{sql}: mode {mode} not told by\n{told}"


def explain(spark: SparkSession, sql: str) -> str:
    """Returns the product's section of EXPLAIN."""
    text = "\n".join(r[0] for r in spark.sql(f"EXPLAIN {sql}").collect())
    _, found, section = text.partition("Zonemap")
    return found + section


def files_off_on(spark: SparkSession, sql: str) -> tuple[set[str], set[str]]:
    with product.off(spark):
        theirs = plans.planned_files(spark.sql(sql))
    with product.on(spark):
        ours = plans.planned_files(spark.sql(sql))
    return theirs, ours


def assert_skips(spark: SparkSession, table: str, where: str, *, at_least: int) -> set[str]:
    """Asserts that the plan prunes `at_least` files of the table; returns the files that it retains."""
    total = plans.planned_files(spark.sql(f"SELECT * FROM {table}"))
    kept = plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE {where}"))
    skipped = len(total) - len(kept)
    assert kept <= total
    assert skipped >= at_least, f"{table} WHERE {where}: {skipped} of {len(total)} files skipped, wanted {at_least}"
    return kept
