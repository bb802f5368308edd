# SPDX-License-Identifier: Apache-2.0
"""COUNT, MIN and MAX that need no scan: what is answered and what is planned, and rows equal to Iceberg's rows."""

from __future__ import annotations

import random

import pytest
from support import iceberg_api, plans, product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.imports import counts_of_commits, unknown_nulls
from support.session import STOCK

COLUMNS = "id INT, n INT, d DOUBLE, f FLOAT, s STRING, dt DATE, ts TIMESTAMP, b BOOLEAN, p INT, m DECIMAL(9, 2)"

#: Column n is null in files 3 (some rows) and 4 (all rows); d has NaN in file 5 and both zeros in file 6.
SELECT = (
    "id, IF(id BETWEEN 37 AND 49, NULL, id), CASE WHEN id = 52 THEN double('NaN') WHEN id = 61 THEN -0.0D "
    "WHEN id = 62 THEN 0.0D ELSE (id - 65) / 2D END, CAST(id - 10.5 AS FLOAT), concat('text-', lpad(id, 20, '0')), "
    "date_add(DATE'2026-01-01', id), timestamp_seconds(1767225600 + id * 3600), id >= 40, id DIV 30, "
    "CAST((id - 40) / 4 AS DECIMAL(9, 2))"
)


def fill(spark, table: str, first: int, files: int = 1, more: str = "") -> None:
    rows = f"RANGE({first}, {first + files * 10}, 1, {files})"
    spark.sql(f"INSERT INTO {table} SELECT {SELECT}{more} FROM (SELECT CAST(id AS INT) AS id FROM {rows})")


def make(spark, name: str, **options) -> str:
    table = tables.create(spark, f"lake.snapshot_aggregates.{name}", COLUMNS, **options)
    fill(spark, table, 0, files=8)
    product.build(spark, table)
    return table


def no_file_is_read(spark, query: str) -> bool:
    return "files answered from the index, 0 read" in explain(spark, query)


def check(spark, query: str, answered: bool) -> None:
    """Compares the rows with Iceberg's, and whether EXPLAIN says that the index answered the aggregate whole."""
    assert_rows_equal_off_on(spark, query)
    if not STOCK:
        assert no_file_is_read(spark, query) == answered, query
        assert not answered or plans.planned_tasks(spark.sql(query)) == []


@pytest.fixture(scope="module")
def lake_of_aggregates(base) -> str:
    from support import session

    spark = session.get()
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.snapshot_aggregates")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.trust")
    return make(spark, "plain")


# functions over all rows: whether the index answers them without a scan
UNFILTERED = {
    "count(*)": True,
    "count(1) AS one, count(*) + 1 AS two, CAST(count(*) AS STRING)": True,
    "count(id), min(id), max(id)": True,
    "min(n), max(n)": True,
    "min(dt), max(ts), min(b), max(b), max(m) - min(m), max(p)": True,
    "min(f), max(f)": True,
    "count(s), count(f)": True,
    "count(n)": False,
    "min(d)": True,  # a bound of the first row leaves one file, which is answered
    "max(d)": False,
    "min(s)": False,
    "count(DISTINCT id)": False,
    "count(DISTINCT p), count(DISTINCT p) + 1": True,
    "count(DISTINCT id DIV 10), 'ten'": True,
    "count(DISTINCT p, b)": False,
    "count(DISTINCT p), count(*)": False,
    "count(DISTINCT p) FILTER (WHERE id > 5)": False,
    "count(DISTINCT n)": False,
    "count(*) FILTER (WHERE id > 5)": False,
    "count(*), sum(id)": False,
    "max(id + 1)": False,
    "count(id, n)": False,
}


@pytest.mark.parametrize("functions", UNFILTERED)
def test_without_a_filter(spark, lake_of_aggregates, functions: str) -> None:
    check(spark, f"SELECT {functions} FROM {lake_of_aggregates}", UNFILTERED[functions])


