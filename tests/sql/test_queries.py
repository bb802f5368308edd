# SPDX-License-Identifier: Apache-2.0
"""Read queries: same rows with the index off and on, planned by the index, and files pruned wherever possible."""

from __future__ import annotations

import pytest
from support import plans, product
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, files_off_on
from support.session import STOCK

# name -> (query, scans, data files planned in all scans; None if only equality with Iceberg is required)
QUERIES: dict[str, tuple[str, int, int | None]] = {
    "range": ("SELECT * FROM {q}.fact WHERE id BETWEEN 12 AND 17", 1, 1),
    "point": ("SELECT * FROM {q}.fact WHERE id = 42", 1, 1),
    "nothing": ("SELECT * FROM {q}.fact WHERE id > 1000", 1, 0),
    "everything": ("SELECT * FROM {q}.fact", 1, 8),
    "string prefix": ("SELECT * FROM {q}.fact WHERE s LIKE 'k0003%'", 1, 1),
    "IN of 250 that miss but two": (
        "SELECT * FROM {q}.fact WHERE id IN (5, 75, " + ", ".join(str(i) for i in range(1000, 1248)) + ")",
        1,
        2,
    ),
    "OR over two columns": ("SELECT * FROM {q}.fact WHERE id < 5 OR s = 'k00077'", 1, 2),
    "NOT": ("SELECT * FROM {q}.fact WHERE NOT (id >= 10)", 1, 1),
    "IS NULL without nulls": ("SELECT * FROM {q}.fact WHERE s IS NULL", 1, 0),
    "partition": ("SELECT * FROM {q}.part WHERE m = 3", 1, 8),
    "partition and column": ("SELECT * FROM {q}.part WHERE m = 3 AND id < 20", 1, 2),
    "day partition from a range of timestamps": (
        "SELECT * FROM {q}.days WHERE ts >= TIMESTAMP'2022-01-10 00:00:00' AND ts < TIMESTAMP'2022-01-12 00:00:00'",
        1,
        2,
    ),
    "cast of a timestamp to a date": ("SELECT * FROM {q}.days WHERE CAST(ts AS DATE) = DATE'2022-01-10'", 1, 1),
    "struct leaf": ("SELECT id FROM {q}.days WHERE st.a > 50", 1, 1),
    "map value": ("SELECT id FROM {q}.days WHERE tags['type'] = 'k3' AND id < 200", 1, 2),
    "inner join": ("SELECT f.id, d.name FROM {q}.fact f JOIN {q}.dim d ON f.m = d.m WHERE f.id < 15", 2, 3),
    "left join": (
        "SELECT f.id, d.name FROM {q}.fact f LEFT JOIN {q}.dim d ON f.m = d.m AND d.tier = 'gold' WHERE f.id < 5",
        2,
        None,
    ),
    "self join": ("SELECT a.id, b.id FROM {q}.fact a JOIN {q}.fact b ON a.id = b.id + 70 WHERE a.id >= 70", 2, None),
    "anti join": (
        "SELECT id FROM {q}.fact WHERE id < 20 AND m NOT IN (SELECT m FROM {q}.dim WHERE tier = 'gold')",
        2,
        3,
    ),
    "semi join": ("SELECT id FROM {q}.fact WHERE id < 20 AND m IN (SELECT m FROM {q}.dim WHERE tier = 'gold')", 2, 3),
    "EXISTS": (
        "SELECT id FROM {q}.fact f WHERE id < 20 AND EXISTS (SELECT 1 FROM {q}.dim d WHERE d.m = f.m AND tier = 'gold')",
        2,
        3,
    ),
    "scalar subquery": (
        "SELECT id FROM {q}.fact WHERE id = (SELECT max(low) FROM {q}.dim WHERE tier = 'gold')",
        1,
        None,
    ),
    "three scalar subqueries": (
        "SELECT (SELECT max(id) FROM {q}.fact WHERE id < 5) a, (SELECT min(id) FROM {q}.fact WHERE id > 70) b, (SELECT sum(id) FROM {q}.fact WHERE id = 33) c",
        0,
        None,
    ),
    "CTE twice with different filters": (
        "WITH c AS (SELECT id, m FROM {q}.fact) SELECT a.id, b.id FROM (SELECT * FROM c WHERE id < 10) a JOIN (SELECT * FROM c WHERE id >= 70) b ON a.m = b.m",
        2,
        2,
    ),
    "UNION ALL of two filters": (
        "SELECT id FROM {q}.fact WHERE id < 3 UNION ALL SELECT id FROM {q}.fact WHERE id > 77",
        2,
        2,
    ),
    "aggregate": ("SELECT m, count(*), sum(d) FROM {q}.fact WHERE id BETWEEN 20 AND 39 GROUP BY m", 1, 2),
    "window": ("SELECT id, row_number() OVER (PARTITION BY m ORDER BY id) FROM {q}.fact WHERE id < 20", 1, 2),
    "order and limit": ("SELECT id FROM {q}.fact WHERE id > 60 ORDER BY id DESC LIMIT 3", 1, 2 if STOCK else 1),
    "limit without order keeps its filter": ("SELECT m FROM {q}.fact WHERE id = 42 LIMIT 5", 1, 1),
    "metadata columns": ("SELECT id, _file, _pos, _spec_id, _partition.m FROM {q}.part WHERE id < 4", 1, 4),
    "row id of v3": ("SELECT id, _row_id, _last_updated_sequence_number FROM {q}.v3 WHERE id BETWEEN 33 AND 35", 1, 1),
    "rand": ("SELECT sum(id) FROM {q}.fact WHERE id < 15 AND rand(7) >= 0", 1, 2),
    "case and coalesce": (
        "SELECT id FROM {q}.fact WHERE CASE WHEN id < 4 THEN true ELSE coalesce(s, '') = 'k00050' END",
        1,
        None,
    ),
    "two columns compared": ("SELECT id FROM {q}.fact WHERE id < m", 1, None),
    "arithmetic that wraps nothing": ("SELECT id FROM {q}.fact WHERE id * -1 > -5", 1, None),
    "case of names": ("SELECT ID FROM {q}.fact WHERE Id = 7", 1, 1),
    "division by zero where no row is": ("SELECT id FROM {q}.fact WHERE id > 100 AND 1 / (id - id) > 0", 1, 0),
}


