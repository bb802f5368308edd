# SPDX-License-Identifier: Apache-2.0
"""Facts of files written after the build: upkeep and refresh build them if they are configured to do so."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

MAINTAIN = "spark.sql.zonemap.upkeep.maintainFacts.enabled"
UPKEEP = {
    MAINTAIN: "true",
    "spark.sql.zonemap.upkeep.followCommits.enabled": "true",
    "spark.sql.zonemap.upkeep.flushInterval": "0s",
}
MISSING = "status = 'missing'"


def insert(spark, table: str, start: int, files: int) -> None:
    values = ["id", "CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'ok' ELSE 'z' END AS status"]
    values.append("map('type', IF(id < 40, 'timer', 'gauge')) AS tags")
    spark.range(start, start + 20 * files, 1, files).selectExpr(*values).writeTo(table).append()


def built(spark, name: str) -> str:
    table = tables.create(spark, f"lake.facts.{name}", "id BIGINT, status STRING, tags MAP<STRING, STRING>")
    insert(spark, table, 0, 2)
    product.call(spark, "build_index", table, r", facts => 'values(status, tags[\'type\']), bounds(id)'")
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
    product.call(spark, "collect_garbage", table, ", dry_run => false, older_than_hours => 0")
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


def test_facts_are_maintained_through_a_rewrite_of_all_files(spark) -> None:
    """The rewritten file has too many values for a set of values: only that fact is without effect, for that file."""
    table = tables.create(spark, "lake.facts.rewritten", "id BIGINT, v STRING")
    spark.range(0, 1200, 1, 6).selectExpr("id", "concat('u', id) AS v").writeTo(table).append()
    product.call(spark, "build_index", table, ", facts => 'values(v), bloom(v)', max_fact_share => 9")
    spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'facts.rewritten', options => map('rewrite-all', 'true'))"
    ).collect()
    assert spark.sql(f"SELECT * FROM {table}.files").count() == 1
    with product.raw_conf(spark, {MAINTAIN: "true"}):
        product.refresh(spark, table)
        assert "values(v)" in product.status(spark, table).facts
        assert "bloom(v)" in product.status(spark, table).facts
        assert files(spark, table, "v = 'u77x'") == 0, "the bloom filter of the rewritten file"
        spark.range(5000, 5010, 1, 1).selectExpr("id", "concat('w', id) AS v").writeTo(table).append()
        product.refresh(spark, table)
        assert files(spark, table, "v = 'w5003x'") == 0
        assert files(spark, table, "v LIKE 'w%3x'") == 0, "the values of the new file, the bounds of the other"
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE v IN ('u77', 'w5003')", at_least=2)


def test_facts_of_a_table_that_was_emptied_are_built_for_its_next_files(spark) -> None:
    table = built(spark, "emptied")
    with product.raw_conf(spark, {MAINTAIN: "true"}):
        for start in (40, 80):
            spark.sql(f"DELETE FROM {table}")
            product.refresh(spark, table)
            product.refresh(spark, table)
            assert "values(status)" in product.status(spark, table).facts, "the facts stay known"
            insert(spark, table, start, 2)
            product.refresh(spark, table)
            assert (files(spark, table, MISSING), files(spark, table, "tags['type'] = 'gauge'")) == (0, 2)
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE status <> 'a'", at_least=20)


def test_an_explicit_build_after_a_rewrite_refuses_no_fact_of_the_table(spark) -> None:
    table = tables.create(spark, "lake.facts.rebuilt", "id BIGINT, v STRING")
    spark.range(0, 1200, 1, 6).selectExpr("id", "concat('u', id) AS v").writeTo(table).append()
    facts = "facts => 'values(v), bloom(v)'"
    product.call(spark, "build_index", table, f", {facts}, max_fact_share => 9")
    spark.sql(
        "CALL lake.system.rewrite_data_files(table => 'facts.rebuilt', options => map('rewrite-all', 'true'))"
    ).collect()
    product.call(spark, "build_index", table, f", {facts}, estimate => true")
    product.call(spark, "build_index", table, f", {facts}, max_fact_share => 1e-9D")
    assert files(spark, table, "v = 'u77x'") == 0
    with pytest.raises(Exception, match="more than 256 distinct values"):
        product.call(spark, "build_index", table, ", facts => 'bloom(v), values(id)'")
    assert files(spark, table, "v = 'u77x'") == 0, "a refused fact drops no other"
    assert "values(id)" not in product.status(spark, table).facts
