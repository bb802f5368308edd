# SPDX-License-Identifier: Apache-2.0
"""The index follows the commits of this application and of others; segments merge; old files are removed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from support import plans, product, session, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, assert_skips
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


FOLLOW = "spark.sql.zonemap.upkeep.followCommits.enabled"
SHARE = "spark.sql.zonemap.upkeep.maxCpuShare"


@pytest.fixture(autouse=True)
def _follow(spark):
    """Turns on following of commits, which the other suites turn off to compare plans, and does not delay commits."""
    before = spark.conf.get(FOLLOW)
    spark.conf.set(FOLLOW, "true")
    spark.conf.set(SHARE, "1")
    yield
    session.get().conf.set(FOLLOW, before)  # a test may have restarted the JVM
    session.get().conf.unset(SHARE)


def append(spark, table: str, start: int) -> None:
    tables.append(spark, table, tables.ranges(1, 10, start), tables.RANGES_DDL)


def eventually(holds, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert holds()


def covered(spark, table: str) -> bool:
    return product.status(spark, table).covered


def test_commits_of_this_application_are_indexed_without_a_query(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.followed", files=2)
    product.build(spark, table)
    spark.sql(f"SELECT * FROM {table} WHERE id = 3").collect()
    for k in range(3):
        append(spark, table, 100 + 10 * k)
        eventually(lambda: covered(spark, table))
    status = product.status(spark, table)
    assert (status.covered, status.lag_snapshots, status.data_files) == (True, 0, 5)


def test_upkeep_off_follows_nothing(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.left_alone", files=2)
    product.build(spark, table)
    with product.conf(spark, upkeep="off"):
        spark.sql(f"SELECT * FROM {table} WHERE id = 3").collect()
        append(spark, table, 100)
        time.sleep(1.0)
        assert not covered(spark, table)


@pytest.mark.parametrize(("key", "value"), [("upkeep.mode", "memory"), ("upkeep.followCommits.enabled", "false")])
def test_the_committing_session_decides(spark, key: str, value: str) -> None:
    """A session with upkeep that writes stores builds the table; this session's upkeep does not write stores."""
    table = tables.range_table(spark, f"lake.upkeep.decides_{value}", files=2)
    product.build(spark, table)
    before = product.store_files(tables.location(spark, table))
    with product.raw_conf(spark, {f"spark.sql.zonemap.{key}": value}):
        append(spark, table, 100)
        time.sleep(1.0)
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
        assert covered(spark, table) is (value == "memory")
    assert product.store_files(tables.location(spark, table)) == before


