# SPDX-License-Identifier: Apache-2.0
"""Compaction, expiry, removal of orphan files and a copy of the table, while others write and commit."""

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

from ingest.soak.oracle import Oracle
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from zonemap import ZonemapError, ingest
from zonemap.ingest import listing

_DAY = 86_400
#: Seconds in which a task that only failed during the faults must succeed once they are over.
_GRACE = 120.0


class Maintenance:
    """Maintains one table in a thread; the tasks come in random order.

    Orphan files are planted. The removal of Iceberg is given an age that only the oldest planted files have, because it
    does not know pending records; the files of the queue that are not pending are made as old. `ingest_collect_garbage` knows pending
    records: files of accepted appends are made as old as what it removes. A copy by `register_table` must not commit.

    Args:
        spark: The session.
        name: The table.
        data: Its folder of data files.
        spool: The folder of its queue.
        removes: Whether files are made older and removed.
        oracle: Reads each snapshot before it is expired.
        accepted: Returns the paths of the files of all accepted appends.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        data: Path,
        spool: Path,
        removes: bool,
        oracle: Oracle,
        accepted: Callable[[], list[str]],
    ) -> None:
        self._spark, self._name, self._data, self._oracle, self._accepted = spark, name, data, oracle, accepted
        self._spool = spool
        self._copied: list[str] = []
        self.done: Counter[str] = Counter()
        self.failed: list[str] = []
        self._tasks = [self._compact, self._expire, self._copy]
        if removes:
            self._tasks += [self._remove_orphans, self._gc]
        self._planted: dict[str, list[Path]] = {"remove_orphan_files": [], "ingest_collect_garbage": []}

    def run(self, stop: threading.Event, chooser: random.Random) -> None:
        """Works until `stop` is set and each task has succeeded, at most `_GRACE` seconds longer."""
        tasks = list(self._tasks)
        end = float("inf")
        while time.monotonic() < end:
            chooser.shuffle(tasks)
            for task in tasks:
                self._attempt(task)
                if stop.wait(chooser.uniform(0.05, 0.4)):
                    end = min(end, time.monotonic() + _GRACE)
                    if all(self.done[known.__name__] for known in tasks):
                        return

    def left_over(self) -> list[str]:
        """The planted files that a successful removal has left, tasks that never succeeded, and what copies did."""
        left = [f"{path} was planted and not removed" for files in self._planted.values() for path in files]
        return (
            [found for found in left if Path(found.split(" was ")[0]).exists()]
            + [
                f"{task} never succeeded: {self.failed}"
                for task in (known.__name__ for known in self._tasks)
                if not self.done[task]
            ]
            + self._copied
        )

    def _attempt(self, task: Callable[[], None]) -> None:
        """A task may fail: another commit was faster, the database is locked, or a key expires. It is tried again."""
        try:
            task()
            self.done[task.__name__] += 1
        except (PySparkException, Py4JError, ZonemapError) as error:
            self.done[f"{task.__name__} failed"] += 1
            self.failed.append(f"{task.__name__}: {str(error)[:300]}")

    def _compact(self) -> None:
        self._call("rewrite_data_files", "options => map('rewrite-all', 'true')")

    def _expire(self) -> None:
        newest = self._oracle.catch_up()
        if newest:
            self._call("expire_snapshots", f"older_than => {_timestamp(newest / 1000)}, retain_last => 1")

    def _remove_orphans(self) -> None:
        planted = self._plant("remove_orphan_files", 10)
        for folder in (".", "owner", "state"):
            for file in listing.files(self._spool / folder):
                with contextlib.suppress(FileNotFoundError):  # an older mark
                    _age(self._spool / folder / file.name, 10)
        self._call("remove_orphan_files", f"older_than => {_timestamp(time.time() - 7 * _DAY)}")
        self._planted["remove_orphan_files"].append(planted)

    def _gc(self) -> None:
        for path in self._accepted():
            with contextlib.suppress(FileNotFoundError):  # compacted and expired
                _age(Path(path), 4)
        planted = self._plant("ingest_collect_garbage", 4)
        ingest.collect_garbage(self._spark, self._name, dry_run=False, older_than_hours=72)
        self._planted["ingest_collect_garbage"].append(planted)

    def _copy(self) -> None:
        log = f"SELECT file FROM {self._name}.metadata_log_entries ORDER BY timestamp DESC, file DESC LIMIT 1"
        copy, metadata = f"{self._name}_copy", self._spark.sql(log).collect()[0].file
        self._spark.sql(
            f"CALL lake.system.register_table(table => '{copy.removeprefix('lake.')}', metadata_file => '{metadata}')"
        )
        try:
            outcomes = [str(result) for result in ingest.commit(self._spark, copy)]
            self._copied += [f"a copy was not stopped: {text}" for text in outcomes if "other-entry" not in text]
        finally:
            self._spark.sql(f"DROP TABLE {copy}")

    def _plant(self, task: str, days: float) -> Path:
        path = self._data / f"planted-for-{task}-{time.monotonic_ns()}.parquet"
        self._data.mkdir(exist_ok=True)
        path.write_bytes(b"nobody knows this file")
        _age(path, days)
        return path

    def _call(self, procedure: str, arguments: str) -> None:
        self._spark.sql(f"CALL lake.system.{procedure}(table => '{self._name}', {arguments})").collect()


def _age(path: Path, days: float) -> None:
    at = time.time() - days * _DAY
    os.utime(path, (at, at))


def _timestamp(seconds: float) -> str:
    return f"TIMESTAMP '{datetime.fromtimestamp(seconds, UTC).isoformat(sep=' ', timespec='milliseconds')}'"
