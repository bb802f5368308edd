# SPDX-License-Identifier: Apache-2.0
"""``python -m tpch <work folder> <result.json> <Iceberg jar> <scale> [quick]``: runs all queries, index off and on."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import session
from pyspark.sql import SparkSession

import zonemap
from demo.compare import Comparison, compare, planning_ms, query_ms
from demo.queries import Query
from tpch import lake
from tpch.queries import QUERIES


def main(folder: Path, result: Path, iceberg: str, scale: float, *, quick: bool) -> None:
    """Measures the queries and writes the figures to ``result``.

    Args:
        folder: the folder for the data; this program empties it first.
        result: the JSON file to write the figures to.
        iceberg: the path of Iceberg's runtime jar.
        scale: TPC-H's scale factor.
        quick: run one of the three layouts and every third query.
    """
    shutil.rmtree(folder, ignore_errors=True)
    lake.generate(folder / "generated", scale)
    spark = session.start("tpch", folder / "lake", iceberg, "8g")
    rows = []
    queries = list(QUERIES.items())[:: 3 if quick else 1]
    for layout in lake.LAYOUTS[:1] if quick else lake.LAYOUTS:
        for table in lake.write(spark, folder / "generated", layout):
            zonemap.Index(spark, table).build()
        spark.sql(f"USE lake.{layout}")
        rows += [_measure(spark, layout, name, sql) for name, sql in queries]
    document = {
        "benchmark": "tpch",
        "scale": scale,
        "versions": session.versions(spark),
        "queries": rows,
    }
    spark.stop()
    session.keep(document, result)


def _measure(spark: SparkSession, layout: str, name: str, sql: str) -> dict[str, Any]:
    compared = compare(spark, Query(name, f"lake.{layout}.lineitem", sql), 0)
    if not compared.rows_equal:
        raise AssertionError(f"{layout} {name}: rows differ between index off and on")
    row = {"layout": layout, "query": name, "rows": len(compared.on[-1].rows)} | _sides(compared)
    off, on = row["off"], row["on"]
    print(
        f"{layout:9} {name:4} files {off['files']:4} -> {on['files']:4}  lineitem files read {off['lineitem']:4} -> "
        f"{on['lineitem']:4}  planning ms {off['planningMillis']:7} -> {on['planningMillis']:7}  "
        f"query ms {off['queryMillis']:8} -> {on['queryMillis']:8}",
        flush=True,
    )
    return row


def _sides(compared: Comparison) -> dict[str, Any]:
    return {
        side: {
            "files": runs[-1].files,
            "bytes": runs[-1].bytes,
            "lineitem": runs[-1].read,
            "planningMillis": round(planning_ms(runs), 1),
            "queryMillis": round(query_ms(runs), 1),
        }
        for side, runs in (("off", compared.off), ("on", compared.on))
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]), quick="quick" in sys.argv[5:])