def test_the_store_follows_too(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.stored", files=2)
    product.build(spark, table)
    with product.raw_conf(spark, {"spark.sql.zonemap.upkeep.flushInterval": "0s"}):
        spark.sql(f"SELECT * FROM {table} WHERE id = 3").collect()
        append(spark, table, 100)
        versions = product.store_folder(tables.location(spark, table))
        wanted = str(tables.snapshot_id(spark, table))
        eventually(lambda: any(p.name == wanted for p in versions.rglob("versions/*")))


def test_levels_are_told_and_merge_lifts_them(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.merged", files=2)
    product.build(spark, table)
    assert product.status(spark, table).levels == "day=1 hour=0 micro=0"
    for k in range(3):
        append(spark, table, 100 + 10 * k)
        product.refresh(spark, table)
    rows = {row.level: row for row in product.call(spark, "compact_index", table)}
    assert list(rows) == ["day", "hour", "micro", "deletes"]
    assert rows["micro"].segments_before >= 1 and rows["micro"].segments_after == 0
    assert rows["hour"].segments_after == 1 and rows["hour"].bytes_after > 0
    assert product.status(spark, table).levels == "day=1 hour=1 micro=0"
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id BETWEEN 3 AND 115")


def test_compaction_and_merge_leave_the_rows(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.compacted", files=6)
    product.build(spark, table)
    for k in range(3):
        append(spark, table, 100 + 10 * k)
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"
    ).collect()
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id BETWEEN 3 AND 115")
    spark.sql(f"CALL lake.system.rewrite_manifests(table => '{table}')").collect()
    product.call(spark, "compact_index", table)
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id BETWEEN 3 AND 115")
    assert len(spark.sql(f"SELECT * FROM {table}").collect()) == 90


def test_gc_lists_first_and_deletes_only_what_nothing_needs(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.collected", files=2)
    product.build(spark, table)
    for k in range(3):
        append(spark, table, 100 + 10 * k)
        product.refresh(spark, table)
    product.call(spark, "compact_index", table)
    spark.sql(
        f"CALL lake.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
    )
    location = tables.location(spark, table)
    assert product.call(spark, "collect_garbage", table) == []
    old = time.time() - 48 * 3600
    for path in product.store_files(location):
        os.utime(path, (old, old))
    listed = product.call(spark, "collect_garbage", table)
    assert {row.reason for row in listed} == {"its snapshot is expired", "no version of a retained snapshot names it"}
    held = {p.name for p in product.store_files(location)}
    assert {Path(row.path).name for row in listed} <= held
    deleted = product.call(spark, "collect_garbage", table, ", dry_run => false")
    assert [row[:-1] for row in deleted] == [row[:-1] for row in listed]
    assert all(row.deleted for row in deleted) and not any(row.deleted for row in listed)
    assert {p.name for p in product.store_files(location)} == held - {Path(row.path).name for row in listed}
    spark = session.restart()
    with product.conf(spark, upkeep="off"):
        assert len(plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE id = 105"))) == 1
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id BETWEEN 3 AND 115")
    assert product.call(spark, "collect_garbage", table) == []


@pytest.mark.parametrize("hours", ["-1", "NULL"])
def test_gc_refuses_a_grace_time_that_is_none(spark, hours: str) -> None:
    table = tables.range_table(spark, "lake.upkeep.grace", files=1)
    with pytest.raises(Exception, match="older_than_hours"):
        product.call(spark, "collect_garbage", table, f", older_than_hours => {hours}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("merge.policy", "sometimes"),
        ("merge.limit", "0"),
        ("merge.forcedEvery", "-1"),
        ("merge.hardCap", "1"),
        ("upkeep.flushInterval", "soon"),
        ("upkeep.flushManifests", "0"),
        ("hot.window", "long"),
    ],
)
def test_a_malformed_value_is_refused_by_key(spark, key: str, value: str) -> None:
    table = tables.range_table(spark, "lake.upkeep.malformed", files=1)
    with product.raw_conf(spark, {f"spark.sql.zonemap.{key}": value}):
        with pytest.raises(Exception, match=rf"Cannot use spark\.sql\.zonemap\.{key}='{value}': allowed are"):
            product.status(spark, table)
        assert len(spark.sql(f"SELECT * FROM {table}").collect()) == 10


def test_over_the_cap_the_index_goes_to_local_files_and_is_not_read_again(spark) -> None:
    table = tables.range_table(spark, "lake.upkeep.spilled", files=200)
    query = f"SELECT id, s FROM {table} WHERE id BETWEEN 25 AND 31"
    # manifests and other names stay on the heap, about 10 KB: a smaller cap would evict the snapshot
    cap = {"spark.sql.zonemap.hot.maxBytes": "24k", "spark.sql.zonemap.coverOnRead": "wait"}
    with product.conf(spark, upkeep="memory"), product.raw_conf(spark, cap):
        for k in range(4):
            spark.sql(query).collect()
            append(spark, table, 10_000 + 10 * k)
        assert_skips(spark, table, "id BETWEEN 25 AND 31", at_least=8)
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
        status = product.status(spark, table)
        assert status.covered and status.spilled_bytes > 0 and status.memory_bytes <= 24576
        assert_planned_by_index(spark, query, mode="EXACT")
        assert len(assert_rows_equal_off_on(spark, query)) == 7
    assert product.store_files(tables.location(spark, table)) == []
