# SPDX-License-Identifier: Apache-2.0
"""A queue in the table's folder, beside removals of orphan files and purges."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from ingest import lake
from support import product
from support.session import STOCK

from zonemap.ingest import Writer, listing

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

ROOT = "_zonemap_ingest"


def orphans_removed(spark, table: str, *, prefix_listing: bool) -> set[str]:
    """Removes with Iceberg's action each file that it takes for an orphan, however young; returns their names."""
    jvm = spark._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    action = jvm.org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession).deleteOrphanFiles(loaded)
    action = action.olderThan(time.time_ns() // 1_000_000 + 3_600_000).usePrefixListing(prefix_listing)
    return {location.rpartition("/")[2] for location in action.execute().orphanFileLocations()}


def queue_files(table: Path) -> list[Path]:
    patterns = ["/".join(["*"] * depth) for depth in range(1, 5)]
    return [path for pattern in patterns for path in listing.matching(table / ROOT, pattern) if path.is_file()]


@pytest.mark.parametrize("prefix_listing", [False, True])
def test_a_removal_of_orphan_files_passes_over_the_queue(spark, sqlite: Path, base: Path, prefix_listing: bool) -> None:
    table = f"orphans_{prefix_listing}".lower()
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.ingest")
    spark.sql(
        f"CREATE TABLE lake.ingest.{table} (id BIGINT, _zonemap_ingest STRING) USING iceberg "
        f"PARTITIONED BY (_zonemap_ingest) TBLPROPERTIES ('zonemap.ingest.root' = '{ROOT}')"
    )
    catalog = lake.python_catalog(sqlite, f"file:{base / 'ingest'}")
    rows = pa.table({"id": [1, 2], ROOT: ["a", "b"]})
    with Writer(f"lake.ingest.{table}", catalog=catalog, lane="a") as writer:
        writer.write(rows)
        assert product.call(spark, "ingest_commit", f"lake.ingest.{table}")[0].outcome == "committed"
        pending = writer.write(rows)
        folder = Path(pending.record.removeprefix("file:").split(f"/{ROOT}/")[0])
        (folder / "queue").mkdir()
        (folder / "queue" / "orphan.json").write_text("x")
        queue = queue_files(folder)
        assert {"queue-id.json", Path(pending.record).name} < {path.name for path in queue}
        removed = orphans_removed(spark, f"lake.ingest.{table}", prefix_listing=prefix_listing)
        assert removed == {"orphan.json", *(Path(file).name for file in pending.files)}
        assert queue_files(folder) == queue
    catalog.close()
