# SPDX-License-Identifier: Apache-2.0
"""Kinds of tables: format versions, file formats, evolving partition specs, missing statistics, wide rows."""

from __future__ import annotations

import pytest
from support import oracle, plans, product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.session import SPARK, STOCK


@pytest.mark.parametrize("file_format, files", [("parquet", 1), ("orc", 1), ("avro", 8)])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_format_and_version(spark, lake, version: int, file_format: str, files: int) -> None:
    """Avro files have no bounds, so all of them are read."""
    table = "lake.kinds.formats"
    tables.range_table(spark, table, version=version, props={"write.format.default": file_format})
    product.build(spark, table)
    query = f"SELECT * FROM {table} WHERE id BETWEEN 31 AND 33"
    assert len(assert_rows_equal_off_on(spark, query)) == 3
    assert_planned_by_index(spark, query)
    assert len(plans.planned_files(spark.sql(query))) == files


def test_files_planned_are_those_that_hold_the_rows(spark, lake) -> None:
    """Compares the plans with the data files themselves, read without Spark."""
    table = tables.range_table(spark, "lake.kinds.physical")
    product.build(spark, table)
    paths = tables.files(spark, table)
    for where, matches in (
        ("id = 42", lambda r: r["id"] == 42),
        ("d >= 30.0", lambda r: r["d"] >= 30.0),
        ("s LIKE 'k0001%'", lambda r: r["s"].startswith("k0001")),
        ("id IN (1, 41, 79)", lambda r: r["id"] in (1, 41, 79)),
    ):
        expected = oracle.files_with(paths, matches)
        assert plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE {where}")) == expected, where


# spec, later spec; predicate, and the expected number of files of the 16 that two appends of 8 files write
SPECS = {
    "none": ("", None, "id < 10", 1),
    "identity": ("m", None, "m = 3 AND id < 30", 3),
    "bucket": ("bucket(2, id)", None, "id = 44", 1),
    "truncate string": ("truncate(4, s)", None, "s LIKE 'k000%'", 10),
    "none to identity": ("", "m", "m = 3 AND id >= 80", 8),
    "identity to none": ("m", "drop", "m = 3 AND id < 20", 2),
    "identity to bucket": ("m", "bucket(2, m)", "m = 3 AND id < 100 AND id >= 75", None),
    "two fields": ("m, bucket(2, id)", None, "m = 7 AND id = 17", 1),
}


@pytest.mark.parametrize("case", SPECS)
def test_partition_specs(spark, lake, case: str) -> None:
    spec, evolved, where, files = SPECS[case]
    table = tables.create(spark, "lake.kinds.specs", tables.RANGES_DDL, partitioned=spec)
    tables.append(spark, table, tables.ranges(8, 10), tables.RANGES_DDL)
    if evolved == "drop":
        spark.sql(f"ALTER TABLE {table} DROP PARTITION FIELD {spec}")
    elif evolved:
        verb = f"REPLACE PARTITION FIELD {spec} WITH" if spec else "ADD PARTITION FIELD"
        spark.sql(f"ALTER TABLE {table} {verb} {evolved}")
    tables.append(spark, table, tables.ranges(8, 10, 80), tables.RANGES_DDL)
    product.build(spark, table)
    query = f"SELECT * FROM {table} WHERE {where}"
    assert_rows_equal_off_on(spark, query, at_least=1)
    assert_planned_by_index(spark, query)
    kept = plans.planned_files(spark.sql(query))
    with product.off(spark):
        assert kept <= plans.planned_files(spark.sql(query))
    if files is not None:
        assert len(kept) == files
    for only in ("m = 3", "m IN (1, 2)", "m IS NULL", "NOT (m = 3)", "id % 2 = 0"):
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {only}")
        assert_rows_equal_off_on(spark, f"SELECT count(*) FROM {table} WHERE {only}")


def test_partition_only_predicates_are_exact(spark, lake) -> None:
    """Spark removes partition predicates from its own filter, so each extra file would return extra rows."""
    table = tables.create(
        spark, "lake.kinds.exact", "id BIGINT, day DATE, ts TIMESTAMP, k STRING", partitioned="days(ts), k"
    )
    tables.append(
        spark,
        table,
        [[(d * 10 + i, d, f"k{i}") for i in range(3)] for d in range(-3, 4)],
        "id BIGINT, d INT, k STRING",
        select=(
            "id",
            "date_from_unix_date(d) AS day",
            "CAST(date_from_unix_date(d) AS TIMESTAMP) AS ts",
            "nullif(k, 'k2') AS k",
        ),
    )
    product.build(spark, table)
    for where, rows in (
        ("ts >= TIMESTAMP'1969-12-31 00:00:00' AND ts < TIMESTAMP'1970-01-02 00:00:00'", 6),
        ("ts < TIMESTAMP'1970-01-01 00:00:00'", 9),
        ("k = 'k1'", 7),
        ("k IS NULL", 7),
        ("k <> 'k0'", 7),
        ("NOT (k <=> 'k0')", 14),
        ("k = 'k0' AND ts >= TIMESTAMP'1970-01-03 00:00:00'", 2),
        ("k = 'k1' OR ts < TIMESTAMP'1969-12-30 00:00:00'", 9),
    ):
        assert len(assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {where}")) == rows, where
        assert_planned_by_index(spark, f"SELECT id FROM {table} WHERE {where}")


@pytest.mark.parametrize(
    "default, prunes",
    [("none", False), ("counts", False), ("truncate(2)", True), ("full", True), ("truncate(16)", True)],
)
def test_metrics_modes(spark, lake, default: str, prunes: bool) -> None:
    table = "lake.kinds.metrics"
    tables.range_table(spark, table, props={"write.metadata.metrics.default": default})
    product.build(spark, table)
    for where in ("id = 12", "s = 'k00012'", "s IS NULL", "s LIKE 'k0001%'", "d > 39"):
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}")
    kept = plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE id = 12"))
    assert len(kept) == (1 if prunes else 8)


