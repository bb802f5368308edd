# SPDX-License-Identifier: Apache-2.0
"""Conditions on functions of a column, as users write them: files read, and the same rows as without the product."""

from __future__ import annotations

import pytest
from support import plans, product, session, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows, explain
from support.session import STOCK

FILES = 12
TABLE = "lake.functions.months"


@pytest.fixture(scope="module")
def months(base) -> str:
    """A table with one file per month of 2025, ten rows each: day d of the month at noon UTC; ids ascend."""
    spark = session.get()
    columns = "id BIGINT, day DATE, ts TIMESTAMP, name STRING, amount DOUBLE"
    tables.create(spark, TABLE, columns)
    for month in range(1, FILES + 1):
        spark.sql(
            f"""INSERT INTO {TABLE} SELECT /*+ COALESCE(1) */ {month * 100} + id, make_date(2025, {month}, CAST(id AS INT) + 10),
                CAST(make_date(2025, {month}, CAST(id AS INT) + 10) AS TIMESTAMP) + INTERVAL 12 HOURS,
                concat('{chr(96 + month)}', id), {month} + id / 10 FROM range(10)"""
        )
    product.build(spark, TABLE)
    return TABLE


# condition: number of files read, of twelve
CASES = {
    "year(ts) = 2024": 0,
    "year(day) = 2025 AND month(day) = 3": 1,
    "date_trunc('MONTH', ts) = TIMESTAMP'2025-04-01'": 1,
    "trunc(day, 'QUARTER') = DATE'2025-04-01'": 3,
    "date_format(ts, 'yyyy-MM-dd') = '2025-07-11'": 1,
    "date_add(day, 7) > DATE'2025-12-20'": 1,
    "CAST(id AS INT) + 1 = 706": 1,
    "100 - id > -5": 1,
    "left(name, 1) IN ('a', 'l')": 2,
    "substring(name, 1, 1) < 'b'": 1,
    "floor(amount) = 7": 1,
    "coalesce(amount, 0D) * 2 > 25": 1,
    "CASE WHEN id < 600 THEN 'early' ELSE 'late' END = 'early'": 5,
    "id + 1 = 706 AND length(name) = 2": 1,
    "id + 1 = 706 OR left(name, 1) = 'a'": 2,
    "length(name) = 3": FILES,
    "id + amount < 112": 1,
    "id * id < 12100": 1,
    "greatest(id, amount * 200) < 210": 1,
    "datediff(day, to_date(ts)) > 9": 0,
    "months_between(ts, TIMESTAMP'2025-01-01') < 0.7": 1,
    "dayofmonth(day) = 25": 0,
    "make_date(year(day), month(day), 10) = DATE'2025-03-10'": 1,
    "concat(name, name) IS NULL": 0,
    "hour(ts) = 13": FILES,
}


@pytest.mark.parametrize("condition", CASES)
def test_files_read_and_rows(spark, months, condition: str) -> None:
    query = f"SELECT * FROM {months} WHERE {condition}"
    assert_rows_equal_off_on(spark, query)
    if not STOCK:
        assert len(plans.planned_files(spark.sql(query))) == CASES[condition]


def test_comparisons_with_null_that_the_optimizer_leaves(spark, months) -> None:
    """Such a comparison is NULL for every row; by default the optimizer replaces it by NULL."""
    rules = [f"org.apache.spark.sql.catalyst.optimizer.{name}" for name in ("NullPropagation", "OptimizeIn")]
    with product.raw_conf(spark, {"spark.sql.optimizer.excludedRules": ",".join(rules)}):
        for condition in ("(id + 1 > CAST(NULL AS BIGINT)) IS NULL", "coalesce(id > CAST(NULL AS BIGINT), true)"):
            assert_rows_equal_off_on(spark, f"SELECT id FROM {months} WHERE {condition}", at_least=FILES * 10)


