# SPDX-License-Identifier: Apache-2.0
"""LIMIT k without ORDER BY: files read, enough rows, and no other scan reads fewer files."""

from __future__ import annotations

import pytest
from support import iceberg_api, plans, product, tables
from support.compare import assert_rows_equal_off_on, bag, explain
from support.session import STOCK
from support.steps import FILES, fill, make

LIMIT = "spark.sql.zonemap.limit.enabled"


def check(spark, table: str, tail: str, files: int, rows: int) -> None:
    """Checks the number of rows, all of them rows of the full result, and the number of planned files."""
    query = f"SELECT * FROM {table} {tail}"
    with product.off(spark):
        whole = spark.sql(f"SELECT * FROM {table} {tail.partition('LIMIT')[0].replace('rand(7)', '0')}").collect()
    frame = spark.sql(query)
    planned = len(plans.planned_files(frame))
    found = frame.collect()
    assert len(found) == rows and not bag(found) - bag(whole), query
    assert STOCK or planned == files, query


# text after SELECT * FROM the table: number of files read, of eight; number of rows
CASES = {
    "LIMIT 3": (1, 3),
    "LIMIT 10": (1, 10),
    "LIMIT 11": (2, 11),
    "LIMIT 3 OFFSET 9": (2, 3),
    "LIMIT 0": (0, 0),
    "LIMIT 79": (8, 79),
    "LIMIT 100": (8, 80),
    "WHERE g = '1' LIMIT 3": (1, 3),
    "WHERE g = '1' LIMIT 20": (2, 20),
    "WHERE g = '1' LIMIT 21": (2, 20),
    "WHERE id > 45 LIMIT 3": (1, 3),
    "WHERE id > 45 LIMIT 30": (3, 30),
    "WHERE id > 45 LIMIT 31": (4, 31),
    "WHERE id IN (1, 11, 21) LIMIT 2": (3, 2),
    "WHERE n IS NOT NULL AND id >= 30 LIMIT 3": (1, 3),
    "WHERE n IS NULL LIMIT 3": (1, 3),
    "WHERE length(s) > 3 LIMIT 3": (8, 3),
    "WHERE rand(7) < 0.99 LIMIT 3": (8, 3),
    "WHERE id + 1 > 46 LIMIT 3": (4, 3),
    "WHERE id + 1 = 6 OR id >= 40 LIMIT 3": (1, 3),  # ranges and the cut in one scan
    "WHERE id + 1 = 6 OR id >= 40 LIMIT 41": (5, 41),
    "WHERE id > 1000 LIMIT 3": (0, 0),
}


@pytest.mark.parametrize("tail", CASES)
def test_files_read_and_rows(spark, plain, tail: str) -> None:
    check(spark, plain, tail, *CASES[tail])


def test_an_offset_stays_below_the_limit_if_spark_is_told_not_to_push_it(spark, plain) -> None:
    rule = "org.apache.spark.sql.catalyst.optimizer.LimitPushDown"
    with product.raw_conf(spark, {"spark.sql.optimizer.excludedRules": rule}):
        check(spark, plain, "LIMIT 3 OFFSET 9", 2, 3)


# query: tasks planned in all scans; the rows do not depend on the rows that the limit chooses
SHAPES = {
    "SELECT count(*) FROM (SELECT * FROM {t} LIMIT 3)": 1,
    "SELECT count(*) FROM {t} LIMIT 1": None,
    "SELECT m FROM {t} GROUP BY m LIMIT 20": FILES,
    "SELECT count(*) FROM (SELECT DISTINCT m FROM {t} LIMIT 4)": FILES,
    "SELECT count(id) FROM ((SELECT id FROM {t} LIMIT 3) UNION ALL SELECT id FROM {t})": 1 + FILES,
    "SELECT count(id) FROM (SELECT id FROM {t} UNION ALL SELECT id FROM {t} LIMIT 5)": 2,
    "SELECT count(a.id) FROM (SELECT a.id FROM {t} a LEFT JOIN {t} b ON a.id = b.id LIMIT 5) a": 1 + FILES,
    "SELECT count(a.id) FROM (SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id LIMIT 5) a": 2 * FILES,
    "SELECT count(id) FROM {t} WHERE id < (SELECT count(*) FROM (SELECT * FROM {t} LIMIT 7))": FILES,
    "WITH c AS (SELECT * FROM {t}) SELECT (SELECT count(id) FROM c), (SELECT count(id) FROM (SELECT * FROM c LIMIT 3))": None,
    "SELECT count(id) FROM (SELECT id, max(id) OVER () AS top FROM {t} LIMIT 3) WHERE top = 79": FILES,
}


@pytest.mark.parametrize("query", SHAPES)
def test_where_the_limit_may_stand(spark, plain, query: str) -> None:
    text = query.format(t=plain)
    assert_rows_equal_off_on(spark, text)
    if not STOCK and SHAPES[query] is not None:
        assert len(plans.planned_tasks(spark.sql(text))) == SHAPES[query], text


