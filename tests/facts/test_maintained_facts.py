"""Facts of files written after the build: upkeep and refresh build them if they are configured to do so."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

MAINTAIN = "spark.sql.zonemap.upkeep.maintain-facts"
UPKEEP = {
    MAINTAIN: "true",
    "spark.sql.zonemap.upkeep.follow-commits": "true",
    "spark.sql.zonemap.upkeep.flush-interval": "0s",
}
MISSING = "status = 'missing'"


def insert(spark, table: str, start: int, files: int) -> None:
    values = ["id", "CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'ok' ELSE 'z' END AS status"]
    values.append("map('type', IF(id < 40, 'timer', 'gauge')) AS tags")
    spark.range(start, start + 20 * files, 1, files).selectExpr(*values).writeTo(table).append()


def built(spark, name: str) -> str:
    table = tables.create(spark, f"lake.facts.{name}", "id BIGINT, status STRING, tags MAP<STRING, STRING>")
    insert(spark, table, 0, 2)
    product.call(spark, "build", table, r", facts => 'values(status, tags[\'type\']), bounds(id)'")
    assert files(spark, table, MISSING) == 0
    return table


def files(spark, table: str, where: str) -> int:
    return len(plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE {where}")))


def test_upkeep_builds_the_facts_of_what_is_committed(spark) -> None:
    table = built(spark, "followed")
    with product.raw_conf(spark, UPKEEP):
        assert files(spark, table, "id = 3") == 1
        for start in (40, 60):
            insert(spark, table, start, 1)
            assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(60_000)
    assert product.status(spark, table).covered
    assert (files(spark, table, MISSING), files(spark, table, "tags['type'] = 'gauge'")) == (0, 2)
    spark._jvm.zonemap.spark.HeldIndexes.forget()
    assert files(spark, table, MISSING) == 0, "the store names them"
    assert_rows_equal_off_on(
        spark, f"SELECT * FROM {table} WHERE status <> 'a' AND tags['type'] = 'gauge'", at_least=20
    )
    product.call(spark, "gc", table, ", dry_run => false, older_than_hours => 0")
    assert files(spark, table, MISSING) == 0, "nothing that is named was collected"


def test_refresh_builds_them_once_where_it_is_asked_to(spark) -> None:
    table = built(spark, "refreshed")
    insert(spark, table, 40, 1)
    product.refresh(spark, table)
    assert files(spark, table, MISSING) == 1, "only where it is asked to"
    with product.raw_conf(spark, {MAINTAIN: "true"}):
        insert(spark, table, 60, 1)
        product.refresh(spark, table)
        assert files(spark, table, MISSING) == 0
        before = set(product.store_files(tables.location(spark, table)))
        product.refresh(spark, table)
        assert set(product.store_files(tables.location(spark, table))) == before