@pytest.mark.parametrize("name", QUERIES)
def test_rows_equal(spark, lake, name: str) -> None:
    assert_rows_equal_off_on(spark, QUERIES[name][0].format(q=lake))


@pytest.mark.parametrize("name", [n for n, (_, scans, _) in QUERIES.items() if scans])
def test_planned_by_the_index(spark, lake, name: str) -> None:
    query, scans, _ = QUERIES[name]
    assert_planned_by_index(spark, query.format(q=lake), scans=scans)


@pytest.mark.parametrize("name", [n for n, (_, _, files) in QUERIES.items() if files is not None])
def test_files_planned(spark, lake, name: str) -> None:
    query, _, files = QUERIES[name]
    with product.on(spark):
        kept = plans.planned_tasks(spark.sql(query.format(q=lake)))
    # Iceberg stops using IN lists of more than 200 values.
    assert len(kept) == (8 if STOCK and name.startswith("IN of 250") else files)


@pytest.mark.parametrize("name", [n for n, (_, scans, _) in QUERIES.items() if scans])
def test_no_more_files_than_iceberg(spark, lake, name: str) -> None:
    theirs, ours = files_off_on(spark, QUERIES[name][0].format(q=lake))
    assert ours <= theirs


def test_shadow_of_the_whole_list(spark, lake) -> None:
    before = product.counters(spark)
    with product.conf(spark, enabled="true", shadow="true"):
        for query, _, _ in QUERIES.values():
            spark.sql(query.format(q=lake)).collect()
    change = product.counters(spark) - before
    assert change.shadow_mismatches == 0
    assert change.fallbacks == 0
    assert STOCK or change.planned_scans >= sum(scans for _, scans, _ in QUERIES.values())


def test_view_and_temporary_view(spark, lake) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW recent AS SELECT id, s FROM {lake}.fact WHERE id >= 60")
    rows = assert_rows_equal_off_on(spark, "SELECT * FROM recent WHERE s < 'k00063'", at_least=3)
    assert len(rows) == 3
    assert_planned_by_index(spark, "SELECT * FROM recent WHERE s < 'k00063'")
    assert len(plans.planned_files(spark.sql("SELECT * FROM recent WHERE s < 'k00063'"))) == 1


def test_data_frames_and_path_reads(spark, lake) -> None:
    df = spark.table(f"{lake}.fact").where("id = 11").select("s")
    assert [r.s for r in df.collect()] == ["k00011"]
    assert len(plans.planned_files(df)) == 1
    from support import tables

    by_path = spark.read.format("iceberg").load(tables.location(spark, f"{lake}.fact")).where("id = 11")
    assert [r.s for r in by_path.collect()] == ["k00011"]


def test_parameter_markers_reach_the_index_planner(spark, lake) -> None:
    """Iceberg 1.11.0's own parser loses parameters of the SQL API; the DataFrame API must work."""
    from pyspark.sql import functions as f

    df = spark.table(f"{lake}.fact").where(f.col("id") == f.lit(5))
    assert len(plans.planned_files(df)) == 1
