# SPDX-License-Identifier: Apache-2.0
"""Spark's and Iceberg's handling of a scan is unchanged: joins, pushdown, statistics, metrics, caches."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows
from support.session import STOCK

SPJ = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
DPP = {"spark.sql.optimizer.dynamicPartitionPruning.enabled": "true", "spark.sql.adaptive.enabled": "false"}


def both(spark, sql: str, confs: dict[str, str]) -> tuple[plans.Executed, plans.Executed]:
    with product.raw_conf(spark, confs):
        with product.off(spark):
            stock = plans.execute(spark.sql(sql))
        with product.on(spark):
            ours = plans.execute(spark.sql(sql))
    assert_same_rows(ours.rows, stock.rows, sql)
    return stock, ours


def test_storage_partitioned_join_has_no_exchange(spark, lake) -> None:
    for name in ("left", "right"):
        table = tables.create(spark, f"lake.opt.{name}", tables.RANGES_DDL, partitioned="bucket(4, id)")
        tables.append(spark, table, tables.ranges(2, 20), tables.RANGES_DDL)
        product.build(spark, table)
    query = "SELECT l.id, r.d FROM lake.opt.left l JOIN lake.opt.right r ON l.id = r.id WHERE l.id < 15"
    stock, ours = both(spark, query, SPJ)
    assert "Exchange" not in stock.plan
    assert "Exchange" not in ours.plan
    assert len(ours.rows) == 15


def test_dynamic_partition_pruning(spark, lake) -> None:
    query = "SELECT p.id FROM lake.q.part p JOIN lake.q.dim d ON p.m = d.m WHERE d.tier = 'gold'"
    stock, ours = both(spark, query, DPP)
    assert "dynamicpruning" in ours.plan.lower()
    assert len(ours.files & stock.files) == len(stock.files)
    part = [f for f in ours.files if "/part/" in f]
    assert len(part) == 8 and all("m=3" in f for f in part)


def test_runtime_filter_of_a_semi_join(spark, lake) -> None:
    query = "SELECT id FROM lake.q.part WHERE m IN (SELECT m FROM lake.q.dim WHERE name = 'n4')"
    stock, ours = both(spark, query, DPP)
    assert len([f for f in ours.files if "/part/" in f]) == len([f for f in stock.files if "/part/" in f]) == 8


AGGREGATES = {
    "count": ("SELECT count(*) FROM lake.q.fact", True),
    "min and max": ("SELECT min(id), max(id), count(d) FROM lake.q.fact", True),
    "count of a partition": ("SELECT count(*) FROM lake.q.part WHERE m = 3", True),
    "max of a string is not exact": ("SELECT max(s) FROM lake.q.fact", False),
    "count of a filter": ("SELECT count(*) FROM lake.q.fact WHERE id < 12", False),
    "group": ("SELECT m, count(*) FROM lake.q.part GROUP BY m", None),
}


@pytest.mark.parametrize("case", AGGREGATES)
def test_aggregate_pushdown_is_kept(spark, lake, case: str) -> None:
    query, pushed = AGGREGATES[case]
    stock, ours = both(spark, query, {"spark.sql.zonemap.aggregates.enabled": "false"})
    assert ("LocalTableScan" in ours.plan) == ("LocalTableScan" in stock.plan)
    if pushed is not None:
        assert ("LocalTableScan" in stock.plan) == pushed


def test_aggregate_pushdown_with_deletes_counts_live_rows(spark, lake) -> None:
    table = tables.range_table(spark, "lake.opt.deleted", props={"write.delete.mode": "merge-on-read"})
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id IN (0, 79)")
    rows = assert_rows_equal_off_on(spark, f"SELECT count(*), min(id), max(id) FROM {table}")
    assert tuple(rows[0]) == (78, 1, 78)


@pytest.mark.parametrize("where", ["true", "id < 25", "m = 3", "m = 3 AND id > 50", "id > 1000"])
def test_scan_metrics_equal_iceberg(spark, lake, where: str) -> None:
    """All metrics equal Iceberg's except those of manifests, because the index reads no manifest."""
    stock, ours = both(spark, f"SELECT id FROM lake.q.part WHERE {where}", {})
    names = (
        "resultDataFiles",
        "skippedDataFiles",
        "resultDeleteFiles",
        "skippedDeleteFiles",
        "totalFileSize",
        "totalDataManifest",
        "numSplits",
        "numDeletes",
    )
    for name in names:
        for mine, theirs in zip(ours.metrics, stock.metrics, strict=True):
            if name in theirs:
                assert mine[name] == theirs[name], name
    if not STOCK and ours.metrics and where != "true":
        assert ours.metrics[0].get("scannedDataManifests", 0) == 0


@pytest.mark.parametrize("where", ["true", "id < 25", "m = 3", "id > 1000"])
def test_optimizer_statistics_equal_iceberg(spark, lake, where: str) -> None:
    query = f"SELECT id FROM lake.q.part WHERE {where}"
    with product.off(spark):
        stock = plans.estimated_bytes(spark.sql(query))
    with product.on(spark):
        assert plans.estimated_bytes(spark.sql(query)) == stock