def test_no_value_is_in_an_empty_list(spark) -> None:
    """NOT IN of an empty list is TRUE for null too; by default the optimizer replaces it by TRUE."""
    from pyspark.sql.functions import col

    table = tables.create(spark, "lake.functions.nulls", "id BIGINT, n INT")
    tables.append(spark, table, [[(1, 1)], [(2, None)]], "id BIGINT, n INT")
    product.build(spark, table)
    rule = "org.apache.spark.sql.catalyst.optimizer.OptimizeIn"
    legacy = "spark.sql.legacy.nullInEmptyListBehavior"  # the default of Spark 3.5
    with product.raw_conf(spark, {"spark.sql.optimizer.excludedRules": rule, legacy: "false"}):
        frame = spark.table(table).where(~(col("n") + 1).isin([]))
        assert sorted(row.id for row in frame.collect()) == [1, 2]


def test_switched_off_every_file_is_read(spark, months) -> None:
    query = f"SELECT * FROM {months} WHERE id + 1 = 706"
    with product.raw_conf(spark, {"spark.sql.zonemap.expressions.enabled": "false"}):
        assert len(plans.planned_files(spark.sql(query))) == FILES
        assert_rows_equal_off_on(spark, query, at_least=1)


def test_python_functions_are_left_alone(spark, months) -> None:
    from pyspark.sql.functions import col, udf

    plus_one = udf(lambda v: v + 1, "bigint")
    frame = spark.table(months).where((plus_one(col("id")) == 706) & (col("id") + 1 == 706))
    assert [row.id for row in frame.collect()] == [705]


@pytest.mark.skipif(STOCK, reason="asserts what the product shows")
def test_explain_names_python_functions_beside_conditions_that_prune(spark, months) -> None:
    spark.udf.register("py_plus_one", lambda v: v + 1, "bigint")
    section = explain(spark, f"SELECT * FROM {months} WHERE py_plus_one(id) = 706 AND id + 1 = 706")
    unused = [line for line in section.splitlines() if "not used, CONDITION_USER_FUNCTION (py_plus_one is " in line]
    assert len(unused) == 1 and "py_plus_one(id)" in unused[0]
    assert "condition ((id + 1L) = 706L): used as id IN [705, 706)" in section


#: condition on the dates and texts of `odd`: a policy under which rows match that do not match under the other
POLICIES = {
    "date_format(ts, 'EEE dd') = 'Thu 04'": "LEGACY",
    "date_format(ts, 'yyyy-MM-dd') = '1582-10-10'": "CORRECTED",
    "CAST(day AS STRING) = '1582-10-10'": "CORRECTED",
    "try_to_timestamp(name, 'yyyy-MM-dd') IS NOT NULL": "LEGACY",
    "unix_timestamp(name, 'yyyy-MM-dd') IS NULL": "CORRECTED",
}


@pytest.fixture(scope="module")
def odd(base) -> str:
    """A table with one file per day around the change of calendars, each with one day and one text."""
    spark = session.get()
    table = "lake.functions.odd"
    tables.create(spark, table, "id BIGINT, day DATE, ts TIMESTAMP, name STRING")
    spark.sql(
        f"""INSERT INTO {table} SELECT id, date_add(DATE'1582-10-01', CAST(id AS INT)), TIMESTAMP'1582-10-01 12:00:00'
            + make_dt_interval(CAST(id AS INT)), concat('2026-2-', id + 1) FROM range(0, 20, 1, 20)"""
    )
    product.build(spark, table)
    return table


@pytest.mark.parametrize("condition", POLICIES)
def test_a_frame_that_runs_under_other_confs_than_it_was_planned_under(spark, odd, condition: str) -> None:
    policy = "spark.sql.legacy.timeParserPolicy"
    late = POLICIES[condition]
    early = "CORRECTED" if late == "LEGACY" else "LEGACY"

    def rows():
        with product.raw_conf(spark, {policy: early, "spark.sql.ansi.enabled": "false"}):
            frame = spark.sql(f"SELECT * FROM {odd} WHERE {condition}")
            before = frame.collect()
            spark.conf.set(policy, late)
            return before, frame.collect()

    with product.off(spark):
        expected = rows()
    with product.on(spark):
        actual = rows()
    assert len(expected[1]) > len(expected[0])
    for ours, theirs in zip(actual, expected, strict=True):
        assert_same_rows(ours, theirs, condition)
