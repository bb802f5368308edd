# SPDX-License-Identifier: Apache-2.0
"""Refreshes the index of tables after commits of other applications, for as long as it runs.

A follower calls ``refresh``, which reads new manifests, writes them to the store and merges segments by the session's
policy. A follower holds no state of its own, so it may be stopped at any time, started again, or run twice: the second
follower finds little to do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zonemap.common import argument_checks
from zonemap.common.errors import InvalidArgumentError
from zonemap.index.index import Index
from zonemap.session import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_PAUSE_SECONDS = 300.0


@dataclass
class _Followed:
    """The state of a table between two refreshes."""

    name: str
    snapshot_id: int | None = None
    failures: int = 0
    due: float = field(default=0.0)


def follow(
    spark: SparkSession,
    tables: Sequence[str],
    *,
    every_seconds: float,
    stop: threading.Event,
    report: Callable[[str], None],
) -> None:
    """Refreshes the index of each table again and again until ``stop`` is set.

    A table whose refresh fails (it may not exist yet) is refreshed again after a pause that doubles up to five minutes;
    the other tables are refreshed meanwhile.

    Args:
        spark: The session.
        tables: The tables' names.
        every_seconds: Seconds between two refreshes of a table; more than 0.
        stop: Ends the loop when a signal handler or another thread sets it.
        report: Called with one line for each change and each failure.

    Raises:
        InvalidArgumentError: ``tables`` is empty, or an argument has another type or is out of range.
        ZonemapError: The driver of this process has ended.
    """
    names = argument_checks.texts("tables", tables, "table names")
    if not names:
        raise InvalidArgumentError("Cannot follow an empty list of tables: name at least one table.")
    every_seconds = argument_checks.positive("every_seconds", every_seconds, "seconds")
    followed = [_Followed(name) for name in dict.fromkeys(names)]
    while not stop.is_set():
        spark_errors.require_driver(spark)
        for table in followed:
            if stop.is_set() or table.due > time.monotonic():
                continue
            _look(spark, table, report)
            pause = min(every_seconds * 2**table.failures, max(every_seconds, MAX_PAUSE_SECONDS))
            table.due = time.monotonic() + pause
        stop.wait(max(0.0, min(table.due for table in followed) - time.monotonic()))


def _look(spark: SparkSession, table: _Followed, report: Callable[[str], None]) -> None:
    try:
        found = Index(spark, table.name).refresh()
        table.failures = 0
        if found.snapshot_id == table.snapshot_id:
            return
        table.snapshot_id = found.snapshot_id
        report(
            f"{table.name}: snapshot {found.snapshot_id}, {found.data_files:,} files in {found.segments:,} segments, "
            f"{found.bytes:,} bytes, {found.seconds:.3f} s"
        )
    except InvalidArgumentError:
        raise
    except Exception as error:
        table.failures += 1
        report(f"{table.name}: {spark_errors.sentence(error)}")