def test_in_list_on_a_string_partition_with_a_null(spark, lake) -> None:
    """Iceberg 1.11's evaluator throws on the null; a query that fails there may work here, but never be wrong."""
    table = tables.create(spark, "lake.kinds.null_part", "id BIGINT, k STRING", partitioned="k")
    tables.append(spark, table, [[(1, "a")], [(2, "b")], [(3, None)]], "id BIGINT, k STRING")
    product.build(spark, table)
    for where, expected in (("k IN ('a', 'c')", [1]), ("k LIKE 'b%'", [2]), ("k NOT IN ('a', 'c')", [2])):
        try:
            rows = spark.sql(f"SELECT id FROM {table} WHERE {where}").collect()
        except Exception as error:
            assert "null" in str(error)
            with product.off(spark), pytest.raises(Exception, match="null"):
                spark.sql(f"SELECT id FROM {table} WHERE {where}").collect()
        else:
            assert [r.id for r in rows] == expected, where


def test_columns_beyond_the_hundredth_have_no_bounds(spark, lake) -> None:
    columns = [f"c{i}" for i in range(120)]
    ddl = ", ".join(f"{c} INT" for c in columns)
    table = tables.create(spark, "lake.kinds.wide", ddl)
    tables.append(spark, table, [[tuple(f * 10 + r for _ in columns) for r in range(3)] for f in range(4)], ddl)
    product.build(spark, table)
    for column, files in (("c0", 1), ("c99", 1), ("c100", 4), ("c119", 4)):
        query = f"SELECT c0, c119 FROM {table} WHERE {column} = 21"
        assert len(assert_rows_equal_off_on(spark, query)) == 1
        assert_planned_by_index(spark, query)
        assert len(plans.planned_files(spark.sql(query))) == files, column


def test_empty_table_and_empty_snapshot(spark, lake) -> None:
    table = tables.create(spark, "lake.kinds.empty", tables.RANGES_DDL)
    assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 1") == []
    tables.append(spark, table, tables.ranges(1, 5), tables.RANGES_DDL)
    spark.sql(f"DELETE FROM {table}")
    product.build(spark, table)
    assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 1") == []


def test_nested_leaves_arrays_and_maps(spark, lake) -> None:
    table = tables.create(
        spark, "lake.kinds.nested", "id INT, a STRUCT<b: STRUCT<c: INT, d: STRING>>, l ARRAY<INT>, m MAP<STRING, INT>"
    )
    tables.append(
        spark,
        table,
        [[(100 + f * 10 + i,) for i in range(4)] for f in range(4)],
        "id INT",
        select=(
            "id",
            "named_struct('b', named_struct('c', id, 'd', concat('x', id))) AS a",
            "array(id) AS l",
            "map('k', id) AS m",
        ),
    )
    product.build(spark, table)
    for where, files in (
        ("a.b.c = 121", 1),
        ("a.b.d = 'x121'", 1),
        ("l[0] = 121", 4),
        ("m['k'] = 121", 4),
        ("a IS NULL", 4),
        ("a.b IS NOT NULL", 4),
    ):
        assert_rows_equal_off_on(spark, f"SELECT id FROM {table} WHERE {where}")
        kept = plans.planned_files(spark.sql(f"SELECT id FROM {table} WHERE {where}"))
        assert len(kept) <= files, where


def test_names_with_dots_and_case(spark, lake) -> None:
    table = tables.create(spark, "lake.kinds.names", "`a.b` INT, `Straße` STRING, `select` INT")
    tables.append(
        spark,
        table,
        [[(f * 10 + i, f"ß{f}", f) for i in range(3)] for f in range(3)],
        "a INT, b STRING, c INT",
        select=("a AS `a.b`", "b AS `Straße`", "c AS `select`"),
    )
    product.build(spark, table)
    for where in ("`a.b` = 11", "`Straße` = 'ß1'", "`select` = 1", "`STRAßE` LIKE 'ß1%'"):
        query = f"SELECT * FROM {table} WHERE {where}"
        assert_rows_equal_off_on(spark, query, at_least=1)
        assert len(plans.planned_files(spark.sql(query))) == 1, where


