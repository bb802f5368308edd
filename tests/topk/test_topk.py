# SPDX-License-Identifier: Apache-2.0
"""ORDER BY x LIMIT k: files read, and rows equal to the rows without the product."""

from __future__ import annotations

import math

import pytest
from support import iceberg_api, plans, product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, bag, canonical, explain
from support.session import STOCK
from support.steps import COLUMNS, FILES, fill, make

TOPK = "spark.sql.zonemap.topK.enabled"


def files_read(spark, query: str) -> int:
    return len(plans.planned_files(spark.sql(query)))


def check(spark, query: str, files: int) -> list:
    """Checks that rows and their order are equal with the index off and on, and the number of planned files."""
    with product.off(spark):
        expected = spark.sql(query).collect()
    frame = spark.sql(query)
    planned = len(plans.planned_files(frame))
    actual = frame.collect()
    assert [canonical(r) for r in actual] == [canonical(r) for r in expected], query
    assert STOCK or planned == files, query
    return actual


# text after SELECT * FROM the table: number of files read, of eight
CASES = {
    "ORDER BY id DESC LIMIT 3": 1,
    "ORDER BY id LIMIT 3": 1,
    "ORDER BY id DESC LIMIT 10": 1,
    "ORDER BY id DESC LIMIT 11": 2,
    "ORDER BY id LIMIT 25": 3,
    "ORDER BY id DESC LIMIT 1 OFFSET 9": 1,
    "ORDER BY id DESC LIMIT 3 OFFSET 9": 2,
    "ORDER BY id DESC NULLS FIRST LIMIT 3": 1,
    "ORDER BY id NULLS LAST LIMIT 3": 1,
    "ORDER BY ts DESC LIMIT 3": 1,
    "ORDER BY dt DESC LIMIT 3": 1,
    "ORDER BY amount DESC LIMIT 3": 1,
    "ORDER BY amount LIMIT 12": 2,
    "ORDER BY d DESC LIMIT 3": 1,
    "ORDER BY f LIMIT 3": 1,
    "ORDER BY s DESC LIMIT 3": 1,
    "ORDER BY s LIMIT 11": 2,
    "ORDER BY n NULLS LAST LIMIT 3": 1,
    "ORDER BY n DESC LIMIT 35": 5,  # the file with nulls is not counted in the cover, but may have first rows
    "ORDER BY n, id LIMIT 3": 2,  # the file with nulls, and the first
    "ORDER BY n DESC NULLS FIRST, id LIMIT 3": 2,
    "ORDER BY g DESC, id LIMIT 5": 2,  # ties at the bound
    "ORDER BY id DESC, m, s LIMIT 3": 1,
    "WHERE id < 45 ORDER BY id DESC LIMIT 3": 2,  # 40 to 44 may or may not be enough
    "WHERE id >= 35 AND s IS NOT NULL ORDER BY id LIMIT 3": 2,
    "WHERE g = '1' ORDER BY id LIMIT 3": 1,
    "WHERE g = '1' AND m < 100 ORDER BY id LIMIT 3": 1,
    "WHERE g IN ('1', '3') ORDER BY id DESC LIMIT 12": 2,
    "WHERE g IN ('1', '3') ORDER BY id DESC LIMIT 21": 3,
    "WHERE NOT (g = '0' OR id > 75) ORDER BY id DESC LIMIT 3": 2,
    "WHERE dt >= DATE'2025-01-21' AND ts IS NOT NULL ORDER BY id LIMIT 3": 1,
    "WHERE length(s) > 3 ORDER BY id LIMIT 3": FILES,
    "WHERE id + 1 > 41 ORDER BY id LIMIT 3": 4,  # the column's ranges are the only help
    "WHERE id > 1000 ORDER BY id LIMIT 3": 0,
    "ORDER BY id LIMIT 80": FILES,
    "ORDER BY id LIMIT 81": FILES,
    "ORDER BY id LIMIT 0": 0,
    "ORDER BY id + 1 LIMIT 3": 1,
    "ORDER BY -id LIMIT 13": 2,
    "ORDER BY id % 7, id LIMIT 3": FILES,
    "ORDER BY id + m LIMIT 3": FILES,
    "ORDER BY to_date(ts) DESC, id LIMIT 3": 3,  # every file with a row of the newest day that a file begins on
    "ORDER BY to_date(ts), id LIMIT 3": 3,
    "ORDER BY date_trunc('HOUR', ts) DESC, id LIMIT 3": 1,
    "ORDER BY date_format(ts, 'yyyy-MM-dd HH') DESC, id LIMIT 3": 1,
    "ORDER BY month(dt) DESC, id LIMIT 3": 3,
    "ORDER BY year(dt) DESC, id LIMIT 3": FILES,
    "ORDER BY hour(ts) DESC, id LIMIT 3": FILES,
    "ORDER BY n + 1 NULLS LAST LIMIT 3": 1,
    "ORDER BY n + 1, id LIMIT 3": 2,  # the file with nulls, and the first
    "ORDER BY n + 1 DESC NULLS FIRST, id LIMIT 3": 2,
    "ORDER BY n + 1 DESC LIMIT 35": 5,
    "ORDER BY coalesce(n, 1000) DESC, id LIMIT 3": FILES,
    "ORDER BY m, id LIMIT 3": FILES,  # every file has every m
    "ORDER BY id": FILES,
    "ORDER BY id OFFSET 77": FILES,
}


