# SPDX-License-Identifier: Apache-2.0
"""CALL zonemap.system.*: rows returned, what is written and what is not, and errors."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

import pytest
from support import product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.session import SPARK, STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def test_build_says_what_it_did(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.built", files=5, props={"write.delete.mode": "merge-on-read"})
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    row = product.build(spark, table)
    assert (row.snapshot_id, row.data_files, row.delete_files) == (tables.snapshot_id(spark, table), 5, 1)
    assert row.segments >= 1 and row.bytes > 0 and row.seconds >= 0
    held = product.store_files(tables.location(spark, table))
    assert sum(p.stat().st_size for p in held if p.suffix == ".zm") > 0


def test_refresh_after_commits(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.refreshed", files=2)
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(3, 10, 50), tables.RANGES_DDL)
    row = product.refresh(spark, table)
    assert (row.snapshot_id, row.data_files) == (tables.snapshot_id(spark, table), 5)
    assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 55", mode="EXACT")


def test_build_and_refresh_of_a_namespace(spark, lake) -> None:
    names = [tables.range_table(spark, f"lake.proc_all.t{place}", files=place) for place in (1, 2)]
    tables.create(spark, "lake.proc_all.empty", "id BIGINT")
    built = zonemap.Namespace(spark, "lake.proc_all").build()
    assert [(r.table, r.data_files, r.problem) for r in built] == [
        ("lake.proc_all.empty", 0, ""),
        *((name, place, "") for place, name in enumerate(names, 1)),
    ]
    tables.append(spark, names[0], tables.ranges(3, 10, 50), tables.RANGES_DDL)
    assert [r.data_files for r in zonemap.Namespace(spark, "lake.proc_all").refresh()] == [0, 4, 2]
    assert_planned_by_index(spark, f"SELECT * FROM {names[0]} WHERE id = 55", mode="EXACT")
    with pytest.raises(zonemap.ProcedureError, match=r"Cannot build the index of namespace 'lake\.nowhere'"):
        zonemap.Namespace(spark, "lake.nowhere").build()


def test_status_before_and_after(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.status", files=4)
    row = product.status(spark, table)
    assert (row.covered, row.problem) == (False, "the table has no index yet, and build_index makes one")
    assert (row.verdict, row.data_files, row.files_covered, row.files_total) == ("no index", -1, 0, 4)
    product.build(spark, table)
    row = product.status(spark, table)
    assert (row.covered, row.lag_snapshots, row.data_files, row.delete_files) == (True, 0, 4, 0)
    assert row.problem == ""
    assert row.bytes > 0 and row.segments >= 1 and "_zonemaps_v2" in row.store
    tables.append(spark, table, tables.ranges(1, 10, 50), tables.RANGES_DDL)
    row = product.status(spark, table)
    assert (row.covered, row.lag_snapshots, row.data_files) == (False, 1, 4)
    assert (row.files_covered, row.files_total, row.snapshots_covered, row.snapshots_total) == (4, 5, 1, 2)
    assert row.problem.startswith("the index is 1 snapshots behind the table: ")


def test_status_says_what_is_wrong_with_the_store(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.broken", files=2)
    product.build(spark, table)
    for version in product.store_files(tables.location(spark, table), "versions/*"):
        version.write_bytes(version.read_bytes()[:-3])
        (version.parent / f".{version.name}.crc").unlink(missing_ok=True)
    row = product.status(spark, table)
    assert row.covered is True  # memory covers it
    assert row.problem.startswith("the stored index is damaged: ") and row.verdict.startswith("damaged: ")
    product.build(spark, table)
    assert product.status(spark, table).problem == ""


def test_status_shows_damaged_segments_that_no_query_has_read(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.cut", files=2)
    for harm in (lambda path: path.write_bytes(path.read_bytes()[:-3]), lambda path: path.unlink()):
        product.build(spark, table)
        assert product.status(spark, table).verdict == "fresh"
        before = product.store_files(tables.location(spark, table), "segments/*/*")
        for segment in before:
            (segment.parent / f".{segment.name}.crc").unlink(missing_ok=True)
            harm(segment)
        row = product.status(spark, table)
        assert row.covered is True  # memory covers it
        assert row.verdict.startswith("damaged: segment segments/") and before, row.verdict
        assert row.problem == f"the stored index is {row.verdict}"
    product.build(spark, table)
    assert product.status(spark, table).verdict == "fresh"


def test_prewarm_says_what_it_read(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.warmed", files=4)
    product.build(spark, table)
    row = product.call(spark, "prewarm_index", table, ", hours => 24, columns => array('id')")[0]
    assert (row.snapshot_id, row.segments) == (tables.snapshot_id(spark, table), 1)
    assert 0 < row.bytes <= product.status(spark, table).memory_bytes
    assert product.call(spark, "prewarm_index", table)[0].bytes >= row.bytes


def test_build_changes_nothing_of_the_table(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.untouched")
    location = Path(tables.location(spark, table))

    def state():
        loaded = tables.java_table(spark, table)
        return (
            [s.snapshotId() for s in loaded.snapshots()],
            dict(loaded.properties()),
            tables.metadata_files(str(location)),
            sorted(p.name for p in (location / "data").iterdir()),
            loaded.operations().current().metadataFileLocation(),
        )

    before = state()
    product.build(spark, table)
    spark.sql(f"SELECT * FROM {table} WHERE id = 3").collect()
    product.refresh(spark, table)
    product.status(spark, table)
    assert state() == before
    assert {p.name for p in location.iterdir()} - {"data", "metadata"} == {"_zonemaps_v2"}
    product.drop(spark, table)
    assert state() == before
    assert product.store_files(str(location)) == []


def test_drop_lists_first_then_deletes(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.dropped", files=3)
    product.build(spark, table)
    location = tables.location(spark, table)
    held = {p.name for p in product.store_files(location)}
    dry = product.drop(spark, table, dry_run=True)
    assert {Path(p).name for p in dry} == held
    assert {p.name for p in product.store_files(location)} == held
    assert set(product.drop(spark, table)) == set(dry)
    assert product.store_files(location) == []
    assert product.status(spark, table).covered is False
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 3")) == 1
    assert product.drop(spark, table) == []


def test_the_next_query_indexes_a_dropped_table_again_in_memory_unless_upkeep_is_off(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.dropped_again", files=3)
    query = f"SELECT * FROM {table} WHERE id = 3"
    for upkeep, covered in (("off", False), ("auto", True)):
        with product.raw_conf(spark, {"spark.sql.zonemap.upkeep.mode": upkeep}):
            product.build(spark, table)
            product.drop(spark, table)
            assert len(spark.sql(query).collect()) == 1
            assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
            assert product.status(spark, table).covered is covered, upkeep
            assert product.store_files(tables.location(spark, table)) == []


def test_the_removal_of_orphan_files_leaves_the_index(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.orphans", files=3)
    product.build(spark, table)
    location = Path(tables.location(spark, table))
    orphan = location / "data" / "orphan.parquet"
    orphan.write_bytes(b"no file of the table")
    held = {file: file.read_bytes() for file in product.store_files(str(location))}
    long_ago = time.time() - 90 * 86_400
    for file in [orphan, *held]:
        os.utime(file, (long_ago, long_ago))
    removed = spark.sql(f"CALL lake.system.remove_orphan_files(table => '{table}')").collect()
    assert [Path(row[0]).name for row in removed] == [orphan.name] and not orphan.exists()
    assert held and {file: file.read_bytes() for file in product.store_files(str(location))} == held


def test_drop_after_history_leaves_no_file(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.history", files=2)
    for i in range(4):
        product.refresh(spark, table) if i else product.build(spark, table)
        tables.append(spark, table, tables.ranges(1, 10, 100 + 10 * i), tables.RANGES_DDL)
    product.drop(spark, table)
    assert product.store_files(tables.location(spark, table)) == []


def test_building_twice_is_harmless(spark, lake) -> None:
    table = tables.range_table(spark, "lake.proc.twice", files=3)
    first = product.build(spark, table)
    size = len(product.store_files(tables.location(spark, table)))
    second = product.build(spark, table)
    assert first.snapshot_id == second.snapshot_id
    assert len(product.store_files(tables.location(spark, table))) == size
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 3")) == 1


def test_empty_table(spark, lake) -> None:
    table = tables.create(spark, "lake.proc.empty", tables.RANGES_DDL)
    row = product.status(spark, table)
    assert (row.covered, row.problem) == (False, "the table has no snapshot")
    for row in (product.build(spark, table), product.refresh(spark, table)):
        assert (row.snapshot_id, row.data_files, row.delete_files, row.segments, row.bytes) == (-1, 0, 0, 0, 0)
    assert {row.segments_after for row in product.call(spark, "compact_index", table)} == {0}
    assert zonemap.Index(spark, table).build().snapshot_id == -1
    assert product.store_files(tables.location(spark, table)) == []


def test_names_with_control_characters(spark, lake) -> None:
    name = "lake.proc.`odd\tname\x01and\nmore`"
    tables.range_table(spark, name, files=2)
    assert zonemap.Index(spark, name).build().data_files == 2
    assert zonemap.Index(spark, name).status().covered
    assert_planned_by_index(spark, f"SELECT * FROM {name} WHERE id = 3")
    assert zonemap.Index(spark, name).drop(dry_run=False).paths


def test_positional_argument_and_quoted_names(spark, lake) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.`odd name`")
    tables.range_table(spark, "lake.`odd name`.`t-1`", files=2)
    row = spark.sql("CALL zonemap.system.build_index('lake.`odd name`.`t-1`')").collect()[0]
    assert row.data_files == 2
    assert_planned_by_index(spark, "SELECT * FROM lake.`odd name`.`t-1` WHERE id = 3")


def test_table_name_resolves_in_the_current_catalog(spark, lake) -> None:
    tables.range_table(spark, "lake.proc.current", files=2)
    spark.sql("USE lake.proc")
    try:
        assert spark.sql("CALL zonemap.system.index_status(table => 'current')").collect()[0].covered is False
        assert spark.sql("CALL zonemap.system.build_index(table => 'proc.current')").collect()[0].data_files == 2
    finally:
        spark.sql("USE spark_catalog.default")


# call -> words the error must hold
ERRORS = {
    "unknown table": ("build_index(table => 'lake.proc.nowhere')", ["lake.proc.nowhere"]),
    "unknown catalog": ("build_index(table => 'sea.proc.nowhere')", ["sea"]),
    "not Iceberg": ("build_index(table => 'spark_catalog.default.plain')", ["plain", "Iceberg"]),
    "a view": ("build_index(table => 'looked_at')", ["looked_at"]),
    "a metadata table": ("build_index(table => 'lake.q.fact.snapshots')", ["snapshots"]),
    "unknown argument": ("build_index(tabel => 'lake.q.fact')", ["tabel"]),
    "no argument": ("build_index()", ["table"]),
    "unknown column": ("prewarm_index(table => 'lake.q.fact', columns => array('nope'))", ["nope", "lake.q.fact"]),
    "negative hours": ("prewarm_index(table => 'lake.q.fact', hours => -1)", ["hours"]),
    "wrong type": (
        "drop_index(table => 'lake.q.fact', dry_run => 'perhaps')",
        # Spark 3.5 compares the types alone, in Iceberg's extensions
        ["perhaps"] if SPARK >= (4, 0) else ["dry_run", "StringType", "BooleanType"],
    ),
    "unknown procedure": ("bild(table => 'lake.q.fact')", ["bild"]),
    "empty name": ("index_status(table => '')", []),
    # NULL is the default of index_status, which then lists tables
    "null name": ("build_index(table => CAST(NULL AS STRING))", ["table"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_name_the_mistake(spark, lake, case: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS spark_catalog.default.plain (id INT) USING parquet")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW looked_at AS SELECT 1 AS id")
    if SPARK < (4, 0) and case == "null name":
        pytest.skip("Spark 3.5: expressions as arguments of `CALL`, other than literals, arrays and maps of them")
    call, words = ERRORS[case]
    with pytest.raises(Exception) as caught:
        spark.sql(f"CALL zonemap.system.{call}").collect()
    first = str(caught.value).split("\n")[0]
    for word in words:
        assert word in first, first
    for raw in ("NullPointerException", "ClassCastException", "MatchError", "INTERNAL_ERROR"):
        assert raw not in str(caught.value)[:2000]


#: call of the Python package -> words of the sentence
PYTHON_ERRORS = {
    "unknown table": (
        lambda spark: zonemap.Index(spark, "lake.proc.nowhere").build(),
        "Cannot build the index of 'lake.proc.nowhere': ",
    ),
    "unknown catalog": (lambda spark: zonemap.Index(spark, "sea.proc.nowhere").status(), "sea"),
    "unknown column": (lambda spark: zonemap.Index(spark, "lake.q.fact").prewarm(columns=["nope"]), "nope"),
    "unknown fact": (lambda spark: zonemap.Index(spark, "lake.q.fact").build(facts=["guess(id)"]), "guess"),
}


@pytest.mark.parametrize("shown", ["true", "false"])
@pytest.mark.parametrize("case", PYTHON_ERRORS)
def test_errors_of_the_python_package_are_a_sentence_with_the_trace_beside_it(
    spark, lake, case: str, shown: str
) -> None:
    call, words = PYTHON_ERRORS[case]
    spark.conf.set("spark.sql.pyspark.jvmStacktrace.enabled", shown)
    try:
        with pytest.raises(zonemap.ProcedureError) as caught:
            call(spark)
    finally:
        spark.conf.unset("spark.sql.pyspark.jvmStacktrace.enabled")
    assert words in str(caught.value) and "\n" not in str(caught.value)
    assert "at zonemap.spark" in caught.value.java_trace
    assert "\tat " not in "".join(traceback.format_exception(caught.value))
