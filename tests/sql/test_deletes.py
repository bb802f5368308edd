# SPDX-License-Identifier: Apache-2.0
"""Plans keep delete files of every kind with their data files, and never prune a delete file that is needed."""

from __future__ import annotations

import pytest
from support import iceberg_api, plans, product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.session import STOCK

MOR = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}


def deletes_of_plan(spark, sql: str) -> int:
    """Returns the number of delete files in all tasks of the plan."""
    df = spark.sql(sql)
    found = 0
    for node in plans.scans(df):
        tasks = plans._invoke(spark, node.scan(), "tasks")
        for i in range(tasks.size()):
            found += tasks.get(i).deletes().size()
    return found


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("build_when", ["before", "after", "between"])
@pytest.mark.parametrize("partitioned", ["", "bucket(2, id)"])
def test_position_deletes_and_deletion_vectors(spark, lake, version: int, build_when: str, partitioned: str) -> None:
    table = "lake.del.positions"
    tables.range_table(spark, table, version=version, partitioned=partitioned, props=MOR)
    if build_when == "before":
        product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id IN (11, 13, 55)")
    if build_when == "between":
        product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id IN (12, 56)")
    if build_when == "after":
        product.build(spark, table)
    query = f"SELECT id FROM {table} WHERE id BETWEEN 10 AND 19"
    assert sorted(r.id for r in assert_rows_equal_off_on(spark, query)) == [10, 14, 15, 16, 17, 18, 19]
    assert_planned_by_index(spark, query)
    with product.off(spark):
        expected = deletes_of_plan(spark, query)
    assert deletes_of_plan(spark, query) == expected > 0
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table}")) == 75


def test_all_rows_of_a_file_deleted(spark, lake) -> None:
    table = tables.range_table(spark, "lake.del.whole", props=MOR)
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id >= 20 AND id < 30 AND d >= 0")
    assert assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE id = 25") == []
    assert len(assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE id BETWEEN 15 AND 34")) == 10


@pytest.mark.parametrize("build_when", ["before", "after"])
@pytest.mark.parametrize("version", [2, 3])
def test_global_equality_delete(spark, lake, build_when: str, version: int) -> None:
    """An equality delete by s applies to files with a smaller sequence number, regardless of the query's predicate."""
    table = tables.range_table(spark, "lake.del.equality", version=version)
    if build_when == "before":
        product.build(spark, table)
    iceberg_api.equality_delete(spark, table, "s", ["k00012", "k00013", "k00070"])
    tables.append(spark, table, [[(12, "k00012", 1.0, 1)]], tables.RANGES_DDL)  # the new row must remain
    if build_when == "after":
        product.build(spark, table)
    rows = assert_rows_equal_off_on(spark, f"SELECT id, d FROM {table} WHERE id BETWEEN 10 AND 14")
    assert sorted((r.id, r.d) for r in rows) == [(10, 5.0), (11, 5.5), (12, 1.0), (14, 7.0)]
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table}")) == 78
    assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE s = 'k00070'") == []
    assert_planned_by_index(spark, f"SELECT id FROM {table} WHERE id BETWEEN 10 AND 14")


def test_equality_delete_in_one_partition(spark, lake) -> None:
    table = tables.create(spark, "lake.del.by_part", tables.RANGES_DDL, partitioned="m")
    tables.append(spark, table, [[(i, "x", 0.0, m) for i in range(5)] for m in (1, 2)], tables.RANGES_DDL)
    product.build(spark, table)
    in_one = next(p for p in tables.files(spark, table) if "m=1" in p)
    iceberg_api.equality_delete(spark, table, "s", ["x"], partition_of=in_one)
    assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE m = 1") == []
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id < 9")) == 5


def test_equality_delete_on_a_column_not_read_and_renamed(spark, lake) -> None:
    table = tables.range_table(spark, "lake.del.renamed")
    iceberg_api.equality_delete(spark, table, "m", [3])
    product.build(spark, table)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN m TO modulo")
    assert len(assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE id < 30")) == 27
    assert assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE modulo = 3") == []


def test_time_travel_to_before_a_delete_finds_the_rows(spark, lake) -> None:
    table = tables.range_table(spark, "lake.del.past", props=MOR)
    before = tables.snapshot_id(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id BETWEEN 33 AND 36")
    product.build(spark, table)
    assert assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE id = 34") == []
    assert len(assert_rows_equal_off_on(spark, f"SELECT id FROM {table} VERSION AS OF {before} WHERE id = 34")) == 1


def test_v2_upgraded_to_v3_keeps_position_deletes_and_takes_vectors(spark, lake) -> None:
    table = tables.range_table(spark, "lake.del.upgraded", props=MOR)
    spark.sql(f"DELETE FROM {table} WHERE id = 21")
    product.build(spark, table)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    spark.sql(f"DELETE FROM {table} WHERE id = 22")
    tables.append(spark, table, tables.ranges(1, 10, 80), tables.RANGES_DDL)
    rows = assert_rows_equal_off_on(spark, f"SELECT id, _row_id FROM {table} WHERE id BETWEEN 20 AND 24")
    assert sorted(r.id for r in rows) == [20, 23, 24]
    assert len(assert_rows_equal_off_on(spark, f"SELECT id, _row_id FROM {table} WHERE id >= 75")) == 15


def test_shadow_finds_no_difference_with_deletes(spark, lake) -> None:
    before = product.counters(spark)
    with product.conf(spark, enabled="true", shadow="true"):
        for name in ("positions", "equality", "by_part", "renamed", "upgraded", "past"):
            columns = {"renamed": "modulo"}.get(name, "m")
            for where in ("id < 40", f"{columns} = 1", "s <> 'x'", "true"):
                spark.sql(f"SELECT * FROM lake.del.{name} WHERE {where}").collect()
    change = product.counters(spark) - before
    assert change.shadow_mismatches == 0
    assert STOCK or change.planned_scans >= 20
