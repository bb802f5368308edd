# SPDX-License-Identifier: Apache-2.0
"""A MERGE whose source has a key of every file: no file can be pruned, so the run shows the overhead of the index."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import session

from pruning import accounts
from zonemap.session import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = "lake.db.ledger"
KEYS = "lake.db.ledger_changes"
FILES = 150
ROWS_PER_FILE = 50
PAIRS = 20
_WARM_UP = 15
MODES = ("copy-on-write", "merge-on-read")
#: The seconds to wait after a command, so that its CPU figure includes the background work that it starts.
_SETTLE_SECONDS = 0.3

_MERGE = accounts.MERGE.format(target=TARGET, keys=KEYS)


def write(spark: SparkSession) -> None:
    """Writes and indexes both tables: ids ascend with the file; the keys are each file's first id and one absent id."""
    rows = FILES * ROWS_PER_FILE
    accounts.write(spark, TARGET, KEYS, files=FILES, rows=rows, step=ROWS_PER_FILE, changes=FILES + 1)


def measure(spark: SparkSession) -> list[dict[str, Any]]:
    """Returns medians of paired runs: the index is alternately off and on, and each run starts at the same snapshot."""
    snapshot = accounts.snapshot(spark, TARGET)
    rows = []
    for mode in MODES:
        spark.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ('write.merge.mode' = '{mode}')")
        runs: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
        for pair in range(-_WARM_UP, PAIRS):
            for enabled in (False, True) if pair % 2 else (True, False):
                figures = _run(spark, snapshot, enabled)
                if pair >= 0:
                    runs[enabled].append(figures)
        row = {"mode": mode, "files": FILES, "pairs": PAIRS} | _medians("stock", runs[False])
        rows.append(row | _medians("zonemap", runs[True]))
        print(row["mode"], rows[-1])
    return rows


def _medians(who: str, runs: list[tuple[float, float]]) -> dict[str, float]:
    wall, cpu = zip(*runs, strict=True)
    return {
        f"{who}WallMillis": round(statistics.median(wall), 1),
        f"{who}CpuMillis": round(statistics.median(cpu), 1),
    }


def _run(spark: SparkSession, snapshot: int, enabled: bool) -> tuple[float, float]:
    """Runs one MERGE, rolls it back, and returns its wall and CPU milliseconds."""
    spark.sql(f"SET {confs.ENABLED}={str(enabled).lower()}")
    cpu, start = session.cpu_millis(spark), time.perf_counter()
    spark.sql(_MERGE)
    wall = (time.perf_counter() - start) * 1000
    time.sleep(_SETTLE_SECONDS)
    used = session.cpu_millis(spark) - cpu
    changed = spark.sql(f"SELECT count(*) FROM {TARGET} WHERE balance = -1").collect()[0][0]
    if changed != FILES + 1:
        raise AssertionError(f"{changed} rows have changed, not {FILES + 1}")
    accounts.roll_back(spark, TARGET, to=snapshot)
    spark.sql(f"SET {confs.ENABLED}=true")
    return wall, used