@pytest.mark.parametrize("tail", CASES)
def test_files_read_and_rows(spark, plain, tail: str) -> None:
    check(spark, f"SELECT * FROM {plain} {tail}", CASES[tail])


# query: files read in all its scans of the table
SHAPES = {
    "SELECT m, s FROM {t} ORDER BY id DESC LIMIT 3": 1,
    "SELECT key FROM (SELECT id AS key, m FROM {t}) WHERE key > 5 AND m < 10 ORDER BY key DESC LIMIT 3": 1,
    "SELECT id FROM {t} WHERE s > '00005' ORDER BY id DESC LIMIT 3": FILES,  # the bounds of strings may be truncated
    "SELECT id * 2 AS id FROM {t} ORDER BY id LIMIT 3": 1,
    "SELECT max(id), min(m) FROM (SELECT * FROM {t} ORDER BY id DESC LIMIT 3)": 1,
    "SELECT * FROM (SELECT * FROM {t} ORDER BY id DESC LIMIT 3) WHERE m = 9": 1,
    "SELECT id FROM {t} WHERE id >= (SELECT id FROM {t} ORDER BY id DESC LIMIT 1 OFFSET 2) ORDER BY id": FILES,
    "SELECT id FROM {t} WHERE id IN (SELECT id + 5 FROM {t} ORDER BY id LIMIT 2) ORDER BY id": FILES,
    "SELECT * FROM (SELECT id FROM {t} ORDER BY id DESC LIMIT 3) UNION ALL SELECT sum(id) FROM {t}": FILES,
    "WITH c AS (SELECT * FROM {t} ORDER BY id LIMIT 3) SELECT a.id, b.m FROM c a JOIN c b ON a.id = b.id ORDER BY 1": 1,
    "SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM {t} LIMIT 3": 1,
    "SELECT * FROM (SELECT id FROM {t} LIMIT 80) ORDER BY id LIMIT 3": FILES,
    "SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id ORDER BY a.id LIMIT 3": FILES,
    "SELECT m, count(*) FROM {t} GROUP BY m ORDER BY m LIMIT 3": FILES,
    "SELECT DISTINCT g FROM {t} ORDER BY g LIMIT 1": 0,  # each file has a single value, which the index stores
}