# rest of the query: whether the index answers it without a scan
SHAPES = {
    "count(*), max(id) FROM {t} WHERE id >= 30": True,
    "count(*), max(id) FROM {t} WHERE id >= 35": False,
    "count(*) FROM {t} WHERE id BETWEEN 20 AND 59 AND dt < DATE'2027-01-01'": True,
    "count(*) c FROM {t} HAVING c > 100": True,
    "p, count(*), min(id) FROM {t} WHERE id < 30 GROUP BY p": True,
    "p, count(*), min(id) FROM {t} WHERE id < 30 GROUP BY ALL": True,
    "b, count(*) FROM {t} GROUP BY b": True,
    "b, count(DISTINCT p) FROM {t} GROUP BY b": True,
    "count(DISTINCT b) c FROM {t} WHERE id >= 20 HAVING c > 1": True,
    "count(DISTINCT n) FROM {t} WHERE id BETWEEN 40 AND 49": True,  # only nulls
    "count(DISTINCT p) FROM {t} WHERE id >= 25": False,
    "p, count(*) FROM {t} GROUP BY p": True,
    "id DIV 15, count(*) FROM {t} GROUP BY 1": False,
    "id DIV 10, count(*) FROM {t} GROUP BY 1": True,
    "(SELECT max(id) FROM {t}) - (SELECT min(id) FROM {t} WHERE id >= 30)": True,
    "x + 1, y FROM (SELECT count(*) AS x, max(id) AS y FROM {t})": True,
    "count(*) FROM (SELECT * FROM {t} LIMIT 25)": False,
    "count(*) FROM {t} WHERE id >= 30 AND rand(3) < 0.999999": False,
    "count(*) FROM {t} WHERE id >= 1000": False,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_filters_groups_and_places(spark, lake_of_aggregates, shape: str) -> None:
    check(spark, f"SELECT {shape.format(t=lake_of_aggregates)}", SHAPES[shape])


@pytest.mark.skipif(STOCK, reason="about the product")
def test_the_switch(spark, lake_of_aggregates) -> None:
    query = f"SELECT count(*), max(id) FROM {lake_of_aggregates}"
    assert no_file_is_read(spark, query)
    with product.raw_conf(spark, {"spark.sql.zonemap.aggregates.enabled": "false"}):
        assert not no_file_is_read(spark, query)
    with product.raw_conf(spark, {"spark.sql.zonemap.shadow.enabled": "true"}):
        assert not no_file_is_read(spark, query)


def test_snapshots_and_refs(spark, lake_of_aggregates) -> None:
    table = make(spark, "past")
    first = tables.snapshot_id(spark, table)
    spark.sql(f"ALTER TABLE {table} CREATE TAG eight")
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH side")
    fill(spark, table, 80, files=2)
    fill(spark, f"{table}.branch_side", 500)
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    functions = "count(*), min(id), max(id)"
    for source in (table, f"{table} VERSION AS OF {first}", f"{table} VERSION AS OF 'eight'"):
        check(spark, f"SELECT {functions} FROM {source}", answered=True)
    assert_rows_equal_off_on(spark, f"SELECT {functions} FROM {table} VERSION AS OF 'side'")
    assert tuple(spark.sql(f"SELECT {functions} FROM {table} VERSION AS OF 'side'").first()) == (90, 0, 509)
    assert tuple(spark.sql(f"SELECT {functions} FROM {table}").first()) == (90, 10, 99)


def test_an_empty_table_and_one_without_rows(spark, lake_of_aggregates) -> None:
    table = tables.create(spark, "lake.snapshot_aggregates.empty", COLUMNS)
    check(spark, f"SELECT count(*), max(id) FROM {table}", answered=False)
    fill(spark, table, 0)
    spark.sql(f"DELETE FROM {table} WHERE id < 10")
    product.build(spark, table)
    check(spark, f"SELECT count(*), max(id) FROM {table}", answered=False)


@pytest.mark.parametrize("version", [2, 3])
def test_deletes(spark, lake_of_aggregates, version: int) -> None:
    table = make(
        spark, f"deleted_{version}", version=version, partitioned="p", props={"write.delete.mode": "merge-on-read"}
    )
    check(spark, f"SELECT count(*), max(id) FROM {table}", answered=True)
    spark.sql(f"DELETE FROM {table} WHERE id IN (42, 79)")
    product.build(spark, table)
    check(spark, f"SELECT count(*), max(id) FROM {table}", answered=False)
    check(spark, f"SELECT p, count(*), max(id) FROM {table} GROUP BY p", answered=False)
    # deletion vectors state how many rows they delete, so no file is read, but its tasks are made
    for query in (f"SELECT count(*) FROM {table}", f"SELECT p, count(*) FROM {table} GROUP BY p"):
        assert_rows_equal_off_on(spark, query)
        assert STOCK or no_file_is_read(spark, query) == (version == 3)


def test_equality_deletes_of_one_partition(spark, lake_of_aggregates) -> None:
    table = make(spark, "equality", partitioned="p")
    path = next(p for p in tables.files(spark, table) if "p=1" in p)
    iceberg_api.equality_delete(spark, table, "id", [45], partition_of=path)
    product.build(spark, table)
    check(spark, f"SELECT count(*), max(id) FROM {table}", answered=False)
    check(spark, f"SELECT count(*), max(id) FROM {table} WHERE p = 1", answered=False)
    check(spark, f"SELECT count(*), max(id) FROM {table} WHERE p = 2", answered=True)


def test_schema_evolution(spark, lake_of_aggregates) -> None:
    table = make(spark, "evolved", version=3)
    spark.sql(f"ALTER TABLE {table} ADD COLUMN later INT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN id TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN p TO part")
    fill(spark, table, 80, more=", 7")
    product.build(spark, table)
    check(spark, f"SELECT count(*), min(id), max(id), min(part), max(part) FROM {table}", answered=True)
    check(spark, f"SELECT count(later), min(later) FROM {table}", answered=False)
    spark.sql(f"ALTER TABLE {table} DROP COLUMN later")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN later INT")
    check(spark, f"SELECT count(later), max(later) FROM {table}", answered=False)


def test_a_column_added_with_a_default(spark, lake_of_aggregates) -> None:
    """Older files have no null count of the column, and their rows the default, which is the least value here."""
    table = make(spark, "with_default", version=3)
    literal = spark._jvm.org.apache.iceberg.expressions.Literal.of(3)
    types = spark._jvm.org.apache.iceberg.types.Types
    change = tables.java_table(spark, table).updateSchema()
    change.addColumn("later", types.IntegerType.get(), None, literal).commit()
    spark.sql(f"REFRESH TABLE {table}")
    fill(spark, table, 80, more=", 7")
    product.build(spark, table)
    query = f"SELECT count(later), min(later), max(later) FROM {table} WHERE id >= 0"
    check(spark, query, answered=False)
    assert tuple(spark.sql(query).first()) == (90, 3, 7)
    found = tuple(spark.sql(f"SELECT count(*), count(id), max(id) FROM {table}").first())
    assert found == (90, 90, 89)


def test_partition_evolution(spark, lake_of_aggregates) -> None:
    table = make(spark, "specs", partitioned="p")
    query = f"SELECT p, count(*), min(id), max(id) FROM {table} GROUP BY p"
    check(spark, query, answered=True)
    spark.sql(f"ALTER TABLE {table} REPLACE PARTITION FIELD p WITH bucket(4, id)")
    fill(spark, table, 80)
    product.build(spark, table)
    check(spark, query, answered=True)
    check(spark, f"SELECT count(*), count(p), min(p), max(p) FROM {table}", answered=True)


def test_files_without_metrics(spark, lake_of_aggregates) -> None:
    table = tables.create(
        spark, "lake.snapshot_aggregates.unmeasured", COLUMNS, props={"write.metadata.metrics.default": "none"}
    )
    fill(spark, table, 0, files=3)
    product.build(spark, table)
    check(spark, f"SELECT count(*) FROM {table}", answered=True)
    check(spark, f"SELECT count(id), max(id) FROM {table}", answered=False)


@pytest.mark.parametrize("read", ["", "_unread"], ids=["footers read", "no footer read"])
def test_forged_statistics_are_left_to_iceberg(spark, lake_of_aggregates, read: str) -> None:
    nulls = unknown_nulls(spark, f"aggregate_nulls{read}")
    counts = counts_of_commits(spark, f"aggregate_counts{read}")
    for query in (f"SELECT count(v), min(v), max(v) FROM {nulls}", f"SELECT count(*) FROM {counts}"):
        check(spark, query, answered=False)
    for query in (
        f"SELECT count(v), max(v) FROM {nulls} WHERE id >= 0",
        f"SELECT count(*) FROM {counts} WHERE id >= 0",
    ):
        check(spark, query, answered=False)


def test_a_prefix_that_iceberg_miscounts(spark, lake_of_aggregates) -> None:
    """`truncate(2)` of a text that starts with a character of two UTF-16 units: Iceberg's readers drop rows by it."""
    table = tables.create(spark, "lake.snapshot_aggregates.prefixes", "id INT, s STRING", partitioned="truncate(2, s)")
    spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), '\U0001f600ab' FROM RANGE(0, 10, 1, 1)")
    product.build(spark, table)
    check(spark, f"SELECT count(*) FROM {table} WHERE s LIKE 'z%'", answered=False)
    query = f"SELECT count(*), max(id) FROM {table} WHERE s LIKE '\U0001f600%'"
    assert STOCK or not no_file_is_read(spark, query)
    check(spark, f"SELECT count(*), max(id) FROM {table} WHERE s >= 'a'", answered=True)


