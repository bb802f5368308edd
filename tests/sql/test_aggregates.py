# SPDX-License-Identifier: Apache-2.0
"""COUNT, MIN and MAX: files read with and without answers from the index, and rows equal to Iceberg's rows."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.session import STOCK

SWITCH = "spark.sql.zonemap.aggregates.enabled"

# query: number of files read with answers from the index, number of files planned without them
QUERIES = {
    "SELECT count(*), min(id), max(id) FROM lake.q.fact WHERE id >= 25": (1, 6),
    "SELECT count(*) FROM lake.q.fact WHERE id BETWEEN 20 AND 59": (0, 4),
    "SELECT m, count(*), max(id) FROM lake.q.part GROUP BY m": (0, 80),
    "SELECT DISTINCT m FROM lake.q.part WHERE id < 44": (0, 44),
    "SELECT sum(id) FROM lake.q.fact WHERE id >= 25": (6, 6),
}


@pytest.mark.parametrize("query", QUERIES)
def test_files_read(spark, lake, query: str) -> None:
    read, planned = QUERIES[query]
    assert_rows_equal_off_on(spark, query)
    with product.raw_conf(spark, {SWITCH: "false"}):
        before = len(plans.planned_tasks(spark.sql(query)))
    after = len(plans.planned_tasks(spark.sql(query)))
    assert STOCK or (after, before) == (read, planned)


def test_explain_and_deletes(spark, lake) -> None:
    table = tables.range_table(spark, "lake.opt.answered", props={"write.delete.mode": "merge-on-read"})
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id = 77")
    query = f"SELECT count(*), max(id) FROM {table} WHERE id >= 15"
    assert tuple(assert_rows_equal_off_on(spark, query)[0]) == (64, 79)
    if not STOCK:
        assert "aggregates: 5 of 7 files answered from the index, 2 read" in explain(spark, query)
    # without a filter, Iceberg computes the aggregate from metadata, unless there is a delete file
    query = f"SELECT count(*), min(id), max(id) FROM {table}"
    assert tuple(assert_rows_equal_off_on(spark, query)[0]) == (79, 0, 79)
    if not STOCK:
        assert "aggregates: 7 of 8 files answered from the index, 1 read" in explain(spark, query)


#: GROUP BY a function of `ts`, on a table partitioned by days(ts) in UTC, with eight rows within eight minutes a file.
DAYS = ("date(ts)", "to_date(ts)", "CAST(ts AS DATE)", "date_trunc('day', ts)", "date_format(ts, 'yyyy-MM-dd')")


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_groups_by_the_day_of_a_timestamp(spark, lake, day: str, zone: str) -> None:
    """The rows of each file are on one day in both zones, though in Los Angeles on the day before."""
    query = f"SELECT {day} AS d, count(*) AS c, max(id) AS top FROM lake.q.days GROUP BY 1"
    with product.raw_conf(spark, {"spark.sql.session.timeZone": zone}):
        assert len(assert_rows_equal_off_on(spark, query)) == 6
        assert STOCK or plans.planned_tasks(spark.sql(query)) == []
        filtered = f"SELECT {day} AS d, min(id) FROM lake.q.days WHERE id >= 104 GROUP BY {day}"
        assert len(assert_rows_equal_off_on(spark, filtered)) == 5
        assert STOCK or len(plans.planned_tasks(spark.sql(filtered))) == 1


@pytest.fixture(scope="module")
def whole_days(base) -> str:
    """Five files of the hours of one UTC day each; the last has a row without a time."""
    from support import session

    spark = session.get()
    table = tables.create(
        spark, "lake.opt.whole_days", "id BIGINT, ts TIMESTAMP, wall TIMESTAMP_NTZ", partitioned="days(ts)"
    )
    hours = [[(day * 24 + hour, (19_000 + day) * 86_400 + hour * 3_600) for hour in range(24)] for day in range(5)]
    select = ("id", "timestamp_seconds(sec) AS ts", "CAST(timestamp_seconds(sec) AS TIMESTAMP_NTZ) AS wall")
    tables.append(spark, table, hours, "id BIGINT, sec BIGINT", select=select)
    spark.sql(f"INSERT INTO {table} VALUES (900, NULL, NULL)")
    product.build(spark, table)
    return table


# key and time zone: files read of the six
ZONES = {
    ("date(ts)", "UTC"): 0,
    ("date_trunc('day', ts)", "UTC"): 0,
    ("date_trunc('month', ts)", "UTC"): 0,
    ("year(ts)", "UTC"): 0,
    ("date(wall)", "UTC"): 0,
    ("date(wall)", "Asia/Kathmandu"): 0,
    ("year(ts)", "Asia/Kathmandu"): 0,
    ("date(ts), date_trunc('month', ts)", "UTC"): 0,
    ("date(ts) + INTERVAL '1' DAY", "UTC"): 0,
    # only the file without a time is in one group
    ("date(ts)", "Asia/Kathmandu"): 5,
    ("date_trunc('hour', ts)", "UTC"): 5,
    ("date_trunc('day', ts)", "America/Los_Angeles"): 5,
    ("date(ts), id", "UTC"): 5,
    # no monotone function of one column
    ("hour(ts)", "UTC"): 6,
    ("date(coalesce(ts, timestamp'2020-01-01'))", "UTC"): 6,
}


@pytest.mark.parametrize(("key", "zone"), ZONES)
def test_groups_by_functions_in_time_zones(spark, whole_days, key: str, zone: str) -> None:
    query = f"SELECT {key}, count(*), min(id), max(id) FROM {whole_days} GROUP BY {key}"
    with product.raw_conf(spark, {"spark.sql.session.timeZone": zone}):
        assert_rows_equal_off_on(spark, query, at_least=2)
        assert STOCK or len(plans.planned_tasks(spark.sql(query))) == ZONES[key, zone]


def test_a_day_that_a_clock_enters_twice_is_no_group_of_its_file(spark, lake) -> None:
    """In St. John's the clock went from 0:01 back to 23:01 of the day before, until 2011."""
    table = tables.create(spark, "lake.opt.twice_entered", "id BIGINT, ts TIMESTAMP")
    # 0:00:30 of 7 November 2010 for the first time, 23:30 of the 6th for the second time, 0:10 of the 7th
    first = 1_289_097_030
    rows = [[(0, first), (1, first + 30 + 29 * 60), (2, first + 30 + 69 * 60)]]
    tables.append(spark, table, rows, "id BIGINT, sec BIGINT", select=("id", "timestamp_seconds(sec) AS ts"))
    spark.sql(f"INSERT INTO {table} SELECT 3, timestamp_seconds({first + 100_000})")
    product.build(spark, table)
    query = f"SELECT date(ts), count(*) FROM {table} GROUP BY date(ts)"
    with product.raw_conf(spark, {"spark.sql.session.timeZone": "America/St_Johns"}):
        found = assert_rows_equal_off_on(spark, query)
    assert sorted((str(day), count) for day, count in found) == [
        ("2010-11-06", 1),
        ("2010-11-07", 2),
        ("2010-11-08", 1),
    ]


@pytest.mark.skipif(STOCK, reason="about the product")
def test_why_groups_by_a_function_are_read(spark, lake) -> None:
    table = tables.create(spark, "lake.opt.mixed_days", "id BIGINT, ts TIMESTAMP", partitioned="days(ts)")
    rows = [[(day * 24 + hour, (19_000 + day) * 86_400 + hour * 3_600) for hour in range(24)] for day in range(3)]
    tables.append(spark, table, rows, "id BIGINT, sec BIGINT", select=("id", "timestamp_seconds(sec) AS ts"))
    product.build(spark, table)
    query = f"SELECT date(ts), count(*) FROM {table} GROUP BY date(ts)"
    with product.raw_conf(spark, {"spark.sql.session.timeZone": "Asia/Kathmandu"}):
        told = explain(spark, query)
        assert "AGGREGATE_SEVERAL_GROUPS (3 of 3 planned files may hold several values of CAST(ts AS DATE)" in told
        assert len(assert_rows_equal_off_on(spark, query)) == 4
    told = explain(spark, f"SELECT hour(ts), count(*) FROM {table} GROUP BY hour(ts)")
    assert "AGGREGATE_GROUPING (hour(ts)" in told
