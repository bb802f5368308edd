# SPDX-License-Identifier: Apache-2.0
"""Joins whose files are pruned at plan time, by the values in the other side's files."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.session import STOCK

FILES = 32
STATIC_ONLY = {"spark.sql.zonemap.join.runtime.enabled": "false"}


def fact_files(spark, query: str, table: str = "fact") -> int:
    return sum(f"/{table}/" in path for path in plans.planned_files(spark.sql(query)))


# query: number of files of fact planned, of 32
PRUNES = {
    "inner": ("SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3", 4),
    "inner, written the other way round": ("SELECT * FROM {s}.dim d JOIN {s}.fact f ON d.k = f.id WHERE d.tier = 3", 4),
    "semi": ("SELECT * FROM {s}.fact f LEFT SEMI JOIN {s}.dim d ON f.id = d.k AND d.tier = 3", 4),
    "in subquery": ("SELECT * FROM {s}.fact WHERE id IN (SELECT k FROM {s}.dim WHERE tier = 3)", 4),
    "exists": ("SELECT * FROM {s}.fact f WHERE EXISTS (SELECT 1 FROM {s}.dim d WHERE d.k = f.id AND d.tier = 3)", 4),
    "side filled with nulls": ("SELECT * FROM {s}.dim d LEFT JOIN {s}.fact f ON f.id = d.k WHERE d.tier = 3", 4),
    "right outer": ("SELECT * FROM {s}.fact f RIGHT JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3", 4),
    "string": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.s = d.s WHERE d.tier = 3", 4),
    "date": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.day = d.day WHERE d.tier = 3", 4),
    "decimal": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.m = d.m WHERE d.tier = 3", 4),
    "int": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.i = d.i WHERE d.tier = 3", 4),
    "int and bigint": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.i = d.k WHERE d.tier = 3", 4),
    "two ranges": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k WHERE d.tier IN (1, 6)", 8),
    "alias": ("SELECT * FROM (SELECT id AS a, s FROM {s}.fact) f JOIN {s}.dim d ON f.a = d.k WHERE d.tier = 3", 4),
    "star": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k JOIN {s}.small r ON f.sk = r.sk "
        "WHERE d.tier IN (2, 3) AND r.region IN (3, 4)",
        4,
    ),
    "chain": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k JOIN {s}.small r ON d.k = r.sk WHERE r.region = 5",
        4,
    ),
    "grouped": (
        "SELECT * FROM {s}.fact f JOIN (SELECT k, count(*) c FROM {s}.dim WHERE tier = 3 GROUP BY k) d ON f.id = d.k",
        4,
    ),
    "limited": (
        "SELECT * FROM {s}.fact f JOIN (SELECT k FROM {s}.dim WHERE tier = 3 ORDER BY k LIMIT 7) d ON f.id = d.k",
        4,
    ),
    "union": (
        "SELECT f.id FROM {s}.fact f JOIN (SELECT k FROM {s}.dim WHERE tier = 3 UNION ALL SELECT sk FROM {s}.small WHERE region = 0) d ON f.id = d.k",
        8,
    ),
    "values": ("SELECT f.id FROM {s}.fact f JOIN VALUES (5L), (7L), (211L), (NULL) AS v(k) ON f.id = v.k", 2),
    "no file of the other side": ("SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 99 ", 0),
    "key of an expression": ("SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id - 5 = d.k WHERE d.tier = 3", 5),
    "below a union": (
        "SELECT f.id FROM (SELECT id, i FROM {s}.fact UNION ALL SELECT k, i FROM {s}.dim) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
        4,
    ),
    "below an aggregate": (
        "SELECT f.id, n FROM (SELECT id, count(*) n FROM {s}.fact GROUP BY id) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
        4,
    ),
    "with another condition": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k AND f.x < d.x + 1 WHERE d.tier = 3 AND f.id < 135",
        2,
    ),
}


@pytest.mark.parametrize("case", PRUNES)
def test_files_are_left_out(spark, star, case: str) -> None:
    query, files = PRUNES[case][0].format(s=star), PRUNES[case][1]
    with product.raw_conf(spark, STATIC_ONLY):
        assert_rows_equal_off_on(spark, query, at_least=1 if files else 0)
        if not STOCK:
            assert fact_files(spark, query) == files, explain(spark, query)


KEEPS = {
    "anti": "SELECT * FROM {s}.fact f LEFT ANTI JOIN {s}.dim d ON f.id = d.k AND d.tier = 3",
    "not in": "SELECT * FROM {s}.fact WHERE id NOT IN (SELECT k FROM {s}.dim WHERE tier = 3)",
    "not exists": "SELECT * FROM {s}.fact f WHERE NOT EXISTS (SELECT 1 FROM {s}.dim d WHERE d.k = f.id AND d.tier = 3)",
    "in under or": "SELECT * FROM {s}.fact WHERE id IN (SELECT k FROM {s}.dim WHERE tier = 3) OR i = 7",
    "kept side": "SELECT * FROM {s}.fact f LEFT JOIN {s}.dim d ON f.id = d.k AND d.tier = 3",
    "full outer": "SELECT * FROM {s}.fact f FULL JOIN (SELECT * FROM {s}.dim WHERE tier = 3) d ON f.id = d.k",
    "null safe": "SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id <=> d.k WHERE d.tier = 3",
    "below a limit": "SELECT * FROM (SELECT * FROM {s}.fact ORDER BY id % 1000 LIMIT 200) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
    "below a limit without an order": "SELECT * FROM (SELECT * FROM {s}.fact LIMIT 100000) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
    "union with unknown values": "SELECT f.id FROM {s}.fact f JOIN (SELECT k FROM {s}.dim WHERE tier = 3 UNION ALL SELECT abs(sk) FROM {s}.small) d ON f.id = d.k",
    "below a window": "SELECT * FROM (SELECT id, row_number() OVER (ORDER BY x) r FROM {s}.fact) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
    "below a random filter": "SELECT * FROM (SELECT * FROM {s}.fact WHERE rand() + 1 > 0) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
    "key of a remainder": "SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id % 400 = d.k WHERE d.tier = 3",
    "below a grouping of another column": "SELECT * FROM (SELECT max(id % 1000) AS id FROM {s}.fact GROUP BY sk) f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = 3",
    "other operator": "SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id < d.k WHERE d.tier = 3 AND d.name = 'n1'",
    "may hold anything": "SELECT * FROM {s}.fact f JOIN {s}.one d ON f.id = d.k",
    "other types": "SELECT * FROM {s}.fact f JOIN {s}.dim d ON f.id = d.x * 4 WHERE d.tier = 3",
}


@pytest.mark.parametrize("case", KEEPS)
def test_files_are_kept(spark, star, case: str) -> None:
    query = KEEPS[case].format(s=star)
    with product.raw_conf(spark, STATIC_ONLY):
        assert_rows_equal_off_on(spark, query, at_least=1)
        assert fact_files(spark, query) == FILES


def test_a_key_that_is_cast_to_fewer_values(spark, star) -> None:
    table = tables.create(spark, "lake.joins.far", "big BIGINT")
    tables.append(spark, table, [[(f * 2**32 + i,) for i in range(10)] for f in range(8)], "big BIGINT")
    product.build(spark, table)
    query = f"SELECT t.big FROM {table} t JOIN VALUES (5), (7) AS v(k) ON CAST(t.big AS INT) = v.k"
    with product.raw_conf(spark, STATIC_ONLY | {"spark.sql.ansi.enabled": "false"}):
        assert len(assert_rows_equal_off_on(spark, query)) == 16


def test_the_explanation_counts_files(spark, star) -> None:
    if STOCK:
        pytest.skip("asserts the product's text")
    told = explain(spark, PRUNES["inner"][0].format(s=star))
    assert "join pruning on id: 32 -> 4 files" in told, told


def test_switched_off(spark, star) -> None:
    query = PRUNES["inner"][0].format(s=star)
    with product.raw_conf(spark, STATIC_ONLY | {"spark.sql.zonemap.join.static.enabled": "false"}):
        assert fact_files(spark, query) == FILES
