# SPDX-License-Identifier: Apache-2.0
"""`status` while a table is committed to again and again: nothing in it looks broken, and plans prune all the time."""

from __future__ import annotations

import threading
import time

import pytest
from support import product, session, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FOLLOW = "spark.sql.zonemap.upkeep.followCommits.enabled"
SHARE = "spark.sql.zonemap.upkeep.maxCpuShare"


@pytest.fixture(autouse=True)
def _follow(spark):
    """The other suites' sessions do not follow commits."""
    before = spark.conf.get(FOLLOW)
    spark.conf.set(FOLLOW, "true")
    yield
    session.get().conf.set(FOLLOW, before)
    session.get().conf.unset(SHARE)


def append(spark, table: str, start: int) -> None:
    tables.append(spark, table, tables.ranges(1, 10, start), tables.RANGES_DDL)


def await_upkeep(spark) -> None:
    assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)


def test_a_stream_is_fresh_or_catching_up_at_each_look(spark) -> None:
    table = tables.range_table(spark, "lake.stream.committed", files=20)
    product.build(spark, table)
    stop = threading.Event()
    failures: list[Exception] = []

    def write() -> None:
        start = 1000
        while not stop.is_set():
            try:
                append(spark, table, start)
            except Exception as error:
                failures.append(error)
                return
            start += 10
            stop.wait(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not failures and len({s.snapshot_id for s in seen}) < 12:
            seen.append(zonemap.Index(spark, table).status())
    finally:
        stop.set()
        writer.join()
    assert not failures
    assert {s.verdict for s in seen} <= {"fresh", "catching up"}
    behind = [s for s in seen if s.verdict == "catching up"]
    assert behind, "the default share of CPU leaves some commits waiting"
    for found in seen:
        assert found.data_files >= 20 and found.segments >= 1 and found.bounds.startswith("extremes=")
        assert 20 <= found.files_covered <= found.files_total
        assert 1 <= found.snapshots_covered <= found.snapshots_total
        assert found.covered == (found.covered_snapshot_id == found.snapshot_id) == (found.lag_snapshots == 0)
        assert found.files_covered == found.files_total or not found.covered
    for found in behind:
        assert found.lag_snapshots > 0 and found.lag_seconds > 0
        assert f"the index is {found.lag_snapshots} snapshots behind the table: " in found.problem
    await_upkeep(spark)
    found = zonemap.Index(spark, table).status()
    assert (found.verdict, found.covered, found.problem, found.lag_seconds) == ("fresh", True, "", 0.0)


def test_the_example_of_a_hybrid_plan(spark) -> None:
    """The example of docs/guide/upkeep.md: one commit is indexed at once, and the next two wait."""
    table = tables.range_table(spark, "lake.stream.events", files=20)
    product.build(spark, table)
    spark.conf.set(SHARE, "1e-9")
    append(spark, table, 1000)
    deadline = time.monotonic() + 30
    while not zonemap.Index(spark, table).status().covered and time.monotonic() < deadline:
        time.sleep(0.05)
    append(spark, table, 1010)
    append(spark, table, 1020)
    found = zonemap.Index(spark, table).status()
    assert (found.verdict, found.covered, found.lag_snapshots) == ("catching up", False, 2)
    assert (found.data_files, found.files_covered, found.files_total) == (21, 21, 23)
    query = f"SELECT * FROM {table} WHERE id BETWEEN 1005 AND 1014"
    plan = "\n".join(row[0] for row in spark.sql(f"EXPLAIN {query}").collect())
    assert "mode HYBRID" in plan
    assert "files considered: 23" in plan and "kept after zones: 2" in plan
    found = zonemap.Index(spark, table).status()
    assert (found.covered, found.data_files, found.files_covered) == (True, 23, 23)
    assert_planned_by_index(spark, query, mode="EXACT")
    assert len(assert_rows_equal_off_on(spark, query)) == 10
    await_upkeep(spark)


def test_upkeep_off_leaves_a_table_behind(spark) -> None:
    table = tables.range_table(spark, "lake.stream.left_behind", files=2)
    product.build(spark, table)
    with product.conf(spark, upkeep="off"):
        append(spark, table, 100)
        found = zonemap.Index(spark, table).status()
        assert (found.verdict, found.lag_snapshots, found.files_covered, found.files_total) == ("behind", 1, 2, 3)
        assert found.problem.endswith("upkeep.mode=off follows no commits, and refresh_index indexes them")
        assert zonemap.Index(spark, table).refresh().data_files == 3
        assert zonemap.Index(spark, table).status().verdict == "fresh"


def test_tables_of_a_namespace_and_tables_that_the_driver_knows(spark) -> None:
    built = tables.range_table(spark, "lake.stream_many.built", files=2)
    plain = tables.range_table(spark, "lake.stream_many.plain", files=2)
    product.build(spark, built)
    found = {result.table: result.verdict for result in zonemap.Namespace(spark, "lake.stream_many").status()}
    assert found == {built: "fresh", plain: "no index"}
    known = {result.table: result for result in zonemap.index_status(spark)}
    assert known[built].verdict == "fresh" and plain not in known
    location = tables.location(spark, built)
    assert spark.read.format("iceberg").load(location).where("id = 3").count() == 1
    by_path = [r for r in zonemap.index_status(spark) if r.table.endswith("/stream_many/built")]
    assert [r.verdict for r in by_path] == ["fresh"]
    with pytest.raises(Exception, match=r"Cannot show the status of namespace 'lake\.nowhere'"):
        zonemap.Namespace(spark, "lake.nowhere").status()
