# SPDX-License-Identifier: Apache-2.0
"""``python -m tpcds <work folder> <result.json> <Iceberg jar> <Spark's test jar> [quick]``: TPC-DS, index off and on.

The work folder holds the generated Parquet files in ``generated``.
"""

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
from demo import measured_plans
from tpcds import lake, statements

#: Off and on by turns, so that what gets slower or faster with time meets both sides.
_TURNS = (False, True, True, False)


@dataclass(frozen=True)
class _Run:
    """An execution of a statement: milliseconds, files and bytes read by its scans, and its rows as sorted texts."""

    query_ms: float
    cpu_ms: float
    files: int
    bytes: int
    rows: list[str]


def main(folder: Path, result: Path, iceberg: str, jar: Path, *, quick: bool) -> None:
    """Measures the statements and writes the figures to ``result``.

    Args:
        folder: the work folder.
        result: the JSON file to write the figures to.
        iceberg: the path of Iceberg's runtime jar.
        jar: Spark's test jar, which holds the statements.
        quick: run every tenth statement, in the ordered layout only.
    """
    spark = session.start("tpcds", folder / "lake", iceberg, "8g")
    chosen = list(statements.read(jar).items())[:: 10 if quick else 1]
    rows = []
    for layout in lake.LAYOUTS[:1] if quick else lake.LAYOUTS:
        tables = lake.write(spark, folder / "generated", layout)
        for table in tables:
            zonemap.Index(spark, table).build()
        spark.sql(f"USE lake.{layout}")
        rows += [_measured(spark, layout, name, sql) for name, sql in chosen]
    versions = session.versions(spark)
    spark.stop()
    session.keep({"benchmark": "tpcds", "versions": versions, "statements": rows}, result)
    if wrong := [f"{row['layout']} {row['statement']}" for row in rows if not row["rowsEqual"]]:
        raise AssertionError(f"rows differ between index off and on: {', '.join(wrong)}")


def _measured(spark: SparkSession, layout: str, name: str, sql: str) -> dict[str, Any]:
    _run(spark, sql, enabled=True)  # warms up
    runs = [(enabled, _run(spark, sql, enabled=enabled)) for enabled in _TURNS]
    sides = {"off": [run for on, run in runs if not on], "on": [run for on, run in runs if on]}
    equal = all(run.rows == sides["off"][0].rows for _, run in runs)
    if not equal:
        whole = statements.without_limit(sql)
        equal = _run(spark, whole, enabled=True).rows == _run(spark, whole, enabled=False).rows
    row = {"layout": layout, "statement": name, "rows": len(runs[0][1].rows), "rowsEqual": equal} | {
        side: {
            "files": found[-1].files,
            "bytes": found[-1].bytes,
            "queryMillis": round(statistics.median(run.query_ms for run in found), 1),
            "cpuMillis": round(statistics.median(run.cpu_ms for run in found), 1),
        }
        for side, found in sides.items()
    }
    off, on = row["off"], row["on"]
    print(
        f"{layout:8} {name:5} files {off['files']:5} -> {on['files']:5}  query ms {off['queryMillis']:8} -> "
        f"{on['queryMillis']:8}  CPU ms {off['cpuMillis']:8} -> {on['cpuMillis']:8}",
        flush=True,
    )
    return row


def _run(spark: SparkSession, sql: str, *, enabled: bool) -> _Run:
    spark.conf.set("spark.sql.zonemap.enabled", str(enabled).lower())
    size = _bytes_read(spark)
    cpu, start = session.cpu_millis(spark), time.perf_counter()
    frame = spark.sql(sql)
    rows = frame.collect()
    query_ms = (time.perf_counter() - start) * 1000
    cpu_ms = session.cpu_millis(spark) - cpu
    # each file is one split, and scans of subqueries count too
    files = measured_plans.command_metric(frame, "numSplits", "")
    return _Run(query_ms, cpu_ms, files, _bytes_read(spark) - size, sorted(map(_text, rows)))


def _bytes_read(spark: SparkSession) -> int:
    """Returns the bytes that all tasks of the session have read."""
    jvm: Any = spark.sparkContext._jsc
    jvm.sc().listenerBus().waitUntilEmpty()
    return int(jvm.sc().statusStore().executorSummary("driver").totalInputBytes())


def _text(row: tuple[Any, ...]) -> str:
    """A row as text; floats have ten digits, because their sums depend on the order of the rows."""
    return repr([f"{value:.10g}" if isinstance(value, float) else value for value in row])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]), sys.argv[3], Path(sys.argv[4]), quick="quick" in sys.argv[5:])
