# SPDX-License-Identifier: Apache-2.0
"""Joins that prune files at run time, when the keys of the broadcast side have been computed."""

from __future__ import annotations

import pytest
from support import plans, product
from support.compare import assert_same_rows, explain
from support.session import STOCK

FILES = 32
pytestmark = pytest.mark.skipif(STOCK, reason="asserts what the product reads")


def read_files(spark, query: str, table: str = "fact") -> int:
    """Returns how many files of the table a query reads; checks that the rows equal the rows without the product."""
    with product.off(spark):
        expected = spark.sql(query).collect()
    done = plans.execute(spark.sql(query))
    assert_same_rows(done.rows, expected, query)
    return sum(f"/{table}/" in path for path in done.files)


# `one` has every eighth key, so nothing can be pruned before the keys are computed. The queries select keys 0, 56, ...
PRUNES = {
    "inner": ("SELECT * FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')", 2),
    "semi": ("SELECT * FROM {s}.fact f LEFT SEMI JOIN {s}.one d ON f.id = d.k AND d.name = 'n8'", 1),
    "in subquery": ("SELECT * FROM {s}.fact WHERE id IN (SELECT k FROM {s}.one WHERE name = 'n8')", 1),
    "exists": ("SELECT * FROM {s}.fact f WHERE EXISTS (SELECT 1 FROM {s}.one d WHERE d.k = f.id AND d.name = 'n8')", 1),
    "side filled with nulls": (
        "SELECT /*+ BROADCAST(d) */ f.id, d.k FROM {s}.fact f RIGHT JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8'",
        FILES,
    ),
    "cross": ("SELECT f.id FROM {s}.fact f CROSS JOIN {s}.one d WHERE f.id = d.k AND d.name IN ('n8', 'n160')", 2),
    "string": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.s = d.s WHERE d.name IN ('n8', 'n160')", 2),
    "date": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.day = d.day WHERE d.name IN ('n8', 'n160')", 2),
    "decimal": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.m = d.m WHERE d.name IN ('n8', 'n160')", 2),
    "int": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.i = d.i WHERE d.name IN ('n8', 'n160')", 2),
    "double": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.x = d.x WHERE d.name IN ('n8', 'n160')", 2),
    "alias": ("SELECT * FROM (SELECT id AS a, s FROM {s}.fact) f JOIN {s}.one d ON f.a = d.k WHERE d.name = 'n8'", 1),
    "star": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k JOIN {s}.small r ON f.sk = r.sk "
        "WHERE d.tier IN (1, 3) AND r.region IN (0, 5) AND d.name <> 'n16'",
        3,
    ),
    "two keys": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k AND f.s = d.s WHERE d.name = 'n8'", 1),
    "no key": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n9'", 0),
    "not filtered, few": ("SELECT f.id FROM {s}.fact f JOIN (SELECT id * 11 AS k FROM range(3)) d ON f.id = d.k", 3),
    "keys of an expression": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k + 1 WHERE d.name = 'n8'", 1),
    "anti": ("SELECT * FROM {s}.fact f LEFT ANTI JOIN {s}.one d ON f.id = d.k AND d.name = 'n8'", FILES),
    "not in": ("SELECT * FROM {s}.fact WHERE id NOT IN (SELECT k FROM {s}.one WHERE name = 'n8')", FILES),
    "kept side": ("SELECT * FROM {s}.fact f LEFT JOIN {s}.one d ON f.id = d.k AND d.name = 'n8'", FILES),
    "full outer": (
        "SELECT * FROM {s}.fact f FULL JOIN (SELECT * FROM {s}.one WHERE name = 'n8') d ON f.id = d.k",
        FILES,
    ),
    "below a limit": (
        "SELECT * FROM (SELECT * FROM {s}.fact ORDER BY id % 1000 LIMIT 200) f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8'",
        FILES,
    ),
    "no broadcast": (
        "SELECT /*+ MERGE(d) */ * FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8'",
        FILES,
    ),
}


@pytest.mark.parametrize("case", PRUNES)
def test_files_read(spark, star, case: str) -> None:
    query, files = PRUNES[case]
    assert read_files(spark, query.format(s=star)) == files


@pytest.mark.parametrize("case", ["inner", "exists", "star", "no key", "kept side"])
def test_files_read_without_adaptive_execution(spark, star, case: str) -> None:
    query, files = PRUNES[case]
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": "false"}):
        assert read_files(spark, query.format(s=star)) == files


def test_switched_off(spark, star) -> None:
    query = PRUNES["inner"][0].format(s=star)
    with product.raw_conf(spark, {"spark.sql.zonemap.join.runtime.enabled": "false"}):
        assert read_files(spark, query) == FILES


def test_what_is_told(spark, star) -> None:
    query = PRUNES["inner"][0].format(s=star)
    assert "join pruning on id: at run time" in explain(spark, query)
    done = plans.execute(spark.sql(query))
    assert [m["zonemapFilesSkippedByJoinKeys"] for m in done.metrics if "zonemapFilesSkippedByJoinKeys" in m] == [30]
    with product.raw_conf(
        spark, {"spark.sql.zonemap.join.static.enabled": "false", "spark.sql.zonemap.join.runtime.enabled": "false"}
    ):
        assert "join pruning" not in explain(spark, query)
