# SPDX-License-Identifier: Apache-2.0
"""``python -m atlas <work folder> <result.json> <Iceberg jar>``: run it after AtlasTable has written the metadata."""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import session
from pyspark.sql import SparkSession

import zonemap
from atlas import lake
from demo import measured_plans
from demo.compare import compare, planning_ms, query_ms
from demo.queries import Query
from zonemap.session import confs

PAIRS = 3


@dataclass(frozen=True)
class Planned:
    """The cost of one plan of a query that does not run: wall milliseconds, the JVM's CPU milliseconds, and splits."""

    wall_ms: float
    cpu_ms: float
    splits: int


def main(folder: Path, result: Path, iceberg: str) -> None:
    """Measures planning and the query, and writes the figures to ``result``.

    Args:
        folder: the warehouse folder; it contains the metadata-only table.
        result: the JSON file to write the figures to.
        iceberg: the path of Iceberg's runtime jar.
    """
    spark = session.start("atlas", folder, iceberg, "10g")
    spark.sql(f"DROP TABLE IF EXISTS {lake.ROWS} PURGE")
    lake.write(spark)
    zonemap.Index(spark, lake.ROWS).build()
    built = zonemap.Index(spark, lake.METADATA).build()
    document = {
        "benchmark": "atlas",
        "versions": session.versions(spark),
        "files": built.data_files,
        "indexBytes": built.bytes,
        "buildSeconds": round(built.seconds, 1),
        "planning": [_planning(spark, "partition filter", name=False), _planning(spark, "with the name", name=True)],
        "query": _query(spark),
    }
    spark.stop()
    session.keep(document, result)


def _planning(spark: SparkSession, what: str, *, name: bool) -> dict[str, Any]:
    """Times plans of the metadata-only table: by Iceberg, by a loaded index, and by an index that is loaded first."""
    sql = lake.query(lake.METADATA, name=name)
    _plan(spark, sql, enabled=True)  # warm-up: loads the classes
    runs: dict[str, list[Planned]] = {"stock": [], "index": [], "cold": []}
    for _ in range(PAIRS):
        runs["stock"].append(_plan(spark, sql, enabled=False))
        runs["index"].append(_plan(spark, sql, enabled=True))
        _forget(spark)
        runs["cold"].append(_plan(spark, sql, enabled=True))
    row: dict[str, Any] = {"query": what} | {
        side: {
            "splits": planned[-1].splits,
            "wallMillis": round(statistics.median(p.wall_ms for p in planned), 1),
            "cpuMillis": round(statistics.median(p.cpu_ms for p in planned), 1),
        }
        for side, planned in runs.items()
    }
    print(row, flush=True)
    return row


def _plan(spark: SparkSession, sql: str, *, enabled: bool) -> Planned:
    spark.sql(f"SET {confs.ENABLED}={str(enabled).lower()}")
    start, cpu = time.perf_counter(), session.cpu_millis(spark)
    splits = sum(scan.inputPartitions().size() for scan in measured_plans.scans(spark.sql(sql)))
    return Planned((time.perf_counter() - start) * 1000, session.cpu_millis(spark) - cpu, splits)


def _forget(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    jvm.zonemap.spark.HeldIndexes.forget()


def _query(spark: SparkSession) -> dict[str, Any]:
    """Runs the query over the smaller table, which has rows, with the index off and on."""
    compared = compare(spark, Query("atlas", lake.ROWS, lake.query(lake.ROWS)), 0)
    if not compared.rows_equal or not compared.on[-1].rows:
        raise AssertionError("rows differ between index off and on, or there are none")
    partitions = compare(spark, Query("atlas", lake.ROWS, lake.query(lake.ROWS, name=False)), 0)
    row = {
        "tableFiles": spark.table(f"{lake.ROWS}.files").count(),
        "types": len(compared.on[-1].rows),
        "partitionFilterFiles": partitions.off[-1].files,
        "partitionFilterQueryMillis": round(query_ms(partitions.off), 1),
    } | {
        side: {
            "files": runs[-1].files,
            "planningMillis": round(planning_ms(runs), 1),
            "queryMillis": round(query_ms(runs), 1),
        }
        for side, runs in (("stock", compared.off), ("index", compared.on))
    }
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
