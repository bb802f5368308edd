# SPDX-License-Identifier: Apache-2.0
"""Random tables with random ORDER BY ... LIMIT and LIMIT queries: the rows of Iceberg's plans, and few files.

ZONEMAP_SEED repeats a run.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections import Counter
from dataclasses import dataclass

import pytest
from support import iceberg_api, plans, product, tables
from support.session import STOCK

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))
COLUMNS = "id BIGINT, i INT, d DOUBLE, s STRING, g INT"
TABLES, QUERIES, BATCH = 3, 70, 14
FILES, ROWS = 10, 6


@dataclass(frozen=True)
class Query:
    """`key` is the first sort key as text, which ties of rows share; `SELECT *` with `text` is the query."""

    text: str
    key: str
    ordered: bool


def value(rng: random.Random, column: str, file: int, clean: bool):
    if not clean and rng.random() < 0.06:
        return None
    if column == "i":
        return file * 10 + rng.randrange(rng.choice((5, 14)))
    if column == "d":
        odd = rng.choice((math.nan, -0.0, 0.0, math.inf)) if not clean and rng.random() < 0.04 else None
        return odd if odd is not None else (file - 5) * 2 + rng.randrange(5) / 2
    if column == "s":
        return f"{chr(97 + file)}{'x' * rng.choice((0, 3, 20))}{rng.randrange(4)}"
    return file // 3


def make(spark, rng: random.Random, name: str, clean: bool) -> str:
    table = f"lake.topk.{name}"
    by = "" if clean else rng.choice(("", "g"))
    tables.create(
        spark, table, COLUMNS, partitioned=by, version=rng.choice((2, 3)), props={"write.delete.mode": "merge-on-read"}
    )
    slices = [
        [(f * ROWS + r, *(value(rng, c, f, clean) for c in ("i", "d", "s")), f // 3) for r in range(ROWS)]
        for f in range(FILES)
    ]
    rng.shuffle(slices)
    for part in (slices[: FILES // 2], slices[FILES // 2 :]):
        tables.append(spark, table, part, COLUMNS)
    if not clean:
        spark.sql(f"DELETE FROM {table} WHERE id % 17 = {rng.randrange(17)}")
        if not by:
            iceberg_api.equality_delete(spark, table, "i", [rng.randrange(50)])
            tables.append(spark, table, slices[:2], COLUMNS)
    product.build(spark, table)
    return table


def condition(rng: random.Random) -> str:
    k = rng.randrange(FILES)
    return rng.choice(
        (
            f"id {rng.choice(('<', '>='))} {k * ROWS}",
            f"id BETWEEN {k * ROWS} AND {k * ROWS + 20}",
            f"g = {k // 3}",
            f"g IN (0, {k // 3})",
            f"NOT (g = {k // 3})",
            f"i > {k * 10}",
            f"i <> {k * 10}",
            "i IS NOT NULL",
            f"d <= {k - 5}",
            f"(d > {k - 5} AND NOT isnan(d))",  # Iceberg loses the NaN rows of d > itself
            f"NOT (d >= {k - 5})",
            "d <> double('NaN')",
            f"s >= '{chr(97 + k)}'",
            f"s LIKE '{chr(97 + k)}%'",
            f"id % {k + 1} = 0",
            f"i + 1 > {k * 10}",
            f"i IS NULL OR id >= {k * ROWS}",
            f"g <=> {k // 3}",
        )
    )


#: monotone functions of a column, and others
FUNCTIONS = (
    "i + 1",
    "-i",
    "i DIV 4",
    "id * 3 - 7",
    "date_add(DATE'2024-01-28', i)",
    "month(date_add(DATE'2024-01-28', i))",
    "i % 7",
)


def order(rng: random.Random) -> tuple[str, str]:
    """Returns the first key and the whole ORDER BY."""
    keys = rng.sample(("id", "i", "d", "s", "g"), rng.choice((1, 1, 2)))
    if rng.random() < 0.25:
        keys[0] = rng.choice(FUNCTIONS)
    text = ", ".join(
        f"{k}{rng.choice(('', ' DESC'))}{rng.choice(('', '', ' NULLS FIRST', ' NULLS LAST'))}" for k in keys
    )
    return keys[0], f"ORDER BY {text}"


def where(rng: random.Random) -> str:
    conditions = [condition(rng) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    return f"WHERE {rng.choice((' AND ', ' AND ', ' OR ')).join(conditions)}" if conditions else ""


def query(rng: random.Random, table: str) -> Query:
    rows = rng.choice((1, 2, 3, 5, 7, 15, 40, 100))
    limit = f"LIMIT {rows}" + rng.choice(("", "", "", f" OFFSET {rng.randrange(9)}"))
    key, by = order(rng)
    kind = rng.choice(("limit", "sort", "sort", "sort", "rank", "extreme", "union", "join"))
    if kind == "limit":
        return Query(f"FROM {table} {where(rng)} {limit}", "id", False)
    if kind == "rank":
        rank = rng.choice(("row_number", "rank"))
        ranked = f"SELECT *, {rank}() OVER ({by}) AS r FROM {table} {where(rng)}"
        return Query(f"FROM ({ranked}) WHERE r <= {rows}", key, True)
    if kind == "extreme":
        function = rng.choice(("max", "min"))
        return Query(f"FROM (SELECT {function}({key}) AS k FROM {table} {where(rng)})", "k", True)
    if kind == "union":
        branches = f"SELECT * FROM {table} {where(rng)} UNION ALL SELECT * FROM {table} {where(rng)}"
        return Query(f"FROM ({branches}) {by} {limit}", key, True)
    if kind == "join":
        joined = f"SELECT a.* FROM (SELECT * FROM {table} {where(rng)}) a LEFT JOIN {table} b ON a.i = b.id"
        return Query(f"FROM ({joined}) {by} {limit}", key, True)
    return Query(f"FROM {table} {where(rng)} {by} {limit}", key, True)


def run(spark, queries: list[Query]) -> tuple[list[Counter], int]:
    """Runs all queries as one; returns the first sort keys of each, and the total number of planned files."""
    branches = []
    for n, q in enumerate(queries):
        text = f"regexp_replace(CAST({q.key} AS STRING), '^-0.0$', '0.0')"  # both zeros are ties
        branches.append(f"SELECT {n} AS n, {text} AS k FROM (SELECT * {q.text})")
    frame = spark.sql(" UNION ALL ".join(branches))
    planned = len(plans.planned_tasks(frame))
    found = [Counter() for _ in queries]
    for row in frame.collect():
        found[row.n][row.k] += 1
    return found, planned


@pytest.mark.parametrize("number", range(TABLES))
def test_random_queries(spark, base, number: int) -> None:
    rng = random.Random(f"{SEED}/{number}")
    print(f"ZONEMAP_SEED={SEED} table {number}", file=sys.stderr)
    table = make(spark, rng, f"random{number}", clean=number == 0)
    queries = [query(rng, table) for _ in range(QUERIES)]
    by_iceberg = by_index = 0
    for start in range(0, QUERIES, BATCH):
        batch = queries[start : start + BATCH]
        with product.off(spark):
            expected, planned = run(spark, batch)
            by_iceberg += planned
        actual, planned = run(spark, batch)
        by_index += planned
        for q, theirs, ours in zip(batch, expected, actual, strict=True):
            same = ours == theirs if q.ordered else sum(ours.values()) == sum(theirs.values())
            assert same, f"ZONEMAP_SEED={SEED} table {number}: SELECT * {q.text}: {ours} instead of {theirs}"
    print(f"table {number}: {by_iceberg} files planned by Iceberg, {by_index} by the index", file=sys.stderr)
    assert STOCK or by_index < 0.9 * by_iceberg


@pytest.mark.parametrize("descending", [True, False])
def test_files_of_clean_tables_are_those_of_exact_bounds(spark, base, descending: bool) -> None:
    """Computes here the cover that the manifests' bounds allow, and compares it with the planned files."""
    rng = random.Random(f"{SEED}/clean/{descending}")
    table = make(spark, rng, f"clean_{descending}", clean=True)
    bounds = spark.sql(
        f"SELECT readable_metrics.i.lower_bound lo, readable_metrics.i.upper_bound hi, record_count n FROM {table}.data_files"
    ).collect()
    best = sorted(bounds, key=lambda f: -f.lo if descending else f.hi)
    cover = planned = 0
    for k in range(1, FILES * ROWS, 4):
        counted, last = 0, None
        for file in best:
            counted, last = counted + file.n, file.lo if descending else file.hi
            if counted >= k:
                break
        cover += sum((f.hi >= last) if descending else (f.lo <= last) for f in bounds)
        text = f"SELECT i FROM {table} ORDER BY i {'DESC' if descending else 'ASC'} LIMIT {k}"
        planned += len(plans.planned_files(spark.sql(text)))
    print(f"{planned} files planned, {cover} by exact bounds", file=sys.stderr)
    assert STOCK or planned <= 1.1 * cover
