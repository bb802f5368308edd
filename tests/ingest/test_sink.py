# SPDX-License-Identifier: Apache-2.0
"""Streams and batches append to a queue, a committer makes them visible, and queries are planned from the index."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import functions as f
from pyspark.sql.types import LongType
from support import product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FORMAT = "zonemap-ingest"
DDL = "id BIGINT, device INT, at TIMESTAMP"
COLUMNS = ("id", "CAST(id % 7 AS INT) AS device", "timestamp_seconds(1767225600 + id * 600) AS at")


def table(spark, name: str) -> str:
    return tables.create(spark, f"lake.ingest.{name}", DDL, partitioned="days(at), bucket(2, id)")


def values(spark, start: int, end: int):
    return spark.range(start, end, 1, 2).selectExpr(*COLUMNS)


def append(spark, name: str, start: int, end: int) -> None:
    values(spark, start, end).write.format(FORMAT).mode("append").save(name)


def commit(spark, name: str):
    return product.call(spark, "ingest_commit", name)[0]


def ids(spark, name: str) -> list[int]:
    """The ids of the table, as Iceberg alone plans them."""
    with product.off(spark):
        return sorted(row.id for row in spark.sql(f"SELECT id FROM {name}").collect())


class Files:
    """A folder of Parquet files as the source of a stream: each step adds ids and runs the query to its end."""

    def __init__(self, spark, name: str, folder: Path) -> None:
        self.spark, self.table, self.folder, self.next = spark, name, folder, 0

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def add(self, rows: int) -> None:
        frame = values(self.spark, self.next, self.next + rows)
        frame.coalesce(1).write.mode("append").parquet(str(self.folder / "in"))
        self.next += rows

    def run(self) -> None:
        source = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", "1").parquet(str(self.folder / "in"))
        query = (
            source.writeStream.format(FORMAT)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start(self.table)
        )
        assert query.awaitTermination(120)

    def forget_last_epoch(self) -> None:
        """Deletes the last entry of the log of finished epochs, so that the next start repeats the epoch."""
        log = self.checkpoint / "commits"
        last = max((p for p in log.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
        last.unlink()
        (log / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_stream_of_files_is_committed_and_read(spark, tmp_path: Path) -> None:
    name = table(spark, "files")
    stream = Files(spark, name, tmp_path)
    for _ in range(3):
        stream.add(50)
        stream.run()
    assert ids(spark, name) == []
    row = commit(spark, name)
    assert (row.outcome, row.records, row["rows"]) == ("committed", 3, 150)
    assert ids(spark, name) == list(range(150))
    product.build(spark, name)
    query = f"SELECT * FROM {name} WHERE at >= TIMESTAMP'2026-01-01 20:00:00' AND device = 3"
    assert_rows_equal_off_on(spark, query, at_least=1)


@pytest.mark.parametrize("committed", [True, False])
def test_an_epoch_that_is_repeated_counts_once(spark, tmp_path: Path, committed: bool) -> None:
    name = table(spark, f"repeated_{committed}".lower())
    stream = Files(spark, name, tmp_path)
    for _ in range(3):
        stream.add(20)
        stream.run()
    if committed:
        commit(spark, name)
    stream.forget_last_epoch()
    stream.run()
    stream.add(20)
    stream.run()
    commit(spark, name)
    assert ids(spark, name) == list(range(80))
    assert product.call(spark, "ingest_status", name)[0].pending_records == 0


def test_two_drivers_on_copies_of_one_checkpoint(spark, tmp_path: Path) -> None:
    name = table(spark, "copies")
    stream = Files(spark, name, tmp_path / "first")
    stream.add(20)
    stream.run()
    shutil.copytree(stream.checkpoint, tmp_path / "copy")
    stream.add(20)
    stream.run()
    shutil.rmtree(stream.checkpoint)
    (tmp_path / "copy").rename(stream.checkpoint)
    stream.run()
    commit(spark, name)
    assert ids(spark, name) == list(range(40))


def test_a_committer_of_the_driver_and_a_stream_beside_direct_commits(spark, tmp_path: Path) -> None:
    name = table(spark, "beside")
    with product.raw_conf(spark, {"spark.sql.zonemap.ingest.interval": "200ms"}):
        assert product.call(spark, "ingest_start", name)[0].started
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).load()
    query = (
        source.selectExpr("value AS id", "CAST(value % 7 AS INT) AS device", "timestamp AS at")
        .writeStream.format(FORMAT)
        .option("checkpointLocation", str(tmp_path))
        .trigger(processingTime="300 milliseconds")
        .start(name)
    )
    try:
        for k in range(3):
            values(spark, -20 * (k + 1), -20 * k).writeTo(name).append()
            time.sleep(1)
    finally:
        query.stop()
    rows = product.call(spark, "ingest_wait", name)
    assert {row.state for row in rows} <= {"visible"}
    assert product.call(spark, "ingest_stop", name)[0].stopped
    found = ids(spark, name)
    streamed = [i for i in found if i >= 0]
    assert found == list(range(-60, 0)) + streamed
    assert streamed == list(range(len(streamed))) and len(streamed) >= 40


def test_a_task_that_fails_is_repeated_and_its_rows_count_once(spark, tmp_path: Path) -> None:
    name = table(spark, "retried")
    marker = tmp_path / "failed"

    def fail_once(value):
        if value == 37 and not marker.exists():
            marker.touch()
            raise RuntimeError("planted")
        return value

    frame = values(spark, 0, 50).withColumn("id", f.udf(fail_once, LongType())("id"))
    frame.write.format(FORMAT).mode("append").save(name)
    assert marker.exists()
    row = commit(spark, name)
    assert (row.records, row["rows"]) == (1, 50)
    assert ids(spark, name) == list(range(50))


def test_a_job_that_fails_appends_nothing(spark) -> None:
    name = table(spark, "failed")
    with pytest.raises(Exception, match="planted"):
        values(spark, 0, 50).withColumn("id", f.expr("IF(id = 49, raise_error('planted'), id)")).write.format(
            FORMAT
        ).mode("append").save(name)
    assert commit(spark, name).outcome == "idle"
    assert ids(spark, name) == []


@pytest.mark.parametrize("by", ["option", "insert"])
def test_writes_by_name(spark, by: str) -> None:
    name = table(spark, f"named_{by}")
    if by == "option":
        values(spark, 0, 20).writeTo(name).option(FORMAT, "true").append()
    else:
        columns = ", ".join(COLUMNS)
        spark.sql(f"INSERT INTO {name} WITH (`{FORMAT}` = 'true') SELECT {columns} FROM range(20)")
    assert ids(spark, name) == []
    commit(spark, name)
    assert ids(spark, name) == list(range(20))


def test_a_query_after_a_commit_is_planned_from_the_index(spark) -> None:
    name = table(spark, "fresh")
    append(spark, name, 0, 50)
    commit(spark, name)
    product.build(spark, name)
    spark.sql(f"SELECT * FROM {name} WHERE id = 3").collect()
    for start in (1000, 2000, 3000):
        append(spark, name, start, start + 50)
        commit(spark, name)
        assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
        query = f"SELECT * FROM {name} WHERE id = {start + 7}"
        assert_planned_by_index(spark, query, mode="EXACT")
        assert_rows_equal_off_on(spark, query, at_least=1)


def test_appends_of_eight_producers_become_visible_in_one_snapshot(spark) -> None:
    name = table(spark, "producers")
    for k in range(8):
        append(spark, name, 10 * k, 10 * k + 10)
    row = commit(spark, name)
    assert (row.records, row["rows"]) == (8, 80)
    assert spark.sql(f"SELECT * FROM {name}.snapshots").count() == 1
    assert ids(spark, name) == list(range(80))
