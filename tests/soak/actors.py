# SPDX-License-Identifier: Apache-2.0
"""Everything that changes the tables while queries run: writers, maintenance of Iceberg, maintainers of the index."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from support import product, tables

from soak import lake

_WEEK = 7 * 86_400
Task = Callable[[], object]


class Actor:
    """Does tasks in random order until it is stopped. A task may fail, because another commit was faster.

    Args:
        chooser: The choices.
        pause: The longest pause after a task, in seconds.
    """

    def __init__(self, chooser: random.Random, pause: float) -> None:
        self.chooser, self.pause = chooser, pause
        self.done: Counter[str] = Counter()
        self.failed: dict[str, str] = {}

    def tasks(self) -> list[Task]:
        raise NotImplementedError

    def run(self, stop: threading.Event) -> None:
        tasks = self.tasks()
        while not stop.is_set():
            self.attempt(self.chooser.choice(tasks))
            stop.wait(self.chooser.uniform(0, self.pause))

    def attempt(self, task: Task) -> None:
        name = task.__name__.strip("_")
        try:
            task()
            self.done[name] += 1
        except (PySparkException, Py4JJavaError) as error:
            self.done[f"{name} failed"] += 1
            self.failed[name] = str(error)[:300]

    def never_done(self) -> list[str]:
        """The tasks that were tried and never succeeded."""
        return [f"{name} never succeeded: {error}" for name, error in self.failed.items() if not self.done[name]]


class Writer(Actor):
    """Commits rows and row-level commands, changes the schema, and drops a table to make it again."""

    def __init__(self, spark: SparkSession, chooser: random.Random) -> None:
        super().__init__(chooser, 0.4)
        self._spark = spark
        self._next = {lake.ROWS: 400, lake.AGAIN: 400}
        self._columns = 0

    def tasks(self) -> list[Task]:
        again = [self._append_again, self._drop_and_create]
        return [self._append, self._append, self._delete, self._update, self._merge, self._alter, *again]

    def _append(self) -> None:
        start = self._next[lake.ROWS]
        self._next[lake.ROWS] += 50
        columns = [*lake.SELECT, *(f"CAST(NULL AS STRING) AS {c}" for c in self._extra())]
        self._spark.range(start, start + 50, 1, 2).selectExpr(*columns).writeTo(lake.ROWS).append()

    def _extra(self) -> list[str]:
        return [c for c in self._spark.table(lake.ROWS).columns if c.startswith("extra")]

    def _delete(self) -> None:
        a = self.chooser.randrange(self._next[lake.ROWS])
        self._spark.sql(f"DELETE FROM {lake.ROWS} WHERE id BETWEEN {a} AND {a + 20} AND device = {a % 7}")

    def _update(self) -> None:
        a = self.chooser.randrange(self._next[lake.ROWS])
        self._spark.sql(f"UPDATE {lake.ROWS} SET value = value + 0.5 WHERE id BETWEEN {a} AND {a + 10}")

    def _merge(self) -> None:
        a = self.chooser.randrange(self._next[lake.ROWS])
        source = f"(SELECT * FROM VALUES ({a}), ({a + 3}), ({a + 90}) AS k(id))"
        self._spark.sql(
            f"MERGE INTO {lake.ROWS} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET value = t.value + 1"
        )

    def _alter(self) -> None:
        extra = self._extra()
        self._columns += 1
        if not extra:
            self._spark.sql(f"ALTER TABLE {lake.ROWS} ADD COLUMN extra{self._columns} STRING")
        elif self.chooser.random() < 0.5:
            self._spark.sql(f"ALTER TABLE {lake.ROWS} RENAME COLUMN {extra[0]} TO extra{self._columns}")
        else:
            self._spark.sql(f"ALTER TABLE {lake.ROWS} DROP COLUMN {extra[0]}")

    def _append_again(self) -> None:
        start = self._next[lake.AGAIN]
        self._next[lake.AGAIN] += 50
        lake.append(self._spark, lake.AGAIN, start, start + 50)

    def _drop_and_create(self) -> None:
        if self.chooser.random() < 0.3:
            self._next[lake.AGAIN] = 100
            tables.create(self._spark, lake.AGAIN, lake.DDL)
            lake.append(self._spark, lake.AGAIN, 0, 100)


class Maintenance(Actor):
    """Compacts tables, expires snapshots, and removes orphan files, which must leave old files of the index."""

    def __init__(self, spark: SparkSession, chooser: random.Random) -> None:
        super().__init__(chooser, 0.8)
        self._spark = spark

    def tasks(self) -> list[Task]:
        return [self._compact, self._manifests, self._expire, self._expire, self._remove_orphans]

    def _compact(self) -> None:
        self._call("rewrite_data_files", "options => map('min-input-files', '2')")

    def _manifests(self) -> None:
        self._call("rewrite_manifests")

    def _expire(self) -> None:
        retain = self.chooser.choice([3, 10, 30])
        self._call("expire_snapshots", f"older_than => {_timestamp(time.time())}, retain_last => {retain}")

    def _remove_orphans(self) -> None:
        name = self.chooser.choice(lake.TABLES)
        files = product.store_files(tables.location(self._spark, name))
        for path in self.chooser.sample(files, min(2, len(files))):
            with contextlib.suppress(FileNotFoundError):
                os.utime(path, (time.time() - 2 * _WEEK,) * 2)
        self._call("remove_orphan_files", f"older_than => {_timestamp(time.time() - _WEEK)}", name)

    def _call(self, procedure: str, arguments: str = "", name: str = "") -> None:
        name = name or self.chooser.choice(lake.TABLES)
        more = f", {arguments}" if arguments else ""
        self._spark.sql(f"CALL lake.system.{procedure}(table => '{name}'{more})").collect()


class Maintainer(Actor):
    """Maintains the index of all tables by procedures."""

    def __init__(self, spark: SparkSession, chooser: random.Random, pause: float = 0.5) -> None:
        super().__init__(chooser, pause)
        self._spark = spark

    def tasks(self) -> list[Task]:
        return [
            self._refresh,
            self._refresh,
            self._refresh,
            self._merge,
            self._gc,
            self._build,
            self._drop,
            self._status,
        ]

    def _refresh(self) -> None:
        self._call("refresh_index")

    def _merge(self) -> None:
        self._call("compact_index")

    def _build(self) -> None:
        self._call("build_index")

    def _gc(self) -> None:
        self._call("collect_garbage", f", dry_run => false, older_than_hours => {self.chooser.choice([0, 24])}")

    def _drop(self) -> None:
        if self.chooser.random() < 0.3:
            self._call("drop_index", ", dry_run => false")

    def _status(self) -> None:
        self._call("index_status")

    def _call(self, procedure: str, more: str = "") -> None:
        product.call(self._spark, procedure, self.chooser.choice(lake.TABLES), more)


def stream(spark: SparkSession, folder: Path, rows_a_second: int) -> StreamingQuery:
    """Starts a streaming query that appends rows to its table every second."""
    source = spark.readStream.format("rate").option("rowsPerSecond", rows_a_second).load()
    rows = source.selectExpr("value + 400 AS id").selectExpr(*lake.SELECT)
    writer = rows.writeStream.option("checkpointLocation", str(folder / f"checkpoint-{time.monotonic_ns()}"))
    return writer.trigger(processingTime="1 second").toTable(lake.STREAM)


def metadata(spark: SparkSession) -> dict[str, set[str]]:
    """The names of the metadata files of each table: each commit adds one."""
    return {name: tables.metadata_files(tables.location(spark, name).removeprefix("file:")) for name in lake.TABLES}


def _timestamp(seconds: float) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(seconds, UTC).isoformat(sep=' ', timespec='milliseconds')}'"
