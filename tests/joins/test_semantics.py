# SPDX-License-Identifier: Apache-2.0
"""Comparison rules of joins, and plans that share tables: results and sharing stay as without the product."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows
from support.session import STOCK

FILES = 32
NAN = float("nan")


def executed(spark, query: str, table: str) -> int:
    """Returns how many files of the table a query reads; checks that the rows equal the rows without the product."""
    with product.off(spark):
        expected = spark.sql(query).collect()
    done = plans.execute(spark.sql(query))
    assert_same_rows(done.rows, expected, query)
    return sum(f"/{table}/" in path for path in done.files)


@pytest.fixture(scope="module")
def doubles(spark_module) -> str:
    """Files of `fact`: 0 zeros, 1 NaN and 5.0, 2 nulls, 3 near 10, 4 near 20, 5 NaN only. `dim` has a file per key."""
    spark = spark_module
    fact = tables.create(spark, "lake.joins.doubles", "x DOUBLE, n INT")
    slices = [
        [(-0.0, 1), (0.5, 2)],
        [(NAN, 3), (5.0, 4)],
        [(None, 5), (None, 6)],
        [(9.5, 7), (10.5, 8)],
        [(19.5, 9), (20.0, 10)],
        [(NAN, 11), (NAN, 12)],
    ]
    tables.append(spark, fact, slices, "x DOUBLE, n INT")
    dim = tables.create(spark, "lake.joins.double_keys", "x DOUBLE, name STRING")
    names = {"zero": 0.0, "minus": -0.0, "nan": NAN, "null": None, "ten": 10.5, "none": 77.0}
    tables.append(spark, dim, [[(x, name)] for name, x in names.items()], "x DOUBLE, name STRING")
    one = tables.create(spark, "lake.joins.double_one", "x DOUBLE, name STRING")
    tables.append(spark, one, [[(x, name) for name, x in names.items()]], "x DOUBLE, name STRING")
    for table in (fact, dim, one):
        product.build(spark, table)
    return fact


@pytest.fixture(scope="module")
def spark_module(base):
    from support import session

    return session.get()


# selected keys: files of doubles read with a plan-time source (one file per key), and with a run-time source (one file)
DOUBLE_KEYS = {
    "'zero'": (1, 1),
    "'minus'": (1, 1),
    "'ten'": (1, 1),
    "'none'": (0, 0),
    "'null'": (0, 0),
    "'nan'": (5, 2),
    "'zero', 'nan'": (5, 3),
    "'null', 'ten'": (1, 1),
}


@pytest.mark.parametrize("names", DOUBLE_KEYS)
def test_nan_null_and_zero_keys(spark, doubles, names: str) -> None:
    for source, runtime, files in (
        ("double_keys", "false", DOUBLE_KEYS[names][0]),
        ("double_one", "true", DOUBLE_KEYS[names][1]),
    ):
        query = f"SELECT /*+ BROADCAST(d) */ f.n, d.name FROM {doubles} f JOIN lake.joins.{source} d ON f.x = d.x WHERE d.name IN ({names})"
        with product.raw_conf(spark, {"spark.sql.zonemap.join.runtime.enabled": runtime}):
            read = executed(spark, query, "doubles")
        assert STOCK or read == files, f"{source}: {read}"


def test_nan_among_the_rows_of_a_plan(spark, doubles) -> None:
    """NaN is in no range of values and equals itself, so the files of NaN are read."""
    join = f"SELECT f.n FROM {doubles} f JOIN VALUES {{}} AS v(k) ON f.x = v.k"
    with product.raw_conf(spark, {"spark.sql.zonemap.join.runtime.enabled": "false"}):
        read = [executed(spark, join.format(rows), "doubles") for rows in ("(10.5D)", "(10.5D), (double('NaN'))")]
    assert STOCK or read == [1, 5]


WIDENED = {"y": ("CAST(x AS DOUBLE)", "12.0D"), "l": ("CAST(n AS BIGINT)", "12L")}


@pytest.mark.parametrize("key", WIDENED)
def test_keys_of_a_column_that_a_subquery_has_cast(spark, key: str) -> None:
    """Spark rejects a plan with keys of another type than the column that they prune by."""
    table = tables.create(spark, "lake.joins.narrow", "x FLOAT, n INT")
    rows = [[(float(i), i) for i in range(f * 10, f * 10 + 10)] for f in range(4)]
    tables.append(spark, table, rows, "x FLOAT, n INT")
    product.build(spark, table)
    cast, value = WIDENED[key]
    keys = tables.create(spark, "lake.joins.wide", "k DOUBLE" if key == "y" else "k BIGINT")
    spark.sql(f"INSERT INTO {keys} VALUES ({value}), ({value} + 23)")
    query = (
        f"SELECT /*+ BROADCAST(w) */ n FROM (SELECT n, {cast} AS {key} FROM {table}) t JOIN {keys} w ON t.{key} = w.k"
    )
    with product.raw_conf(spark, {"spark.sql.zonemap.join.static.enabled": "false"}):
        assert len(assert_rows_equal_off_on(spark, query)) == 2


JOINED = "SELECT f.id, f.s FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name IN ('n8', 'n160')"


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_equal_scans_are_shared_and_others_are_not(spark, star, adaptive: str) -> None:
    total = "SELECT count(*) c, sum(id) t FROM ({}) GROUP BY s"
    same = total.format(JOINED.format(s=star))
    other = same.replace("n160", "n80")
    tier = "SELECT count(*) c, sum(f.id) t FROM {s}.fact f JOIN {s}.dim d ON f.id = d.k WHERE d.tier = {t} GROUP BY f.s"
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": adaptive}):
        for first, second in (
            (same, same),
            (same, other),
            (tier.format(s=star, t=1), tier.format(s=star, t=1)),
            (tier.format(s=star, t=1), tier.format(s=star, t=2)),
        ):
            query = f"{first} UNION ALL {second}"
            reused, rows = [], []
            for switch in (product.off, product.on):
                with switch(spark):
                    done = plans.execute(spark.sql(query))
                    reused.append(done.plan.count("ReusedExchange"))
                    rows.append(done.rows)
            assert_same_rows(rows[1], rows[0], query)
            assert reused[1] >= reused[0] - (first != second), query


def test_one_relation_with_several_filters(spark, star) -> None:
    """An inlined common table expression is one relation that is planned several times."""
    branch = "SELECT id FROM {s}.fact WHERE id IN (SELECT k FROM c WHERE tier = {t})"
    with_c = f"WITH c AS (SELECT k, tier FROM {star}.dim) "
    query = with_c + " UNION ALL ".join(branch.format(s=star, t=t) for t in (3, 5, 6))
    assert_rows_equal_off_on(spark, query, at_least=120)
    joined = "SELECT f.id FROM {s}.fact f JOIN c ON f.id = c.k WHERE c.tier = {t}"
    query = with_c + " UNION ALL ".join(joined.format(s=star, t=t) for t in (3, 5, 6))
    assert_rows_equal_off_on(spark, query, at_least=120)


def test_time_travel_reads_the_older_files(spark, star) -> None:
    table = tables.range_table(spark, "lake.joins.moving", files=6)
    before = tables.snapshot_id(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id < 30")
    tables.append(spark, table, tables.ranges(4, 10, 100), tables.RANGES_DDL)
    product.build(spark, table)
    for version, files in ((f"VERSION AS OF {before}", 4), ("", 1)):
        query = f"SELECT f.id FROM {table} {version} f JOIN {star}.dim d ON f.id = d.k WHERE d.tier = 0"
        assert STOCK or executed(spark, query, "moving") == files
        query = f"SELECT d.k FROM {star}.dim d JOIN {table} {version} f ON f.id = d.k WHERE f.m >= 0"
        assert_rows_equal_off_on(spark, query, at_least=40)


def test_an_index_that_is_behind_and_rows_that_are_deleted(spark, star) -> None:
    props = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
    table = tables.range_table(spark, "lake.joins.behind", files=4, props=props)
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(4, 10, 200), tables.RANGES_DDL)
    spark.sql(f"DELETE FROM {table} WHERE id IN (5, 205)")
    query = f"SELECT f.id FROM {table} f JOIN {star}.dim d ON f.id = d.k WHERE d.tier = 5"
    assert STOCK or executed(spark, query, "behind") == 4
    query = f"SELECT f.id FROM {star}.fact f JOIN {table} t ON f.id = t.id WHERE t.id > 100"
    assert STOCK or executed(spark, query, "fact") <= 8
    assert len(assert_rows_equal_off_on(spark, query)) == 39


def test_an_incremental_read_tells_nothing_of_its_keys(spark, star) -> None:
    """The files of the incremental read may be missing from the snapshot that the relation is pinned to."""
    table = tables.range_table(spark, "lake.joins.appended", files=1)
    start = tables.snapshot_id(spark, table)
    tables.append(spark, table, tables.ranges(2, 10, 200), tables.RANGES_DDL)
    end = tables.snapshot_id(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id >= 200")
    product.build(spark, table)
    rows = []
    for switch in (product.off, product.on):
        with switch(spark):
            new = spark.read.option("start-snapshot-id", start).option("end-snapshot-id", end).table(table)
            rows.append(spark.table(f"{star}.fact").join(new, "id").select("id").collect())
    assert len(rows[0]) == 20
    assert_same_rows(rows[1], rows[0], "incremental read")


def test_a_recursive_query_asks_other_keys_each_time(spark, star) -> None:
    edges = tables.create(spark, "lake.joins.edges", "a BIGINT, b BIGINT")
    tables.append(spark, edges, [[(i, i + 1) for i in range(f * 4, f * 4 + 4)] for f in range(8)], "a BIGINT, b BIGINT")
    product.build(spark, edges)
    for hint in ("", "/*+ BROADCAST(w) */"):
        query = f"""WITH RECURSIVE walk(at) AS (
                      SELECT 3L UNION ALL SELECT {hint} e.b FROM walk w JOIN {edges} e ON e.a = w.at WHERE w.at < 12)
                    SELECT at FROM walk"""
        assert len(assert_rows_equal_off_on(spark, query)) == 10


def test_a_frame_is_run_again_and_cached(spark, star) -> None:
    frame = spark.sql(JOINED.format(s=star))
    first = frame.collect()
    assert frame.count() == len(first) == len(frame.collect()) == 2
    twice = frame.union(frame)
    assert len(twice.collect()) == 4
    cached = frame.cache()
    try:
        assert cached.count() == 2
        assert len(spark.table(f"{star}.fact").join(cached, "id").collect()) == 2
        assert spark.table(f"{star}.fact").count() == FILES * 10
    finally:
        cached.unpersist()


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_are_joined_and_pruned_as_before(spark, star, adaptive: str) -> None:
    columns = "id BIGINT, p INT, v BIGINT"
    for name in ("left_part", "right_part"):
        table = tables.create(spark, f"lake.joins.{name}", columns, partitioned="p")
        tables.append(spark, table, [[(f * 10 + i, f, i) for i in range(10)] for f in range(8)], columns)
        product.build(spark, table)
    grouped = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
    }
    merged = "SELECT /*+ MERGE(r) */ l.id, r.v FROM {s}.left_part l JOIN {s}.right_part r ON l.p = r.p AND l.id = r.id WHERE r.v = 3"
    keyed = (
        "SELECT l.id FROM (" + merged + ") l JOIN {s}.one d ON l.id = d.k WHERE d.name IN ('n8', 'n48')",
        "SELECT l.id FROM {s}.left_part l JOIN {s}.right_part r ON l.p = r.p WHERE r.v + r.id = 16",
        merged,
    )
    with product.raw_conf(spark, grouped):
        for query in keyed:
            text = query.format(s=star)
            seen, rows = [], []
            for switch in (product.off, product.on):
                with switch(spark):
                    done = plans.execute(spark.sql(text))
                    seen.append((done.plan.count("Exchange hashpartitioning"), len(done.files)))
                    rows.append(done.rows)
            assert_same_rows(rows[1], rows[0], text)
            assert seen[1][0] == seen[0][0] and seen[1][1] <= seen[0][1], text


def test_metadata_columns_and_aggregates(spark, star) -> None:
    for query in (
        "SELECT f.id, f._pos, f._file FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8'",
        "SELECT count(*), min(f.id), max(f.id) FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name <> 'n8'",
        "SELECT f.sk, count(*) FROM {s}.fact f WHERE f.id IN (SELECT k FROM {s}.one WHERE name < 'n2') GROUP BY f.sk ORDER BY 2 LIMIT 3",
        "SELECT * FROM {s}.fact a JOIN {s}.fact b ON a.id = b.id JOIN {s}.one d ON b.id = d.k WHERE d.name = 'n8'",
        "SELECT (SELECT max(f.x) FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8') AS m, count(*) FROM {s}.dim",
    ):
        assert_rows_equal_off_on(spark, query.format(s=star), at_least=1)


@pytest.mark.skipif(STOCK, reason="asserts what the product reads")
def test_a_column_that_is_named_like_the_key_of_another(spark) -> None:
    """A scan gets the keys of an expression under the expression's text, which a column can have as its name."""
    table = tables.create(spark, "lake.joins.named", "i INT, `(i + 1)` INT")
    tables.append(spark, table, [[(f * 10 + j, 1000 - f) for j in range(10)] for f in range(8)], "i INT, `(i + 1)` INT")
    keys = tables.create(spark, "lake.joins.named_keys", "k INT, c INT, name STRING")
    tables.append(spark, keys, [[(11, 999, "a"), (79, 993, "b"), (41, 996, "c")]], "k INT, c INT, name STRING")
    for each in (table, keys):
        product.build(spark, each)
    for on in ("f.i + 1 = d.k AND f.`(i + 1)` = d.c", "f.`(i + 1)` = d.c AND f.i + 1 = d.k"):
        query = f"SELECT f.i FROM {table} f JOIN {keys} d ON {on} WHERE d.name <> 'c'"
        assert executed(spark, query, "named") == 2
