# SPDX-License-Identifier: Apache-2.0
"""Joins that prune files at run time, when the keys of the broadcast side have been computed."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_same_rows, explain
from support.session import STOCK

FILES = 32
pytestmark = [
    pytest.mark.skipif(STOCK, reason="asserts what the product reads"),
    pytest.mark.usefixtures("without_rows_of_small_tables"),
]


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
    "union": (
        "SELECT f.id FROM (SELECT id FROM {s}.fact UNION ALL SELECT id + 1 FROM {s}.fact WHERE i >= 100) f "
        "JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')",
        3,
    ),
    "aggregate": (
        "SELECT f.id, n FROM (SELECT id, count(*) n FROM {s}.fact GROUP BY id) f JOIN {s}.one d ON f.id = d.k "
        "WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "aggregate of another column": (
        "SELECT f.id, n FROM (SELECT max(id % 1000) id, sk n FROM {s}.fact GROUP BY sk) f JOIN {s}.one d ON f.id = d.k "
        "WHERE d.name IN ('n8', 'n160')",
        FILES,
    ),
    "window": (
        "SELECT * FROM (SELECT id, sk, count(*) OVER (PARTITION BY sk) n FROM {s}.fact) f JOIN {s}.one d ON f.sk = d.k "
        "WHERE d.name IN ('n80', 'n160')",
        2,
    ),
    "window of all": (
        "SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM {s}.fact) f JOIN {s}.one d ON f.id = d.k "
        "WHERE d.name IN ('n8', 'n160')",
        FILES,
    ),
    "first rows of each": (
        "SELECT * FROM (SELECT id, sk, row_number() OVER (PARTITION BY sk ORDER BY x) n FROM {s}.fact) f "
        "JOIN {s}.one d ON f.sk = d.k WHERE n <= 2 AND d.name IN ('n80', 'n160')",
        2,
    ),
    "below an anti join": (
        "SELECT * FROM (SELECT * FROM {s}.fact a WHERE NOT EXISTS (SELECT 1 FROM {s}.small r WHERE r.sk = a.id)) f "
        "JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "below an existence join": (
        "SELECT * FROM (SELECT * FROM {s}.fact a WHERE a.i < 9 OR EXISTS (SELECT 1 FROM {s}.small r WHERE r.sk = a.id)) f "
        "JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "exploded": (
        "SELECT /*+ BROADCAST(d) */ * FROM (SELECT id, e FROM {s}.fact LATERAL VIEW explode(array(1, 2)) t AS e) f "
        "JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "int and bigint": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.i = d.k WHERE d.name IN ('n8', 'n160')", 2),
    "bigint and int": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.i WHERE d.name IN ('n8', 'n160')", 2),
    "bigint and decimal": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.m * 4 WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "expression": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id - 1 = d.k WHERE d.name IN ('n8', 'n160')", 2),
    "expression of a projection": (
        "SELECT f.e FROM (SELECT date_add(day, 1) AS e, x FROM {s}.fact) f JOIN {s}.one d ON date_sub(f.e, 1) = d.day "
        "WHERE d.name IN ('n8', 'n160')",
        2,
    ),
    "first letters": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON substring(f.s, 1, 5) = substring(d.s, 1, 5) WHERE d.name = 'n160'",
        1,
    ),
    "text and number": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON try_cast(f.s AS BIGINT) = d.k WHERE d.name = 'n8'",
        FILES,
    ),
    "remainder": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id % 7 = d.k WHERE d.name = 'n8'", FILES),
    "of two columns": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id + f.i = d.k WHERE d.name = 'n8'", FILES),
    "no broadcast": (
        "SELECT /*+ MERGE(d) */ * FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8'",
        FILES,
    ),
}


@pytest.mark.parametrize("case", PRUNES)
def test_files_read(spark, star, case: str) -> None:
    query, files = PRUNES[case]
    assert read_files(spark, query.format(s=star)) == files


# conditions of a join of fact f with rows d of `one`, whose k is 8 or 160 unless said otherwise: files of fact read
RANGES = {
    "f.id BETWEEN d.k - 3 AND d.k + 3": 4,
    "f.id BETWEEN d.k AND d.k + 1": 2,
    "d.k <= f.id AND d.k + 2 > f.id": 2,
    "f.id > d.k AND f.id < d.k": 0,
    "f.id < d.k": 16,  # 160 is the first id of the next file
    "f.id <= d.k": 17,
    "f.id + 1 BETWEEN d.k AND d.k": 2,
    "f.i BETWEEN d.k AND d.k + 1": 2,
    "f.id BETWEEN d.i AND d.i + 1": 2,
    "f.day BETWEEN d.day AND date_add(d.day, 1)": 2,
    "f.m BETWEEN d.m AND d.m": 2,
    "f.m >= d.m AND f.m < d.m + 0.25": 17,  # one of the two is a cast, so each restricts the files for itself
    "f.s >= d.s AND f.s < concat(d.s, 'z')": 2,
    "f.x BETWEEN d.x - 0.1D AND d.x + 0.1D": 2,
    "f.id >= d.k AND f.x <= d.x": 17,  # each column for itself
    "f.id BETWEEN nullif(d.k, 8) AND d.k + 1": 1,
    "f.id BETWEEN d.k AND d.k + 1 AND f.id % 2 = d.k % 2": FILES,  # an equality, whose keys prune nothing
    "f.x < d.x - 1000 AND f.id > CAST(d.name AS BIGINT)": 0,  # a cast that fails, and is never evaluated
    "f.id < d.k - 300 OR f.id > d.k": FILES,
    "f.id <> d.k": FILES,
    "f.id + d.k < 100": FILES,
    "f.id + f.i BETWEEN d.k AND d.k + 1": FILES,
    "f.id % 100 BETWEEN d.k AND d.k + 1": FILES,
}
TWO = "(SELECT * FROM {s}.one WHERE name IN ('n8', 'n160'))"
RANGE = "f.id BETWEEN d.k AND d.k + 1"
RANGE_SHAPES = {
    f"SELECT f.id FROM {{s}}.fact f LEFT SEMI JOIN {TWO} d ON {RANGE}": 2,
    f"SELECT f.id FROM {{s}}.fact f WHERE EXISTS (SELECT 1 FROM {TWO} d WHERE {RANGE})": 2,
    f"SELECT f.id, d.k FROM {TWO} d LEFT JOIN {{s}}.fact f ON {RANGE}": 2,
    f"SELECT f.id, d.k FROM {{s}}.fact f LEFT JOIN {TWO} d ON {RANGE}": FILES,
    f"SELECT f.id, d.k FROM {{s}}.fact f FULL JOIN {TWO} d ON {RANGE} AND f.id = d.k": FILES,
    f"SELECT f.id FROM {{s}}.fact f LEFT ANTI JOIN {TWO} d ON {RANGE}": FILES,
    "SELECT f.id FROM {s}.fact f JOIN VALUES (8L, 9L), (160L, 160L), (70L, NULL) AS d(a, b) ON f.id BETWEEN d.a AND d.b": 2,
    "SELECT f.id FROM {s}.fact f JOIN (SELECT * FROM {s}.one WHERE name = 'n9') d ON f.id > d.k": 0,
    "SELECT f.id FROM {s}.fact f JOIN (SELECT k + CAST(0 * rand() AS BIGINT) AS k FROM {s}.one WHERE k = 8) d ON "
    + RANGE: FILES,
    f"SELECT f.id FROM (SELECT * FROM {{s}}.fact ORDER BY id % 1000 LIMIT 200) f JOIN {TWO} d ON {RANGE}": FILES,
    f"SELECT f.id FROM (SELECT id FROM {{s}}.fact UNION ALL SELECT id + 1 FROM {{s}}.fact WHERE i >= 100) f JOIN {TWO} d ON {RANGE}": 3,
}


@pytest.mark.parametrize("condition", RANGES)
def test_ranges_of_the_rows_of_the_other_side(spark, star, condition: str) -> None:
    query = f"SELECT f.id, d.k FROM {star}.fact f JOIN {TWO.format(s=star)} d ON {condition}"
    assert read_files(spark, query) == RANGES[condition]


@pytest.mark.parametrize("query", RANGE_SHAPES)
def test_joins_by_ranges(spark, star, query: str) -> None:
    assert read_files(spark, query.format(s=star)) == RANGE_SHAPES[query]


def test_ranges_with_nan_and_both_zeros(spark, star) -> None:
    """NaN is the greatest value, and both zeros are one: files hold 1, NaN, -0.0, 0.0, 5, and NULL."""
    table = tables.create(spark, f"{star}.points", "d DOUBLE")
    for value in (1.0, float("nan"), -0.0, 0.0, 5.0, None):
        tables.append(spark, table, [[(value,)]], "d DOUBLE")
    product.build(spark, table)
    nan = "double('NaN')"
    for bounds, condition, files in (
        ("(0D, 0D)", "p.d BETWEEN b.x AND b.y", 2),
        ("(-0D, -0D)", "p.d BETWEEN b.x AND b.y", 2),
        (f"({nan}, {nan})", "p.d BETWEEN b.x AND b.y", 1),
        ("(4D, 0D)", "p.d > b.x", 2),
        (f"(4D, {nan})", "p.d > b.x AND p.d < b.y", 1),
        (f"({nan}, 0D)", "p.d > b.x", 0),
        ("(4D, 6D), (-0D, 0D)", "p.d BETWEEN b.x AND b.y", 3),
        ("(4D, CAST(NULL AS DOUBLE))", "p.d BETWEEN b.x AND b.y", 0),
    ):
        query = f"SELECT p.d, b.x FROM {table} p JOIN VALUES {bounds} AS b(x, y) ON {condition}"
        assert read_files(spark, query, "points") == files, query


@pytest.mark.parametrize("case", ["inner", "exists", "star", "no key", "kept side"])
def test_files_read_without_adaptive_execution(spark, star, case: str) -> None:
    query, files = PRUNES[case]
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": "false"}):
        assert read_files(spark, query.format(s=star)) == files


def test_a_join_above_rows_that_an_outer_join_fills(spark, star) -> None:
    """The rows that the outer join fills have a key here, so a file of its optional side must not be missing."""
    query = f"""SELECT /*+ BROADCAST(d) */ f.id, f.ck FROM (
                  SELECT /*+ MERGE(b) */ s.sk AS id, coalesce(b.id, 8) AS ck
                  FROM {star}.small s LEFT JOIN {star}.fact b ON s.sk = b.id) f
                JOIN {star}.one d ON f.ck = d.k WHERE d.name IN ('n8', 'n160')"""
    assert read_files(spark, query) == FILES


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia"])
def test_keys_of_the_day_of_a_time(spark, star, zone: str) -> None:
    table = times(spark)
    days = "(SELECT day, name FROM lake.joins.days WHERE name = 'd2')"
    for key in ("CAST(t.ts AS DATE)", "to_date(t.ts)", "date_trunc('DAY', t.ts)"):
        with product.raw_conf(spark, {"spark.sql.session.timeZone": zone}):
            query = f"SELECT t.id FROM {table} t JOIN {days} d ON {key} = d.day"
            assert 1 <= read_files(spark, query, "times") <= 5
            query = f"SELECT t.id FROM {table} t WHERE {key} IN (SELECT day FROM lake.joins.days WHERE name = 'd2')"
            assert 1 <= read_files(spark, query, "times") <= 5


def times(spark) -> str:
    """times: 12 files of six hours each, over three days around the change of the year. days: all of them, in a file."""
    table = "lake.joins.times"
    if not spark.catalog.tableExists(table):
        tables.create(spark, table, "id BIGINT, ts TIMESTAMP")
        start = 1_388_361_600  # 30 December 2013
        slices = [[(f * 21 + i, start + f * 21_600 + i * 1_029) for i in range(21)] for f in range(12)]
        sent = "id BIGINT, seconds BIGINT"
        tables.append(spark, table, slices, sent, select=["id", "timestamp_seconds(seconds) AS ts"])
        tables.create(spark, "lake.joins.days", "day DATE, name STRING")
        rows = [[(16_069 + i, f"d{i}") for i in range(6)]]
        tables.append(
            spark,
            "lake.joins.days",
            rows,
            "dayno INT, name STRING",
            select=["date_from_unix_date(dayno) AS day", "name"],
        )
        product.build(spark, table)
        product.build(spark, "lake.joins.days")
    return table


def test_ranges_without_adaptive_execution_and_twice(spark, star) -> None:
    query = f"SELECT f.id, d.k FROM {star}.fact f JOIN {TWO.format(s=star)} d ON {RANGE}"
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": "false"}):
        assert read_files(spark, query) == 2
    other = query.replace("n160", "n80")
    assert read_files(spark, f"{query} UNION ALL {other}") == 3
    assert "join pruning on the range of id: at run time" in explain(spark, query)
    with product.raw_conf(spark, {"spark.sql.zonemap.join.runtime.enabled": "false"}):
        assert read_files(spark, query) == FILES


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