# least and greatest values, and what stands beside them: every row with the extreme is read
SHAPES |= {
    "SELECT max_by(m, id), max(id), max_by(s, id) AS s FROM {t}": 1,
    "SELECT min_by(s, ts) FROM {t} WHERE id >= 35": 2,
    "SELECT max_by(m, id) FROM {t} HAVING max(id) > 5": 1,
    "SELECT max_by(m, n) FROM {t} WHERE id < 50": 2,  # the file with nulls
    "SELECT max_by(m, id), min_by(m, id) FROM {t}": FILES,
    "SELECT max_by(m, id), count(*) FROM {t}": FILES,
    "SELECT max_by(m, id), max(ts) FROM {t}": FILES,
    "SELECT max_by(m, id) FILTER (WHERE m < 5) FROM {t}": FILES,
    "SELECT g, max_by(m, id) FROM {t} GROUP BY g ORDER BY g": FILES,
    "SELECT max(s), max(DISTINCT s) FROM {t}": 1,
    "SELECT min(x) FROM {t}": 4,  # their bounds are cut short to the same text
    "SELECT max(lower(s)) FROM {t}": FILES,
    "SELECT max(to_date(ts)), max(to_date(ts)) FROM {t}": 3,
}
# ranks in the order of the whole table
SHAPES |= {
    "SELECT id, m FROM (SELECT *, row_number() OVER (ORDER BY id DESC) AS r FROM {t}) WHERE r <= 3 ORDER BY r": 1,
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM {t}) WHERE r <= 11 ORDER BY id": 2,
    "SELECT id, r + 1 FROM (SELECT *, row_number() OVER (ORDER BY id DESC, m) AS r FROM {t}) WHERE 12 > r AND m = 9": 2,
    "SELECT id FROM (SELECT *, row_number() OVER (ORDER BY id) AS r FROM {t} WHERE id >= 35) WHERE r = 2": 2,
    "SELECT id, r FROM (SELECT id, rank() OVER (ORDER BY g DESC) AS r FROM {t}) WHERE r < 4 ORDER BY id": 2,
    "SELECT id FROM (SELECT id, dense_rank() OVER (ORDER BY g DESC) AS r FROM {t}) WHERE r = 1 ORDER BY id": 2,
    "SELECT id FROM (SELECT id, dense_rank() OVER (ORDER BY g DESC) AS r FROM {t}) WHERE r <= 2 ORDER BY id": FILES,
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r, rank() OVER (ORDER BY id DESC) AS q FROM {t}) "
    "WHERE r <= 9 AND q <= 3 ORDER BY id": 1,
    "SELECT id, c FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r, lead(m) OVER (ORDER BY id DESC) AS c "
    "FROM {t}) WHERE r <= 3 ORDER BY id": FILES,
    "SELECT id, c FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r, percent_rank() OVER (ORDER BY id DESC) AS c "
    "FROM {t}) WHERE r <= 3 ORDER BY id": FILES,
    "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY id DESC) AS r FROM {t}) WHERE r <= 1 "
    "ORDER BY id": FILES,
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM {t}) WHERE r > 3 ORDER BY id": FILES,
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM {t}) WHERE r <= 3 OR id = 5 ORDER BY 1": FILES,
}
# first rows of unions, and of joins that return each row of the side with the sort key
SHAPES |= {
    "SELECT * FROM (SELECT id, m FROM {t} UNION ALL SELECT id, n FROM {t}) ORDER BY id DESC, m LIMIT 3": 1,
    # the second branch proves that no row of the first is needed
    "SELECT * FROM (SELECT id FROM {t} WHERE id < 50 UNION ALL SELECT id FROM {t} WHERE id >= 40) ORDER BY id DESC LIMIT 3": 1,
    # branches with other keys prove nothing about each other
    "SELECT * FROM (SELECT id FROM {t} WHERE id < 30 UNION ALL SELECT id + 1000 FROM {t}) ORDER BY id DESC LIMIT 3": 2,
    "SELECT * FROM (SELECT id FROM {t} UNION ALL VALUES (75L), (76L)) ORDER BY id DESC LIMIT 3": 1,
    "SELECT * FROM (SELECT id FROM {t} UNION ALL SELECT sum(id) FROM {t}) ORDER BY id LIMIT 3": FILES,
    "SELECT max(id), max(id) FROM (SELECT id FROM {t} WHERE m < 5 UNION ALL SELECT id FROM {t} WHERE id < 20)": 7,
    "SELECT * FROM (SELECT n FROM {t} UNION ALL SELECT m FROM {t}) ORDER BY n LIMIT 3": FILES,
    "SELECT a.id, b.m FROM {t} a LEFT JOIN {t} b ON a.m = b.id ORDER BY a.id DESC LIMIT 3": 2,
    "SELECT a.id, b.m FROM {t} b RIGHT JOIN {t} a ON a.m = b.id ORDER BY a.id LIMIT 3": 1,
    "SELECT a.id, b.id AS k FROM {t} a LEFT JOIN {t} b ON a.id = b.id + 40 ORDER BY b.id DESC NULLS LAST, a.id LIMIT 3": FILES,
    "SELECT a.id, b.id AS k FROM {t} a FULL JOIN {t} b ON a.id = b.id + 40 ORDER BY a.id DESC NULLS LAST LIMIT 3": FILES,
    "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.id = a.id AND b.m < 5) ORDER BY id DESC LIMIT 3": FILES,
    "SELECT id FROM {t} a LEFT ANTI JOIN {t} b ON b.id = a.id + 20 ORDER BY id LIMIT 3": FILES,
}


