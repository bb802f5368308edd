# SPDX-License-Identifier: Apache-2.0
"""Joins whose files are pruned at plan time, by the rows of a small table that satisfy its filter."""

from __future__ import annotations

import pytest
from support import iceberg_api, plans, product, session, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows, explain
from support.session import STOCK

FILES = 32
STATIC_ONLY = {"spark.sql.zonemap.join.runtime.enabled": "false"}
SMALL = "spark.sql.zonemap.join.smallTables."


@pytest.fixture(autouse=True)
def static_only(spark):
    with product.raw_conf(spark, STATIC_ONLY):
        yield


@pytest.fixture(scope="module")
def days(star) -> str:
    """One file: a day for each id of fact, its week of ten days and its quarter of eight weeks. Week w is file w."""
    spark = session.get()
    table = tables.create(spark, "lake.joins.days", "day_id BIGINT, week INT, quarter INT, label STRING")
    rows = [(i, i // 10, i // 80, f"day {i % 10}") for i in range(FILES * 10)]
    tables.append(spark, table, [rows], "day_id BIGINT, week INT, quarter INT, label STRING")
    product.build(spark, table)
    return table


def fact_files(spark, query: str, table: str = "fact") -> int:
    return sum(f"/{table}/" in path for path in plans.planned_tasks(spark.sql(query)))


# query: number of files of fact planned, of 32. `one` has a row for each eighth id, with tier = id % 5
PRUNES = {
    "another column": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.tier = 3", 8),
    "a function": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE upper(d.name) = 'N160'", 1),
    "arithmetic": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.k * 2 + 1 IN (17, 33, 417)", 3),
    "disjunction": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.name = 'n8' OR d.k % 300 = 4", 2),
    "case": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE CASE WHEN d.tier = 1 THEN d.i < 90 ELSE FALSE END",
        2,
    ),
    "semi": ("SELECT id FROM {s}.fact WHERE id IN (SELECT k FROM {s}.one WHERE tier = 3)", 8),
    "exists": ("SELECT id FROM {s}.fact f WHERE EXISTS (SELECT 1 FROM {s}.one d WHERE d.k = f.id AND d.tier = 3)", 8),
    "optional side": ("SELECT f.id, d.k FROM {s}.one d LEFT JOIN {s}.fact f ON f.id = d.k WHERE d.tier = 3", 8),
    "text key": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.s = d.s WHERE d.tier = 3", 8),
    "date key": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.day = d.day WHERE d.tier = 3", 8),
    "decimal key": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.m = d.m WHERE d.tier = 3", 8),
    "double key": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.x = d.x WHERE d.tier = 3", 8),
    "int and bigint": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.i WHERE d.tier = 3", 8),
    "no row": ("SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.tier = 3 AND d.name = 'n16'", 0),
    "two keys": (
        "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k AND f.i = d.i WHERE d.tier = 3 AND d.x < 25",
        3,
    ),
    "below a grouping": (
        "SELECT f.id FROM {s}.fact f JOIN (SELECT k, max(x) x FROM {s}.one WHERE tier = 3 GROUP BY k) d ON f.id = d.k",
        8,
    ),
    "a filter above a grouping": (
        "SELECT f.id FROM {s}.fact f JOIN (SELECT k, count(*) n FROM {s}.one WHERE tier = 3 GROUP BY k HAVING n > 0) d ON f.id = d.k",
        8,
    ),
    "all rows of a short list": (
        "SELECT f.id FROM {s}.fact f JOIN (SELECT k, count(*) n FROM {s}.one WHERE k IN (8, 240) GROUP BY k) d ON f.id = d.k",
        2,
    ),
    "week of a day": (
        "SELECT f.id FROM {s}.fact f JOIN {d} d ON f.id = d.day_id JOIN {d} e ON d.week = e.week WHERE e.label = 'day 3' AND e.day_id = 153",
        1,
    ),
    "weeks below a grouping": (
        "SELECT * FROM (SELECT week, sum(x) FROM {s}.fact JOIN {d} ON id = day_id GROUP BY week) w "
        "JOIN {d} e ON w.week = e.week WHERE e.quarter = 2",
        8,
    ),
    "weeks below a union": (
        "SELECT * FROM (SELECT week, sum(x) FROM (SELECT id, x FROM {s}.fact UNION ALL SELECT k, x FROM {s}.one) u "
        "JOIN {d} ON id = day_id GROUP BY week) w JOIN {d} e ON w.week = e.week WHERE e.quarter = 2",
        8,
    ),
    "weeks of a subquery": (
        "SELECT f.id FROM {s}.fact f JOIN {d} d ON f.id = d.day_id "
        "WHERE d.week IN (SELECT week FROM {d} WHERE label = 'day 3' AND quarter = 0)",
        8,
    ),
    "days without a row": (
        "SELECT d.day_id FROM {d} d LEFT ANTI JOIN {s}.fact f ON d.day_id = f.id AND f.x < 100 AND f.i % 3 > 0 "
        "JOIN {d} e ON d.week = e.week WHERE e.day_id IN (153, 171, 318)",
        3,
    ),
    "the optional side of a left join": (
        "SELECT d.day_id, f.id FROM {d} d LEFT JOIN {s}.fact f ON d.day_id = f.id JOIN {d} e ON d.week = e.week "
        "WHERE e.day_id IN (153, 171)",
        2,
    ),
    "a second key of the join": (
        "SELECT f.id FROM {s}.fact f JOIN {d} e ON f.sk + 10 >= e.day_id JOIN {d} d ON f.id = d.day_id AND d.week = e.week "
        "WHERE e.label = 'day 3' AND e.quarter = 0",
        8,
    ),
}


@pytest.mark.parametrize("case", PRUNES)
def test_files_are_left_out(spark, star, days, case: str) -> None:
    query, files = PRUNES[case][0].format(s=star, d=days), PRUNES[case][1]
    assert_rows_equal_off_on(spark, query, at_least=1 if files else 0)
    if not STOCK:
        assert fact_files(spark, query) == files, explain(spark, query)


KEEPS = {
    "every file has a row": "SELECT f.id FROM {s}.fact f JOIN {d} d ON f.id = d.day_id WHERE d.label = 'day 3'",
    "anti": "SELECT f.id FROM {s}.fact f LEFT ANTI JOIN {s}.one d ON f.id = d.k AND d.tier = 3",
    "kept side": "SELECT f.id, d.k FROM {s}.fact f LEFT JOIN {s}.one d ON f.id = d.k AND d.tier = 3",
    "full outer": "SELECT f.id, d.k FROM {s}.fact f FULL JOIN (SELECT * FROM {s}.one WHERE tier = 3) d ON f.id = d.k",
    "null safe": "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id <=> d.k WHERE d.tier = 3",
    "a condition of a sum": (
        "SELECT f.id FROM {s}.fact f JOIN (SELECT k, sum(tier) t FROM {s}.one GROUP BY k HAVING t >= 0) d ON f.id = d.k"
    ),
    "a random condition": "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.tier + rand() >= 0",
    "a chain that an outer join ends": (
        "SELECT f.id, e.week FROM {s}.fact f LEFT JOIN {d} d ON f.id = d.day_id "
        "LEFT JOIN {d} e ON d.week = e.week AND e.quarter = 2"
    ),
    "a chain below an anti join": (
        "SELECT f.id FROM {s}.fact f LEFT ANTI JOIN (SELECT d.day_id FROM {d} d JOIN {d} e ON d.week = e.week "
        "WHERE e.quarter = 2) g ON f.id = g.day_id"
    ),
}


@pytest.mark.parametrize("case", KEEPS)
def test_files_are_kept(spark, star, days, case: str) -> None:
    query = KEEPS[case].format(s=star, d=days)
    assert_rows_equal_off_on(spark, query, at_least=1)
    assert fact_files(spark, query) == FILES, explain(spark, query)


BY_TIER = "SELECT f.id FROM {s}.fact f JOIN {s}.one d ON f.id = d.k WHERE d.tier = 3"


@pytest.mark.parametrize("conf", [("enabled", "false"), ("maxRows", "39")])
def test_switched_off_and_too_many_rows(spark, star, conf: tuple[str, str]) -> None:
    query = BY_TIER.format(s=star)
    with product.raw_conf(spark, {SMALL + conf[0]: conf[1]}):
        assert fact_files(spark, query) == FILES
    if not STOCK:
        assert fact_files(spark, query) == 8


def test_what_is_told(spark, star) -> None:
    if STOCK:
        pytest.skip("asserts the product's text")
    assert "join pruning on id: 32 -> 8 files" in explain(spark, BY_TIER.format(s=star))


def dimension(spark, name: str, *, version: int = 2) -> str:
    """Creates a table of one file with the keys 0, 8, ..., 312, whose `kind` is the key mod 5 as text."""
    props = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
    table = tables.create(spark, f"lake.joins.{name}", "k BIGINT, kind STRING", version=version, props=props)
    tables.append(spark, table, [[(k, f"kind {k % 5}") for k in range(0, 320, 8)]], "k BIGINT, kind STRING")
    product.build(spark, table)
    return table


def check(spark, star: str, query: str, files: int) -> list:
    """Compares the rows of a join with `fact f`, and the number of files of `fact`, twice."""
    query = f"SELECT f.id FROM {star}.fact f JOIN {query}"
    for _ in range(2):
        rows = assert_rows_equal_off_on(spark, query)
        assert STOCK or fact_files(spark, query) == files, explain(spark, query)
    return rows


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_and_changed_rows(spark, star, version: int) -> None:
    dim = dimension(spark, f"deleted{version}", version=version)
    join = f"{dim} d ON f.id = d.k WHERE d.kind = 'kind 3'"
    assert len(check(spark, star, join, 8)) == 8
    spark.sql(f"DELETE FROM {dim} WHERE k IN (8, 48)")
    assert len(check(spark, star, join, 6)) == 6
    spark.sql(f"UPDATE {dim} SET kind = 'kind 3' WHERE k = 16")
    assert len(check(spark, star, join, 7)) == 7
    tables.append(spark, dim, [[(319, "kind 3")]], "k BIGINT, kind STRING")
    assert len(check(spark, star, join, 8)) == 8


def test_rows_deleted_by_a_value(spark, star) -> None:
    dim = dimension(spark, "by_value")
    iceberg_api.equality_delete(spark, dim, "kind", ["kind 1"])
    product.build(spark, dim)
    assert len(check(spark, star, f"{dim} d ON f.id = d.k WHERE d.kind IN ('kind 1', 'kind 3')", 8)) == 8
    assert check(spark, star, f"{dim} d ON f.id = d.k WHERE d.kind = 'kind 1'", 0) == []


def test_columns_that_were_renamed_and_added_again(spark, star) -> None:
    dim = dimension(spark, "evolved")
    join = f"{dim} d ON f.id = d.k WHERE d.kind = 'kind 3'"
    assert len(check(spark, star, join, 8)) == 8
    spark.sql(f"ALTER TABLE {dim} RENAME COLUMN kind TO old")
    spark.sql(f"ALTER TABLE {dim} ADD COLUMN kind STRING")
    assert check(spark, star, join, 0) == []
    assert len(check(spark, star, f"{dim} d ON f.id = d.k WHERE d.old = 'kind 3' AND d.kind IS NULL", 8)) == 8
    spark.sql(f"ALTER TABLE {dim} DROP COLUMN old")
    tables.append(spark, dim, [[(160, "kind 3")]], "k BIGINT, kind STRING")
    assert len(check(spark, star, join, 1)) == 1


def test_snapshots_and_branches(spark, star) -> None:
    dim = dimension(spark, "versions")
    first = spark.sql(f"SELECT snapshot_id FROM {dim}.snapshots").head()[0]
    spark.sql(f"ALTER TABLE {dim} CREATE BRANCH later")
    spark.sql(f"INSERT INTO {dim}.branch_later VALUES (35, 'kind 3')")
    spark.sql(f"DELETE FROM {dim} WHERE kind = 'kind 3' AND k > 100")
    for version, files in ((first, 8), ("'later'", 9)):
        at = f"(SELECT * FROM {dim} VERSION AS OF {version}) d ON f.id = d.k WHERE d.kind = 'kind 3'"
        check(spark, star, at, files)
    check(spark, star, f"{dim} d ON f.id = d.k WHERE d.kind = 'kind 3'", 3)


def test_a_commit_between_planning_and_reading(spark, star) -> None:
    dim = dimension(spark, "moving")
    query = f"SELECT f.id FROM {star}.fact f JOIN {dim} d ON f.id = d.k WHERE d.kind = 'kind 3'"
    planned = spark.sql(query)
    plans.planned_files(planned)
    before = [(r.id,) for r in planned.collect()]
    tables.append(spark, dim, [[(11, "kind 3")]], "k BIGINT, kind STRING")
    assert [(r.id,) for r in planned.collect()] == before
    assert len(assert_rows_equal_off_on(spark, query)) == len(before) + 1


# conditions of `one` that fail for some rows, or for all
FAILING = {
    "behind another condition": ("d.k <> 160 AND 100 / (d.k - 160) > 1", "true"),
    "as null": ("100 / (d.k - 160) > 1", "false"),
    "within a case": ("CASE WHEN d.k = 160 THEN false ELSE 100 / (d.k - 160) > 1 END", "true"),
    "for all rows": ("d.tier >= 0 OR CAST(d.name AS INT) > 0", "true"),
}


@pytest.mark.parametrize("case", FAILING)
def test_conditions_that_fail_for_a_row(spark, star, case: str) -> None:
    condition, ansi = FAILING[case]
    with product.raw_conf(spark, {"spark.sql.ansi.enabled": ansi}):
        query = f"SELECT f.id FROM {star}.fact f JOIN {star}.one d ON f.id = d.k WHERE {condition}"
        assert_rows_equal_off_on(spark, query, at_least=1)


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Kolkata"])
def test_days_of_times_in_the_zone_of_the_session(spark, star, zone: str) -> None:
    table = tables.create(spark, "lake.joins.times_dim", "k BIGINT, at TIMESTAMP")
    spark.sql(
        f"INSERT INTO {table} SELECT id * 8, TIMESTAMP '2024-01-01 00:00:00Z' + make_interval(0,0,0,0,id*3) FROM range(40)"
    )
    product.build(spark, table)
    with product.raw_conf(spark, {"spark.sql.session.timeZone": zone}):
        query = (
            f"SELECT f.id FROM {star}.fact f JOIN {table} d ON f.id = d.k WHERE CAST(d.at AS DATE) = DATE '2024-01-02'"
        )
        rows = assert_rows_equal_off_on(spark, query, at_least=8)
        assert STOCK or fact_files(spark, query) == len({row.id // 10 for row in rows}) < FILES


# values of a DOUBLE key in one file, and the files of 40 doubles -10.0, -9.5, ... that the join reads, of 40
DOUBLES = {
    "zeros": ("(0.0D, 1), (-0.0D, 1), (77.0D, 0)", 1),
    "nan": ("(double('NaN'), 1), (1.0D, 1), (77.0D, 0)", None),
    "nan of another row": ("(double('NaN'), 0), (1.0D, 1), (2.0D, 1)", 2),
    "nulls": ("(CAST(NULL AS DOUBLE), 1), (1.0D, 1), (77.0D, 0)", 1),
}


@pytest.mark.parametrize("case", DOUBLES)
def test_nan_null_and_zero_keys(spark, star, case: str) -> None:
    values, files = DOUBLES[case]
    fact = tables.create(spark, "lake.joins.halves", "x DOUBLE")
    tables.append(spark, fact, [[(f / 2 - 10,)] for f in range(40)] + [[(float("nan"),)], [(-0.0,)]], "x DOUBLE")
    dim = tables.create(spark, "lake.joins.halves_dim", "x DOUBLE, wanted INT")
    spark.sql(f"INSERT INTO {dim} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    for table in (fact, dim):
        product.build(spark, table)
    query = f"SELECT f.x FROM {fact} f JOIN {dim} d ON f.x = d.x WHERE d.wanted = 1"
    assert_rows_equal_off_on(spark, query, at_least=1)
    if not STOCK:
        read = fact_files(spark, query, "halves")
        # the file of NaN has no count of NaN that proves it free of other values, so it stays
        assert read == 42 if files is None else read <= files + 2, read


def test_commands_change_the_same_rows(spark, star) -> None:
    """A command's source is evaluated as the sources of queries are."""
    dim = dimension(spark, "of_commands")
    rows = []
    for name, state in (("changed_off", product.off), ("changed_on", product.on)):
        target = tables.create(spark, f"lake.joins.{name}", "id BIGINT, n INT")
        tables.append(
            spark, target, [[(i, 0) for i in range(f * 10, f * 10 + 10)] for f in range(32)], "id BIGINT, n INT"
        )
        product.build(spark, target)
        with state(spark):
            spark.sql(f"DELETE FROM {target} WHERE id IN (SELECT k FROM {dim} WHERE kind = 'kind 1')")
            spark.sql(f"UPDATE {target} SET n = 1 WHERE id IN (SELECT k FROM {dim} WHERE kind = 'kind 2')")
            spark.sql(
                f"MERGE INTO {target} t USING (SELECT k + 1 AS k FROM {dim} WHERE kind = 'kind 4') s ON t.id = s.k "
                "WHEN MATCHED THEN UPDATE SET n = 2 WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.k, 3)"
            )
        rows.append(spark.sql(f"SELECT * FROM {target}").collect())
    assert_same_rows(rows[1], rows[0], "commands")


def test_a_name_mapping_that_changes_without_a_snapshot(spark, star) -> None:
    """The rows that are held belong to the metadata that readers use now."""
    dim = dimension(spark, "mapped")
    join = f"{dim} d ON f.id = d.k WHERE d.kind = 'kind 3'"
    check(spark, star, join, 8)
    spark.sql(f"ALTER TABLE {dim} SET TBLPROPERTIES ('schema.name-mapping.default' = '[]')")
    check(spark, star, join, 8)


def test_a_default_of_a_column_that_was_added_later(spark, star) -> None:
    dim = dimension(spark, "defaults", version=3)
    schema = tables.java_table(spark, dim).updateSchema()
    text = spark._jvm.org.apache.iceberg.types.Types.StringType.get()
    schema.addColumn("grade", text, spark._jvm.org.apache.iceberg.expressions.Expressions.lit("new")).commit()
    spark.sql(f"REFRESH TABLE {dim}")
    tables.append(spark, dim, [[(41, "kind 1", "old")]], "k BIGINT, kind STRING, grade STRING")
    assert len(check(spark, star, f"{dim} d ON f.id = d.k WHERE d.grade = 'old'", 1)) == 1
    # Iceberg's reader of Parquet skips files without the column for a filter that it gets, so it gets none
    join = f"{dim} d ON f.id = d.k WHERE concat(d.grade, '') = 'new' AND d.kind = 'kind 3'"
    assert len(check(spark, star, join, 8)) == 8