def _query(rng: random.Random, table: str) -> str:
    columns = ["id", "n", "d", "f", "s", "dt", "ts", "b", "p", "m"]

    def function() -> str:
        name = rng.choice(columns)
        return rng.choice([f"count({name})", f"min({name})", f"max({name})", "count(*)"])

    low = rng.randrange(0, 10) * 10
    filters = [
        "",
        "",
        f"WHERE id >= {low}",
        f"WHERE id < {low + rng.choice([0, 5])}",
        f"WHERE dt >= date_add(DATE'2026-01-01', {low}) AND id IS NOT NULL",
        f"WHERE p = {rng.randrange(4)}",
        "WHERE n IS NULL",
        f"WHERE NOT (id < {low})",
    ]
    keys = rng.choice(["", "", "", "p", "b", "p, b", "id DIV 10"])
    functions = ", ".join(function() for _ in range(rng.randint(1, 4)))
    group = f"GROUP BY {keys}" if keys else ""
    return f"SELECT {keys + ', ' if keys else ''}{functions} FROM {table} {rng.choice(filters)} {group}"


def test_random_tables_and_queries(spark, lake_of_aggregates) -> None:
    """Appends, deletes, overwrites and new specs at random, with the index behind by some commits or not."""
    seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    answered = 0
    for number, version in enumerate((2, 3)):
        table = make(
            spark,
            f"random_{number}",
            version=version,
            partitioned=rng.choice(["", "p"]),
            props={"write.delete.mode": rng.choice(["copy-on-write", "merge-on-read"])},
        )
        for step in range(4):
            if step:
                low = rng.randrange(0, 90)
                spark.sql(
                    rng.choice(
                        [
                            f"DELETE FROM {table} WHERE id >= {low // 10 * 10} AND id < {low // 10 * 10 + 10}",
                            f"DELETE FROM {table} WHERE id = {low}",
                            f"INSERT INTO {table} SELECT * FROM {table} WHERE id < {low}",
                        ]
                    )
                )
            if rng.random() < 0.6:
                product.refresh(spark, table)
            for _ in range(7):
                query = _query(rng, table)
                try:
                    assert_rows_equal_off_on(spark, query)
                except AssertionError as error:
                    raise AssertionError(f"seed {seed}: {error}") from error
                answered += not STOCK and no_file_is_read(spark, query)
    assert STOCK or answered > 5