@pytest.mark.parametrize("query", SHAPES)
def test_where_the_sort_may_stand(spark, plain, query: str) -> None:
    check(spark, query.format(t=plain), SHAPES[query])


def test_what_is_random_is_left_alone(spark, plain) -> None:
    for query in (
        "SELECT * FROM {t} WHERE rand(7) < 0.9 ORDER BY id LIMIT 3",
        "SELECT id, rand(7) FROM {t} ORDER BY id LIMIT 3",
        "SELECT id, rand(7) FROM (SELECT id FROM {t} ORDER BY id) LIMIT 3",
    ):
        assert files_read(spark, query.format(t=plain)) == FILES


def test_union_of_first_and_last_rows(spark, plain) -> None:
    query = f"(SELECT id FROM {plain} ORDER BY id LIMIT 3) UNION ALL (SELECT id FROM {plain} ORDER BY id DESC LIMIT 3)"
    check(spark, query, 2)
    every = f"{query} UNION ALL SELECT id FROM {plain}"
    assert len(assert_rows_equal_off_on(spark, every)) == 86
    assert STOCK or len(plans.planned_tasks(spark.sql(every))) == 2 + FILES


def test_explain_and_log_name_the_bound(spark, plain) -> None:
    if STOCK:
        return
    assert "top-k bound: id >= 70" in explain(spark, f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3")
    assert "top-k bound: id >= 70" in explain(spark, f"SELECT max_by(m, id) FROM {plain}")
    by_day = explain(spark, f"SELECT * FROM {plain} ORDER BY to_date(ts) DESC LIMIT 3")
    assert "top-k bound: CAST(ts AS DATE) >= DATE '2023-11-17'" in by_day
    union = f"SELECT * FROM (SELECT m FROM {plain} UNION ALL SELECT n FROM {plain} WHERE m = 3) ORDER BY m LIMIT 3"
    assert "top-k bound: not used, TOPK_NO_BOUND" in explain(spark, union)
    assert "top-k bound: n <= 9 or null" in explain(spark, f"SELECT * FROM {plain} ORDER BY n LIMIT 3")
    told = explain(spark, f"SELECT * FROM {plain} WHERE id + 1 > 0 OR m = 3 ORDER BY id DESC LIMIT 3")
    assert "top-k bound: not used, TOPK_NO_BOUND" in told
    assert_planned_by_index(spark, f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3")


def test_switched_off(spark, plain) -> None:
    query = f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3"
    with product.raw_conf(spark, {TOPK: "false"}):
        assert files_read(spark, query) == FILES
    by_option = spark.read.option("zonemap.topK.enabled", "false").table(plain).orderBy("id").limit(3)
    assert len(plans.planned_files(by_option)) == FILES
    assert STOCK or files_read(spark, query) == 1


def test_data_frame_methods(spark, plain) -> None:
    by_id = spark.table(plain).orderBy("id", ascending=False)
    assert [r.id for r in by_id.take(3)] == [79, 78, 77]
    assert [r.id for r in by_id.offset(2).limit(2).collect()] == [77, 76]
    assert [r.id for r in by_id.limit(4).offset(2).collect()] == [77, 76]
    assert by_id.limit(5).count() == 5
    assert STOCK or len(plans.planned_files(by_id.limit(4).offset(2))) == 1


def test_cached_first_rows_and_the_rest(spark, plain) -> None:
    first = spark.sql(f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3").cache()
    try:
        assert first.count() == 3
        assert spark.sql(f"SELECT * FROM {plain}").count() == 80
        assert spark.sql(f"SELECT count(*) FROM {plain} WHERE id >= 60").collect()[0][0] == 20
        again = spark.sql(f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3")
        assert "InMemoryTableScan" in plans.plan_text(again) and bag(again.collect()) == bag(first.collect())
    finally:
        first.unpersist()
    whole = spark.table(plain).cache()
    try:
        assert whole.count() == 80
        assert [r.id for r in spark.sql(f"SELECT id FROM {plain} ORDER BY id LIMIT 2").collect()] == [0, 1]
    finally:
        whole.unpersist()


@pytest.mark.parametrize("version", [2, 3])
def test_files_with_position_deletes_or_vectors_do_not_count(spark, base, version: int) -> None:
    table = make(spark, f"lake.topk.deleted{version}", version=version, props={"write.delete.mode": "merge-on-read"})
    spark.sql(f"DELETE FROM {table} WHERE id BETWEEN 70 AND 78")
    product.build(spark, table)
    rows = check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", 2)
    assert [r.id for r in rows] == [79, 69, 68]
    check(spark, f"SELECT id FROM {table} ORDER BY id LIMIT 3", 1)


def test_equality_deletes_touch_what_is_older(spark, base) -> None:
    table = make(spark, "lake.topk.equality")
    iceberg_api.equality_delete(spark, table, "s", ["00079-cut-off-after-sixteen"])
    rows = check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", FILES)
    assert [r.id for r in rows] == [78, 77, 76]
    fill(spark, table, range(FILES, FILES + 2))
    assert check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", 1)[0].id == 99


def test_files_without_statistics_stay(spark, base) -> None:
    table = make(spark, "lake.topk.nostats")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
    fill(spark, table, range(FILES, FILES + 4))
    rows = check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", 5)
    assert [r.id for r in rows] == [119, 118, 117]
    check(spark, f"SELECT id FROM {table} ORDER BY id LIMIT 3", 5)


def test_other_file_formats(spark, base) -> None:
    table = tables.create(spark, "lake.topk.formats", "id BIGINT, s STRING")
    for k, file_format in enumerate(("parquet", "orc", "avro", "orc")):
        slices = [[(k * 10 + i, f"k{i}") for i in range(10)]]
        tables.append(spark, table, slices, "id BIGINT, s STRING", file_format=file_format)
    product.build(spark, table)
    check(spark, f"SELECT * FROM {table} ORDER BY id DESC LIMIT 3", 2)  # avro files have no bounds
    check(spark, f"SELECT * FROM {table} ORDER BY id LIMIT 3", 2)


NAN = math.nan


def test_nan_comes_first_from_above(spark, base) -> None:
    columns = "id INT, d DOUBLE, f FLOAT"
    slices = [[(k * 4 + i, float(k), float(k)) for i in range(4)] for k in range(4)]
    clean = tables.create(spark, "lake.topk.clean", columns)
    tables.append(spark, clean, slices, columns)
    slices[1][2] = (6, NAN, NAN)
    mixed = tables.create(spark, "lake.topk.nan", columns)
    tables.append(spark, mixed, slices, columns)
    for table in (clean, mixed):
        product.build(spark, table)
    for column in ("d", "f"):
        check(spark, f"SELECT {column} FROM {clean} ORDER BY {column} DESC LIMIT 3", 1)
        check(spark, f"SELECT max_by({column}, {column}) FROM {clean}", 1)
        check(spark, f"SELECT max_by({column}, {column}) FROM {mixed}", 4)
        check(spark, f"SELECT min_by({column}, {column}) FROM {mixed}", 1)
        rows = check(spark, f"SELECT {column} FROM {mixed} ORDER BY {column} DESC LIMIT 3", 4)
        assert math.isnan(rows[0][0]) and rows[1][0] == 3.0
        check(spark, f"SELECT {column} FROM {mixed} ORDER BY {column} LIMIT 3", 1)
        check(spark, f"SELECT {column} FROM {mixed} ORDER BY {column} LIMIT 7", 3)


def test_days_are_those_of_the_time_zone(spark, plain) -> None:
    """The first row of the last file is of 17 November in UTC and of the next day in Kathmandu."""
    query = f"SELECT id FROM {plain} ORDER BY to_date(ts) DESC, id LIMIT 3"
    for zone, files in {"UTC": 3, "Asia/Kathmandu": 2, "America/New_York": 3}.items():
        with product.raw_conf(spark, {"spark.sql.session.timeZone": zone}):
            check(spark, query, files)


def test_a_day_that_a_clock_enters_twice(spark, base) -> None:
    """In St. John's the clock went from 0:01 back to 23:01 of the day before: a later row may have an earlier day."""
    table = tables.create(spark, "lake.topk.twice_entered", "id BIGINT, ts TIMESTAMP")
    first = 1_289_097_030  # 0:00:30 of 7 November 2010 for the first time; half an hour later it is 23:30 of the 6th
    for rows in ([(0, first - 12 * 3600)], [(1, first), (2, first + 1830)]):
        tables.append(spark, table, [rows], "id BIGINT, sec BIGINT", select=("id", "timestamp_seconds(sec) AS ts"))
    product.build(spark, table)
    with product.raw_conf(spark, {"spark.sql.session.timeZone": "America/St_Johns"}):
        found = check(spark, f"SELECT id FROM {table} ORDER BY to_date(ts) DESC, id LIMIT 2", 2)
    assert [r.id for r in found] == [1, 0]


def test_both_zeros_are_one_value(spark, base) -> None:
    """Iceberg treats -0.0 as less than 0.0; a bound of zero must not prune either zero, in files or in row groups."""
    table = tables.create(spark, "lake.topk.zeros", "d DOUBLE")
    for values in ([-2.0, -1.0], [-0.0, -0.0], [0.0, 0.0], [1.0, 2.0]):
        tables.append(spark, table, [[(v,) for v in values]], "d DOUBLE")
    product.build(spark, table)
    for query, files in {
        f"SELECT abs(d) FROM {table} ORDER BY d DESC LIMIT 5": 3,
        f"SELECT abs(d) FROM {table} ORDER BY d DESC LIMIT 6": 3,
        f"SELECT abs(d) FROM {table} ORDER BY d LIMIT 5": 3,
        f"SELECT abs(d) FROM {table} ORDER BY d LIMIT 6": 3,
        # readers skip a zero if the literal is zero, so files with zeros are not counted in the cover
        f"SELECT abs(d) FROM {table} WHERE d <= 0 ORDER BY d DESC LIMIT 4": 3,
        f"SELECT abs(d) FROM {table} WHERE d >= 0 ORDER BY d LIMIT 4": 3,
        f"SELECT abs(min_by(d, d)) FROM {table} WHERE d >= 0": 3,
        f"SELECT abs(max_by(d, d)) FROM {table} WHERE d < 1": 2,
    }.items():
        check(spark, query, files)


def test_partitioned_tables(spark, base) -> None:
    by_m = make(spark, "lake.topk.by_m", partitioned="m")
    check(spark, f"SELECT id FROM {by_m} ORDER BY id DESC LIMIT 3", 3)
    check(spark, f"SELECT id FROM {by_m} WHERE m = 3 ORDER BY id DESC LIMIT 2", 2)
    check(spark, f"SELECT id FROM {by_m} WHERE m IN (3, 4) AND id < 45 ORDER BY id DESC LIMIT 3", 3)
    by_day = make(spark, "lake.topk.by_day", partitioned="days(ts), bucket(2, id)")
    query = f"SELECT id FROM {by_day} WHERE ts >= TIMESTAMP'2023-11-16 00:00:00' ORDER BY ts DESC LIMIT 2"
    with product.off(spark):
        without = len(plans.planned_files(spark.sql(query)))
    assert STOCK or files_read(spark, query) < without
    assert_rows_equal_off_on(spark, query, at_least=2)


def test_time_travel_branches_and_renames(spark, base) -> None:
    table = make(spark, "lake.topk.travel")
    old = tables.snapshot_id(spark, table)
    fill(spark, table, range(FILES, FILES + 2))
    product.build(spark, table)
    assert check(spark, f"SELECT id FROM {table} VERSION AS OF {old} ORDER BY id DESC LIMIT 3", 1)[0].id == 79
    assert check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", 1)[0].id == 99
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH b AS OF VERSION {old}")
    assert check(spark, f"SELECT id FROM {table}.branch_b ORDER BY id DESC LIMIT 3", 1)[0].id == 79
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN id TO key")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN late INT")
    assert check(spark, f"SELECT key FROM {table} ORDER BY key DESC LIMIT 3", 1)[0].key == 99
    assert check(spark, f"SELECT n FROM {table} ORDER BY n DESC LIMIT 3", 1)[0].n == 99
    check(spark, f"SELECT late FROM {table} ORDER BY late LIMIT 3", 10)
    check(spark, f"SELECT key FROM {table} WHERE late IS NULL ORDER BY key LIMIT 3", 10)


def test_snapshot_that_is_not_covered(spark, base) -> None:
    table = tables.create(spark, "lake.topk.uncovered", COLUMNS)
    fill(spark, table, range(FILES))
    with product.conf(spark, upkeep="off"):
        check(spark, f"SELECT id FROM {table} ORDER BY id DESC LIMIT 3", FILES)