def test_each_limit_has_its_own_scan(spark, plain) -> None:
    limits = [f"(SELECT count(id) FROM (SELECT * FROM {plain} WHERE id >= 10 LIMIT {n}))" for n in (3, 30, 80)]
    rows = assert_rows_equal_off_on(spark, f"SELECT {', '.join(limits)}")
    assert tuple(rows[0]) == (3, 30, 70)
    same = f"SELECT id FROM (SELECT * FROM {plain} WHERE id >= 10 LIMIT 3)"
    joined = spark.sql(f"SELECT count(*) FROM {plain} a LEFT JOIN ({same}) b ON a.id = b.id WHERE b.id IS NOT NULL")
    assert joined.collect()[0][0] == 3


def test_a_view_with_a_limit_and_its_table(spark, plain) -> None:
    spark.sql(f"SELECT * FROM {plain} LIMIT 3").createOrReplaceTempView("some_rows")
    assert spark.sql(f"SELECT (SELECT count(id) FROM some_rows), (SELECT count(id) FROM {plain})").collect()[0] == (
        3,
        80,
    )
    assert spark.sql("SELECT count(id) FROM some_rows a JOIN some_rows b USING (id)").count() == 1


def test_cached_data_is_never_cut(spark, plain) -> None:
    some = spark.sql(f"SELECT * FROM {plain} LIMIT 3").cache()
    try:
        assert some.count() == 3
        assert len(spark.sql(f"SELECT * FROM {plain}").collect()) == 80
        assert len(spark.sql(f"SELECT * FROM {plain} LIMIT 30").collect()) == 30
    finally:
        some.unpersist()
    whole = spark.sql(f"SELECT * FROM {plain}").cache()
    try:
        limited = spark.sql(f"SELECT * FROM {plain} LIMIT 3")
        assert len(limited.collect()) == 3 and "InMemoryTableScan" in plans.plan_text(limited)
        assert len(spark.sql(f"SELECT * FROM {plain}").collect()) == 80
    finally:
        whole.unpersist()


def test_the_same_data_frame_with_and_without(spark, plain) -> None:
    frame = spark.table(plain).where("id >= 20")
    assert (len(frame.take(2)), frame.count(), len(frame.limit(30).collect()), len(frame.collect())) == (2, 60, 30, 60)
    both = frame.limit(5).unionAll(frame)
    assert len(both.collect()) == 65
    assert STOCK or len(plans.planned_tasks(frame.limit(5).unionAll(frame))) == 1 + 6


def test_explain_and_switch(spark, plain) -> None:
    query = f"SELECT * FROM {plain} WHERE id >= 20 LIMIT 11"
    if not STOCK:
        assert "limit 11: 2 of 8 files" in explain(spark, query)
    with product.raw_conf(spark, {LIMIT: "false"}):
        assert len(plans.planned_files(spark.sql(query))) == 6
    assert len(plans.planned_files(spark.read.option("zonemap.limit.enabled", "false").table(plain).limit(3))) == FILES


def test_the_largest_files_and_those_without_deletes(spark, base) -> None:
    table = make(spark, "lake.topk.limits", props={"write.delete.mode": "merge-on-read"})
    rows = [[(1000 + i,) for i in range(50)]]
    tables.append(
        spark,
        table,
        rows,
        "id BIGINT",
        select=(
            "id",
            "NULL ts",
            "NULL dt",
            "NULL amount",
            "NULL d",
            "NULL f",
            "NULL s",
            "NULL n",
            "NULL g",
            "NULL m",
            "NULL x",
        ),
    )
    product.build(spark, table)
    check(spark, table, "LIMIT 50", 1, 50)
    check(spark, table, "LIMIT 51", 2, 51)
    spark.sql(f"DELETE FROM {table} WHERE id BETWEEN 1000 AND 1048")
    product.build(spark, table)
    check(spark, table, "LIMIT 10", 1, 10)
    check(spark, table, "LIMIT 11", 2, 11)
    check(spark, table, "LIMIT 81", 9, 81)
    check(spark, table, "WHERE id >= 1000 LIMIT 2", 1, 1)
    iceberg_api.equality_delete(spark, table, "s", ["00079-cut-off-after-sixteen"])
    check(spark, table, "LIMIT 3", 9, 3)
    fill(spark, table, range(20, 21))
    check(spark, table, "LIMIT 3", 1, 3)


def test_partitioned_and_past(spark, base) -> None:
    table = make(spark, "lake.topk.limit_by_m", partitioned="m")
    old = tables.snapshot_id(spark, table)
    check(spark, table, "WHERE m = 3 LIMIT 2", 2, 2)
    check(spark, table, "WHERE m IN (3, 4) AND id < 45 LIMIT 3", 3, 3)
    fill(spark, table, range(FILES, FILES + 1))
    product.build(spark, table)
    check(spark, table, "LIMIT 5", 5, 5)
    check(spark, f"{table} VERSION AS OF {old}", "WHERE m = 3 LIMIT 7", 7, 7)
    check(spark, f"{table} VERSION AS OF {old}", "WHERE m = 3 LIMIT 9", 8, 8)


def test_writing_limited_rows(spark, plain) -> None:
    table = tables.create(spark, "lake.topk.copy", "id BIGINT, s STRING")
    spark.sql(f"INSERT INTO {table} SELECT id, s FROM {plain} WHERE id >= 20 LIMIT 15")
    assert spark.sql(f"SELECT count(id), min(id) >= 20 FROM {table}").collect()[0] == (15, True)
