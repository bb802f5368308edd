# SPDX-License-Identifier: Apache-2.0
"""A stream continues while its table is compacted, cleaned and altered: the index follows without a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, assert_skips, files_off_on
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

DDL = "id BIGINT, ts TIMESTAMP, device INT, value DOUBLE"
MERGE_ON_READ = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.delete.granularity": "partition",
}
QUERIES = (
    "SELECT * FROM {t} WHERE id BETWEEN 130 AND 260",
    "SELECT * FROM {t} WHERE ts >= TIMESTAMP'2026-01-01 00:01:30' AND device <> 3",
)


class Stream:
    """A structured streaming query over a folder; `go` writes two files for each micro-batch."""

    def __init__(self, spark, table: str, folder: Path) -> None:
        self.spark, self.table, self.folder, self.next = spark, table, folder, 0

    def go(self, batches: int) -> None:
        for _ in range(batches):
            first = self.next * 50
            rows = self.spark.range(first, first + 50, 1, 2).selectExpr(
                "id", "timestamp_seconds(1767225600 + id) AS ts", "CAST(id % 7 AS INT) AS device", "id / 2D AS value"
            )
            rows.write.mode("append").parquet(str(self.folder / "in"))
            self.next += 1
        source = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", "2").parquet(str(self.folder / "in"))
        query = source.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        assert query.trigger(availableNow=True).toTable(self.table).awaitTermination(120)


def upkeep_is_done(spark, table: str) -> None:
    assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(60_000)
    assert product.status(spark, table).covered


@pytest.fixture
def following(spark):
    with product.raw_conf(
        spark,
        {
            "spark.sql.zonemap.upkeep.followCommits.enabled": "true",
            "spark.sql.zonemap.upkeep.mode": "persist",
            "spark.sql.zonemap.upkeep.flushInterval": "0s",
        },
    ):
        yield spark


STEPS = {
    "merge-on-read delete": "DELETE FROM {t} WHERE device = 5 AND id < 200",
    "position deletes": "CALL lake.system.rewrite_position_delete_files(table => '{t}', options => map('rewrite-all', 'true'))",
    "binpack, by deletes": "CALL lake.system.rewrite_data_files(table => '{t}', options => map('delete-file-threshold', '1'))",
    "update": "UPDATE {t} SET value = value + 100 WHERE id BETWEEN 140 AND 150",
    "sort": "CALL lake.system.rewrite_data_files(table => '{t}', strategy => 'sort', sort_order => 'device, id', options => map('rewrite-all', 'true'))",
    "a column more": "ALTER TABLE {t} ADD COLUMN note STRING",
    "z-order": "CALL lake.system.rewrite_data_files(table => '{t}', strategy => 'sort', sort_order => 'zorder(id, device)', options => map('rewrite-all', 'true'))",
    "manifests": "CALL lake.system.rewrite_manifests(table => '{t}')",
    "expiry": "CALL lake.system.expire_snapshots(table => '{t}', older_than => TIMESTAMP'2100-01-01 00:00:00', retain_last => 2)",
    "a wider column": "ALTER TABLE {t} ALTER COLUMN device TYPE BIGINT",
}


def test_a_stream_beside_maintenance(following, tmp_path) -> None:
    spark = following
    table = tables.create(spark, "lake.upkeep.stream", DDL, props=MERGE_ON_READ)
    stream = Stream(spark, table, tmp_path)
    stream.go(2)
    product.build(spark, table)
    for name, step in STEPS.items():
        spark.sql(step.format(t=table)).collect()
        stream.go(1)
        upkeep_is_done(spark, table)
        for query in QUERIES:
            assert_rows_equal_off_on(spark, query.format(t=table), at_least=1)
            assert_planned_by_index(spark, query.format(t=table), mode="EXACT")
        theirs, ours = files_off_on(spark, QUERIES[0].format(t=table))
        assert ours <= theirs, name
    assert spark.sql(f"SELECT count(DISTINCT id) FROM {table} WHERE device <> 5").collect()[0][0] > 400
    assert_skips(spark, table, f"id >= {(stream.next - 1) * 50}", at_least=2)


def test_a_branch_that_main_is_forwarded_to(following) -> None:
    spark = following
    table = tables.range_table(spark, "lake.upkeep.forwarded", files=3)
    product.build(spark, table)
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {table}.branch_audit SELECT id + 100, s, d, m FROM {table}")
    query = f"SELECT id FROM {table} WHERE id BETWEEN 115 AND 118"
    assert assert_rows_equal_off_on(spark, query) == []
    spark.sql(f"CALL lake.system.fast_forward('{table}', 'main', 'audit')").collect()
    upkeep_is_done(spark, table)
    assert sorted(r.id for r in assert_rows_equal_off_on(spark, query)) == [115, 116, 117, 118]
    assert_planned_by_index(spark, query, mode="EXACT")
    spark.sql(f"CREATE OR REPLACE TABLE {table} USING iceberg AS SELECT id * 2 AS id, s FROM {table} WHERE id > 100")
    assert sorted(r.id for r in assert_rows_equal_off_on(spark, query)) == []
    assert_rows_equal_off_on(spark, f"SELECT id, s FROM {table} WHERE id BETWEEN 220 AND 230", at_least=6)
