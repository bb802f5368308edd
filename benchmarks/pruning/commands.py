# SPDX-License-Identifier: Apache-2.0
"""Row-level commands by keys: MERGE and DELETE on a table of a thousand files, rolled back after each run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from demo import measured_plans
from pruning import accounts
from zonemap.session import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGET = "lake.db.accounts"
KEYS = "lake.db.account_changes"
FILES = 1000
ROWS_PER_FILE = 50
CHANGES = 100


@dataclass(frozen=True)
class Command:
    """A command on the table of accounts; it changes the rows of :data:`CHANGES` keys.

    Attributes:
        group: The class of commands.
        mode: The write mode: ``copy-on-write`` or ``merge-on-read``.
        sql: The statement.
    """

    group: str
    mode: str
    sql: str

    @property
    def reads(self) -> int:
        """Returns how often the best plan reads a file that contains keys: to find rows, and again to rewrite it."""
        return 2 if self.mode == "copy-on-write" else 1


_MERGE = accounts.MERGE.format(target=TARGET, keys=KEYS)
_DEDUPLICATED = accounts.MERGE.format(
    target=TARGET,
    keys="(SELECT id, balance, owner FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY balance) AS r "
    f"FROM {KEYS}) WHERE r = 1)",
)
_CACHED = "cached_changes"
_FROM_CACHE = accounts.MERGE.format(target=TARGET, keys=_CACHED)
_FRAME = "frame_of_changes"
_FROM_FRAME = accounts.MERGE.format(target=TARGET, keys=_FRAME)
_DELETE = f"DELETE FROM {TARGET} WHERE id IN (SELECT id FROM {KEYS})"

COMMANDS = [
    Command("MERGE, copy-on-write", "copy-on-write", _MERGE),
    Command("MERGE, merge-on-read", "merge-on-read", _MERGE),
    Command("MERGE, row_number() = 1", "merge-on-read", _DEDUPLICATED),
    Command("MERGE, cached source", "merge-on-read", _FROM_CACHE),
    Command("MERGE, frame of rows", "copy-on-write", _FROM_FRAME),
    Command("MERGE, frame of rows", "merge-on-read", _FROM_FRAME),
    Command("DELETE, copy-on-write", "copy-on-write", _DELETE),
    Command("DELETE, merge-on-read", "merge-on-read", _DELETE),
]


def write(spark: SparkSession) -> None:
    """Writes and indexes both tables: account ids ascend with the file number, and the keys spread over all files."""
    rows = FILES * ROWS_PER_FILE
    step = rows // (CHANGES - 2)
    accounts.write(spark, TARGET, KEYS, files=FILES, rows=rows, step=step, changes=CHANGES)
    spark.sql(f"CACHE TABLE {_CACHED} AS SELECT * FROM {KEYS}")
    keys = spark.table(KEYS)
    spark.createDataFrame(keys.collect(), keys.schema).createOrReplaceTempView(_FRAME)


def measure(spark: SparkSession) -> list[dict[str, Any]]:
    """Runs each command from the same snapshot with the index off and on, and checks that the resulting rows match."""
    snapshot = accounts.snapshot(spark, TARGET)
    by_content = _by_content(spark)
    by_bounds = _by_bounds(spark)
    rows = []
    for command in COMMANDS:
        kind = command.sql.split(" ")[0].lower()
        spark.sql(f"ALTER TABLE {TARGET} SET TBLPROPERTIES ('write.{kind}.mode' = '{command.mode}')")
        stock, ours = (_run(spark, command, snapshot, enabled) for enabled in (False, True))
        if stock["left"] != ours["left"]:
            raise AssertionError(f"{command.sql}: rows differ between index off and on")
        row = {
            "group": command.group,
            "table": TARGET,
            "query": command.sql,
            "files": FILES,
            "stockFiles": stock["read"],
            "zonemapFiles": ours["read"],
            # a command rewrites only files that contain keys, whichever plan found these files
            "boundsOracle": by_bounds + (command.reads - 1) * by_content,
            "contentOracle": command.reads * by_content,
            "stockQueryMillis": stock["millis"],
            "zonemapQueryMillis": ours["millis"],
        }
        print(
            f"{command.group:22} {row['stockFiles']:4} -> {row['zonemapFiles']:4}  bounds {row['boundsOracle']:4}  "
            f"content {row['contentOracle']:4}  query ms {row['stockQueryMillis']:8} -> {row['zonemapQueryMillis']:8}"
        )
        rows.append(row)
    return rows


def _run(spark: SparkSession, command: Command, snapshot: int, enabled: bool) -> dict[str, Any]:
    spark.sql(f"SET {confs.ENABLED}={str(enabled).lower()}")
    start = time.perf_counter()
    frame = spark.sql(command.sql)
    millis = round((time.perf_counter() - start) * 1000, 1)
    spark.sql(f"SET {confs.ENABLED}=false")
    left = spark.sql(f"SELECT count(*), sum(hash(id, balance, owner)) FROM {TARGET}").collect()[0]
    accounts.roll_back(spark, TARGET, to=snapshot)
    spark.sql(f"SET {confs.ENABLED}=true")
    return {"read": measured_plans.command_metric(frame, "numSplits", TARGET), "millis": millis, "left": tuple(left)}


def _by_content(spark: SparkSession) -> int:
    matched = f"SELECT DISTINCT t._file FROM {TARGET} t JOIN {KEYS} s ON t.id = s.id"
    return int(spark.sql(f"SELECT count(*) FROM ({matched})").collect()[0][0])


def _by_bounds(spark: SparkSession) -> int:
    bounds = f"SELECT min(id) AS lo, max(id) AS hi FROM {TARGET} GROUP BY _file"
    met = f"EXISTS (SELECT 1 FROM {KEYS} s WHERE s.id BETWEEN b.lo AND b.hi)"
    return int(spark.sql(f"SELECT count(*) FROM ({bounds}) b WHERE {met}").collect()[0][0])