def test_sorted_table(spark, lake) -> None:
    table = tables.create(spark, "lake.kinds.sorted", tables.RANGES_DDL)
    spark.sql(f"ALTER TABLE {table} WRITE LOCALLY ORDERED BY id DESC NULLS LAST")
    tables.append(spark, table, tables.ranges(4, 10), tables.RANGES_DDL)
    product.build(spark, table)
    assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 13")
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 13")) == 1


@pytest.mark.skipif(SPARK < (4, 0), reason="Spark 3.5: the type VARIANT, which this Spark does not have")
def test_variant_columns_are_read_right(spark, lake) -> None:
    table = tables.create(spark, "lake.kinds.variant", "id INT, v VARIANT", version=3)
    tables.append(
        spark,
        table,
        [[(f * 10 + i,) for i in range(3)] for f in range(3)],
        "id INT",
        select=("id", "parse_json(concat('{\"a\": ', id, '}')) AS v"),
    )
    product.build(spark, table)
    rows = assert_rows_equal_off_on(spark, f"SELECT id, variant_get(v, '$.a', 'int') AS a FROM {table} WHERE id >= 20")
    assert sorted((r.id, r.a) for r in rows) == [(20, 20), (21, 21), (22, 22)]
    assert_planned_by_index(spark, f"SELECT id FROM {table} WHERE id >= 20")


def test_imported_files(spark, lake, tmp_path) -> None:
    """add_files adds files from outside the table's location, without field ids."""
    folder = tmp_path / "loose"
    tables.sliced(spark, tables.ranges(4, 10), tables.RANGES_DDL).write.parquet(str(folder))
    table = tables.create(spark, "lake.kinds.imported", tables.RANGES_DDL)
    spark.sql(f"CALL lake.system.add_files(table => 'kinds.imported', source_table => '`parquet`.`{folder}`')")
    tables.append(spark, table, tables.ranges(1, 10, 100), tables.RANGES_DDL)
    product.build(spark, table)
    query = f"SELECT * FROM {table} WHERE id BETWEEN 22 AND 24"
    assert len(assert_rows_equal_off_on(spark, query)) == 3
    assert_planned_by_index(spark, query)
    assert len(plans.planned_files(spark.sql(query))) == 1


def test_metadata_tables_are_left_alone(spark, lake) -> None:
    for name in ("snapshots", "files", "manifests", "entries", "partitions", "history", "all_data_files"):
        assert_rows_equal_off_on(spark, f"SELECT * FROM lake.q.part.{name}", at_least=1)


def test_compaction_and_manifest_rewrite(spark, lake) -> None:
    table = tables.range_table(spark, "lake.kinds.compacted")
    product.build(spark, table)
    spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'kinds.compacted', where => 'id < 40', options => map('rewrite-all', 'true'))"
    )
    query = f"SELECT * FROM {table} WHERE id = 15 OR id = 55"
    assert len(assert_rows_equal_off_on(spark, query)) == 2
    assert len(plans.planned_files(spark.sql(query))) == 2
    assert_planned_by_index(spark, query)
    spark.sql("CALL lake.system.rewrite_manifests(table => 'kinds.compacted')")
    assert len(assert_rows_equal_off_on(spark, query)) == 2
    assert_planned_by_index(spark, query)


def test_expired_snapshots(spark, lake) -> None:
    table = tables.range_table(spark, "lake.kinds.expired", files=3)
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    spark.sql(
        "CALL lake.system.expire_snapshots(table => 'kinds.expired', older_than => TIMESTAMP'2100-01-01 00:00:00', retain_last => 1)"
    )
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id >= 0")) == 20
    assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id >= 25")


def test_table_dropped_and_made_anew(spark, lake) -> None:
    """The new table has the same name and location but another uuid; the old index must not be used."""
    table = tables.range_table(spark, "lake.kinds.again", files=2)
    product.build(spark, table)
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id < 5")) == 5
    tables.create(spark, table, tables.RANGES_DDL)
    tables.append(spark, table, tables.ranges(2, 10, 3), tables.RANGES_DDL)
    rows = assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id < 5")
    assert sorted(r.id for r in rows) == [3, 4]


@pytest.mark.skipif(STOCK, reason="about the product")
def test_many_small_commits_are_one_exact_plan_after_refresh(spark, lake) -> None:
    table = tables.create(spark, "lake.kinds.commits", tables.RANGES_DDL)
    for i in range(12):
        tables.append(spark, table, tables.ranges(1, 5, i * 5), tables.RANGES_DDL)
        if i == 3:
            product.build(spark, table)
    query = f"SELECT * FROM {table} WHERE id IN (2, 57)"
    assert_planned_by_index(spark, query, mode="HYBRID")
    product.refresh(spark, table)
    assert_planned_by_index(spark, query, mode="EXACT")
    assert len(plans.planned_files(spark.sql(query))) == 2
