"""Commits the queues of tables in this process, for as long as it runs.

Committers in the driver do the work and hold no state: the loop may be stopped at any time, started again,
or run by several processes at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from zonemap import arguments, failures
from zonemap.errors import InvalidArgumentError
from zonemap.ingest import procedures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from zonemap.ingest.results import IngestStatus


def commit_loop(
    spark: SparkSession,
    tables: Sequence[str],
    *,
    every_seconds: float,
    stop: threading.Event,
    report: Callable[[str], None],
) -> None:
    """Starts a committer of each table and reports their progress until ``stop`` is set; then stops them.

    The last line of a table tells what its committer has committed when it has stopped.

    A table whose committer cannot be started, because it does not exist yet, is tried again. A committer that has
    ended, or that someone else has stopped, is started again. A committer that ran before goes on when the loop stops.

    Args:
        spark: The session; the conf ``ingest.interval`` sets the time between two commits.
        tables: The tables' names.
        every_seconds: Seconds between two looks at the status; more than 0.
        stop: Ends the loop when a signal handler or another thread sets it.
        report: Called with one line for each change and each problem.

    Raises:
        InvalidArgumentError: ``tables`` is empty, or an argument has another type or is out of range.
        ZonemapError: The driver of this process has ended.
    """
    names = list(dict.fromkeys(arguments.texts("tables", tables, "table names")))
    if not names:
        raise InvalidArgumentError("Cannot commit to an empty list of tables: name at least one table.")
    every_seconds = arguments.positive("every_seconds", every_seconds, "seconds")
    started: set[str] = set()
    reported: dict[str, str] = {}

    def look(name: str) -> None:
        line = _look(spark, name, started)
        if line != reported.get(name):
            reported[name] = line
            report(line)

    try:
        while not stop.is_set():
            failures.require_driver(spark)
            for name in names:
                look(name)
            stop.wait(every_seconds)
    finally:
        for name in started:
            _stop(spark, name, report)
    for name in names:
        if name in started:
            look(name)  # what was committed since the last look


def _look(spark: SparkSession, name: str, started: set[str]) -> str:
    """Returns the line of a table; starts a committer if none runs. ``started`` has the committers of this loop."""
    try:
        if name not in started and procedures.start(spark, name):
            started.add(name)
        found = procedures.status(spark, name)
        if not found.loop or found.loop.startswith("ended"):
            started.discard(name)
        return f"{name}: {_text(found)}"
    except InvalidArgumentError:
        raise
    except Exception as error:
        return f"{name}: {failures.sentence(error)}"


def _stop(spark: SparkSession, name: str, report: Callable[[str], None]) -> None:
    """Stops a committer. A failure is reported, so that the committers of the other tables are stopped too."""
    try:
        procedures.stop(spark, name)
    except Exception as error:
        report(f"{name}: {failures.sentence(error)}")


def _text(found: IngestStatus) -> str:
    text = (
        f"{found.committed_records:,} records committed, {found.committed_rows:,} rows; "
        f"{found.pending_records:,} pending, {found.quarantined:,} quarantined"
    )
    loop = "" if found.loop == "running" else found.loop
    for problem in (loop, found.problem, f"paused: {found.paused}" if found.paused else ""):
        text += f"; {problem}" if problem else ""
    return text
