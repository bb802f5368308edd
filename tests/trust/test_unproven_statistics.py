"""Statistics of writers that are not known, each in a form that a writer has published: rows must equal Iceberg's rows."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from support import iceberg_api, plans, product
from support.compare import assert_rows_equal_off_on, assert_same_rows, explain
from support.session import STOCK


def forged(spark, name: str, columns: str, rows: list[str], edit: Callable[[str, iceberg_api.Metrics], None]) -> str:
    """Returns a table of one file for each SELECT, whose manifest entries another writer has published."""
    table = f"lake.trust.{name}"
    spark.sql(f"CREATE TABLE {table} ({columns}) USING iceberg")
    for select in rows:
        spark.sql(f"INSERT INTO {table} {select}")
    iceberg_api.forge_metrics(spark, table, edit)
    product.build(spark, table)
    return table


def unknown_nulls(spark, name: str = "nulls") -> str:
    """Null counts of 0 where the writer does not know them, and bounds of 0 to 0."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.nulls("v", 0)
        metrics.bounds("v", struct.pack("<i", 0), struct.pack("<i", 0))

    select = "SELECT CAST(id AS INT), IF(id % 2 = 0, NULL, CAST(id + 1000 AS INT)) FROM range({}, {}, 1, 1)"
    return forged(spark, name, "id INT, v INT", [select.format(i * 10, i * 10 + 10) for i in range(4)], edit)


def cut_times(spark, name: str = "times") -> str:
    """Upper bounds of timestamps in whole milliseconds, cut down."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        upper = struct.unpack("<q", bytes(metrics.upper.get(metrics.field_id("ts")).array()))[0]
        metrics.upper.put(
            metrics.field_id("ts"),
            metrics.spark._jvm.java.nio.ByteBuffer.wrap(bytearray(struct.pack("<q", upper // 1000 * 1000))),
        )

    select = (
        "SELECT CAST(id AS INT), timestamp_micros(1700000000000000 + id * 1001 + id DIV 1000 * 1000000) "
        "FROM range({}, {}, 1, 1)"
    )
    return forged(
        spark, name, "id INT, ts TIMESTAMP", [select.format(i * 1000, i * 1000 + 908) for i in range(4)], edit
    )


def counts_of_commits(spark, name: str = "counts") -> str:
    """The record count of the whole commit in each of its files."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.records = 400

    select = "SELECT CAST(id AS INT), CAST(id % 7 AS INT) FROM range({}, {}, 1, 1)"
    return forged(spark, name, "id INT, v INT", [select.format(i * 50, i * 50 + 50) for i in range(8)], edit)


@pytest.fixture(scope="module")
def made(base) -> dict[str, str]:
    from support import session

    spark = session.get()
    tables = {"nulls": unknown_nulls(spark), "times": cut_times(spark), "counts": counts_of_commits(spark)}
    spark.sql("CREATE TABLE lake.trust.last_times (k TIMESTAMP, v INT) USING iceberg")
    spark.sql(f"INSERT INTO lake.trust.last_times SELECT ts, id FROM {tables['times']} WHERE id % 1000 = 907")
    return tables


QUERIES = (
    ("nulls", "SELECT count(v) FROM {t} WHERE id >= 0"),
    ("nulls", "SELECT count(*) FROM {t} WHERE coalesce(v, 0) = 0"),
    ("nulls", "SELECT id, v FROM {t} ORDER BY v NULLS FIRST, id LIMIT 12"),
    ("nulls", "SELECT v FROM {t} ORDER BY v NULLS FIRST LIMIT 12"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v + 1 > 1020"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v IS NULL AND id < 30 GROUP BY v"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v <> 0"),
    ("nulls", "SELECT v, count(*) FROM {t} GROUP BY v"),
    ("nulls", "SELECT max(v), min(v) FROM {t} WHERE id >= 0"),
    ("times", "SELECT id FROM {t} JOIN lake.trust.last_times ON ts = k"),
    ("times", "SELECT id FROM {t} WHERE ts IN (SELECT k FROM lake.trust.last_times WHERE v > 1000)"),
    ("times", "SELECT id FROM {t} WHERE unix_micros(ts) = (SELECT max(unix_micros(k)) FROM lake.trust.last_times)"),
    ("times", "SELECT id FROM {t} WHERE unix_micros(ts) = 1700000000000000 + 907 * 1001"),
    ("times", "SELECT id FROM {t} ORDER BY ts DESC LIMIT 3"),
    ("times", "SELECT max(ts) FROM {t} WHERE id >= 0"),
    ("counts", "SELECT count(*) FROM (SELECT id FROM {t} LIMIT 60)"),
    ("counts", "SELECT id FROM {t} ORDER BY id DESC LIMIT 60"),
    ("counts", "SELECT count(*) FROM {t} WHERE id >= 100"),
    ("counts", "SELECT id >= 200, count(*) FROM {t} WHERE id >= 50 GROUP BY id >= 200"),
    ("counts", "SELECT count(v), max(id) FROM {t} WHERE id >= 350"),
)


@pytest.mark.parametrize(("which", "query"), QUERIES)
def test_rows(spark, made, which: str, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=made[which]))


@pytest.mark.skipif(STOCK, reason="about the product")
def test_the_filter_that_iceberg_evaluates_still_prunes(spark, made) -> None:
    query = f"SELECT id FROM {made['counts']} WHERE id = 77"
    assert len(plans.planned_files(spark.sql(query))) == 1
    assert product.status(spark, made["counts"]).bounds == "extremes=0 valid=0 doubtful=8"
    assert "bounds of 8 files prune only by Iceberg's own filter" in explain(spark, query)


@pytest.mark.parametrize(
    "command",
    [
        "DELETE FROM {t} WHERE ts IN (SELECT k FROM lake.trust.last_times)",
        "MERGE INTO {t} t USING lake.trust.last_times s ON t.ts = s.k WHEN MATCHED THEN UPDATE SET id = -s.v "
        "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (9999, s.k)",
    ],
)
def test_commands_on_cut_times(spark, made, command: str) -> None:
    found = {}
    for switch in ("false", "true"):
        table = cut_times(spark, f"times_{command[:5].lower().strip()}_{switch}")
        with product.conf(spark, enabled=switch):
            spark.sql(command.format(t=table))
        with product.off(spark):
            found[switch] = spark.sql(f"SELECT id, ts FROM {table}").collect()
    assert_same_rows(found["true"], found["false"], command)