def test_small_side_is_still_broadcast(spark, lake) -> None:
    query = "SELECT f.id FROM lake.q.fact f JOIN lake.q.dim d ON f.m = d.m"
    stock, ours = both(spark, query, {"spark.sql.adaptive.enabled": "false"})
    assert "BroadcastHashJoin" in stock.plan
    assert "BroadcastHashJoin" in ours.plan


def test_vectorized_reads_are_kept(spark, lake) -> None:
    stock, ours = both(spark, "SELECT * FROM lake.q.fact WHERE id < 15", {})
    assert "ColumnarToRow" in stock.plan
    assert "ColumnarToRow" in ours.plan


def test_exchange_and_scan_reuse(spark, lake) -> None:
    query = "SELECT * FROM (SELECT m, sum(d) x FROM lake.q.fact WHERE id < 30 GROUP BY m) a JOIN (SELECT m, sum(d) x FROM lake.q.fact WHERE id < 30 GROUP BY m) b ON a.m = b.m"
    confs = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "2",
    }
    stock, ours = both(spark, query, confs)
    assert ("ReusedExchange" in ours.plan) == ("ReusedExchange" in stock.plan)


def test_different_filters_are_not_reused(spark, lake) -> None:
    query = "SELECT (SELECT count(d) FROM lake.q.fact WHERE id < 10 AND d >= 0), (SELECT count(d) FROM lake.q.fact WHERE id < 20 AND d >= 0)"
    assert tuple(assert_rows_equal_off_on(spark, query)[0]) == (10, 20)


def test_cached_data_frame_hits_and_sees_commits(spark, lake) -> None:
    table = tables.range_table(spark, "lake.opt.cached", files=2)
    product.build(spark, table)
    with product.on(spark):
        df = spark.table(table).where("id < 15")
        df.cache()
        try:
            assert df.count() == 15
            assert "InMemoryTableScan" in plans.plan_text(spark.table(table).where("id < 15"))
            spark.sql(f"INSERT INTO {table} VALUES (-1, 'new', 0.0, 0)")
            again = spark.table(table).where("id < 15")
            assert "InMemoryTableScan" in plans.plan_text(again)
            assert again.count() == 16
        finally:
            df.unpersist()


def test_a_cached_table_answers_sql_of_its_name(spark, lake) -> None:
    """Spark resolves new queries of a cached table to the same table object as the cached plan."""
    table = tables.range_table(spark, "lake.opt.cached_by_name", files=2)
    product.build(spark, table)
    queries = (f"SELECT * FROM {table}", f"SELECT id FROM {table} WHERE id >= 15")

    def hits() -> list[bool]:
        frames = [spark.sql(query) for query in queries] + [spark.table(table)]
        plans = [frame._jdf.queryExecution().executedPlan().toString() for frame in frames]
        assert [len(frame.collect()) for frame in frames] == [20, 5, 20]
        return ["InMemoryTableScan" in plan for plan in plans]

    for switch, other in ((product.off, product.on), (product.on, product.off)):
        with switch(spark):
            cached = spark.table(table).cache()
            assert cached.count() == 20
            assert hits() == [True] * 3
        before = product.counters(spark)
        with other(spark):
            hits()
        if not STOCK and switch is product.on:
            assert (product.counters(spark) - before).planned_scans == 0
        cached.unpersist(True)


def test_cache_table(spark, lake) -> None:
    table = tables.range_table(spark, "lake.opt.cache_table", files=2)
    product.build(spark, table)
    with product.on(spark):
        spark.sql(f"CACHE TABLE hot OPTIONS ('storageLevel' 'MEMORY_ONLY') SELECT * FROM {table} WHERE id >= 10")
        assert spark.sql("SELECT count(*) FROM hot WHERE id < 15").collect()[0][0] == 5
        spark.sql("UNCACHE TABLE hot")
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id >= 10")) == 10


def test_no_file_is_planned_twice(spark, lake) -> None:
    tasks = plans.planned_tasks(spark.sql("SELECT * FROM lake.q.fact"))
    assert len(tasks) == len(set(tasks)) == 8


def test_splits_of_large_files(spark, lake) -> None:
    table = tables.create(
        spark,
        "lake.opt.split",
        tables.RANGES_DDL,
        props={
            "write.parquet.row-group-size-bytes": "1000",
            "read.split.target-size": "3000",
            "read.split.open-file-cost": "100",
        },
    )
    tables.append(spark, table, tables.ranges(2, 3000), tables.RANGES_DDL)
    product.build(spark, table)
    query = f"SELECT * FROM {table} WHERE id >= 2990 AND id < 3010"
    _, ours = both(spark, query, {})
    assert len(ours.rows) == 20
    with product.off(spark):
        theirs = spark.sql(query).rdd.getNumPartitions()
    assert spark.sql(query).rdd.getNumPartitions() == theirs > 1
