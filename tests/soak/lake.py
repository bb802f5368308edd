# SPDX-License-Identifier: Apache-2.0
"""The tables of the soak: one that a stream appends to, one with row-level commands, one that is dropped and made again."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import tables

DDL = "id BIGINT, ts TIMESTAMP, device INT, value DOUBLE"
STREAM, ROWS, AGAIN = "lake.soak.stream", "lake.soak.rows", "lake.soak.again"
TABLES = (STREAM, ROWS, AGAIN)
#: Columns of `range` ids, as SQL of the id: all tables have these rows, so that joins and subqueries find partners.
SELECT = (
    "id",
    "timestamp_seconds(1767225600 + id * 20) AS ts",
    "CAST(id % 7 AS INT) AS device",
    "CAST((id * 7919) % 1000 AS DOUBLE) AS value",
)
MERGE_ON_READ = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
#: Sessions see each commit at once: a query is compared with the snapshots around it.
CONFS = {"spark.sql.catalog.lake.cache-enabled": "false"}
#: The index follows each commit and is written soon; caches are small, so that parts are loaded again and again.
PRODUCT = {
    "spark.sql.zonemap.coverOnRead": "background",
    "spark.sql.zonemap.upkeep.mode": "persist",
    "spark.sql.zonemap.upkeep.followCommits.enabled": "true",
    "spark.sql.zonemap.upkeep.maxCpuShare": "0.2",
    "spark.sql.zonemap.upkeep.flushInterval": "1s",
    "spark.sql.zonemap.hot.maxBytes": "1m",
}


def session(spark: SparkSession, confs: dict[str, str] | None = None) -> SparkSession:
    """Opens a session that sees each commit at once, with the product's confs of the soak."""
    opened = spark.newSession()
    for key, value in (CONFS | PRODUCT | (confs or {})).items():
        opened.conf.set(key, value)
    opened.sql("SHOW NAMESPACES IN lake").collect()  # loads the catalog, which calls from other threads cannot
    return opened


#: Errors of a table that is dropped, and one of a table that is dropped while it is loaded.
GONE, HALF_GONE = ("NotFound", "NoSuchTable", "cannot be found"), "Metadata file for version"


def create(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.soak")
    tables.create(spark, STREAM, DDL)
    tables.create(spark, ROWS, DDL, partitioned="bucket(2, device)", props=MERGE_ON_READ)
    tables.create(spark, AGAIN, DDL)
    for name in TABLES:
        append(spark, name, 0, 400)


def append(spark: SparkSession, name: str, start: int, end: int) -> None:
    """Commits the rows of these ids in two files."""
    spark.range(start, end, 1, 2).selectExpr(*SELECT).writeTo(name).append()


def snapshots(spark: SparkSession, name: str) -> list[int]:
    """The history of the table, the oldest snapshot first; empty while there is no such table."""
    try:
        return [entry.snapshotId() for entry in tables.java_table(spark, name).history()]
    except (Py4JJavaError, PySparkException) as error:
        if any(text in str(error) for text in GONE) or (name == AGAIN and HALF_GONE in str(error)):
            return []
        raise
