# SPDX-License-Identifier: Apache-2.0
"""A progress bar for the Spark jobs of a procedure that takes long, for classic sessions and Spark Connect.

The bar appears after a second, counts tasks of Spark jobs, and leaves no line behind. The part of a procedure that runs
in the driver alone has no tasks; the bar then shows only the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

#: Called with the number of completed tasks and of all tasks.
Report = Callable[[int, int], None]

_FIRST_SECONDS = 1.0
_EVERY_SECONDS = 0.25


def shown(
    spark: SparkSession, description: str, *, wanted: bool, console: Console | None = None
) -> AbstractContextManager[None]:
    """Returns a context in which the tasks of the session's Spark jobs are shown, or nothing if not ``wanted``.

    Args:
        spark: The session, classic or Connect.
        description: The text before the bar.
        wanted: False shows nothing.
        console: The console of the bar; None: standard error.
    """
    if not wanted:
        return nullcontext()
    return _bar(spark, description, console or Console(stderr=True))


@contextmanager
def _bar(spark: SparkSession, description: str, console: Console) -> Iterator[None]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[tasks]}"),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(description, total=None, tasks="")
    started = time.monotonic()

    def report(completed: int, total: int) -> None:
        bar.update(task, completed=completed, total=total or None, tasks=f"{completed:,}/{total:,} tasks")

    def start_late(stop: threading.Event) -> None:
        if not stop.wait(max(0.0, started + _FIRST_SECONDS - time.monotonic())):
            bar.start()

    try:
        with _watched(spark, report), _thread(start_late):
            yield
    finally:
        if bar.live.is_started:
            bar.stop()


def _watched(spark: SparkSession, report: Report) -> AbstractContextManager[None]:
    """Returns a context in which ``report`` is called with the tasks of the session."""
    if callable(getattr(spark, "registerProgressHandler", None)) and _is_connect(spark):
        return _of_connect(spark, report)
    context = getattr(spark, "sparkContext", None)
    return nullcontext() if context is None else _of_classic(context, report)


def _is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def _of_connect(spark: SparkSession, report: Report) -> Iterator[None]:
    """The server sends the stages of the operation that this session waits for."""

    def handler(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        found = list(stages or ())
        if found:
            report(sum(stage.num_completed_tasks for stage in found), sum(stage.num_tasks for stage in found))

    registered: Any = handler
    spark.registerProgressHandler(registered)
    try:
        yield
    finally:
        spark.removeProgressHandler(registered)


@contextmanager
def _of_classic(context: Any, report: Report) -> Iterator[None]:
    """Reads the tasks of the jobs that start in this context, in any thread, from Spark's status tracker."""
    tracker = context.statusTracker()
    before = set(tracker.getActiveJobsIds())
    jobs: set[int] = set()

    def look(stop: threading.Event) -> None:
        while not stop.wait(_EVERY_SECONDS):
            jobs.update(set(tracker.getActiveJobsIds()) - before)
            stages = [stage for job in jobs for stage in _stages(tracker, job)]
            if stages:
                report(sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages))

    with _thread(look):
        yield


def _stages(tracker: Any, job: int) -> list[Any]:
    info = tracker.getJobInfo(job)
    found = [tracker.getStageInfo(stage) for stage in info.stageIds] if info else []
    return [stage for stage in found if stage]


@contextmanager
def _thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs ``work`` on a daemon thread, and sets its event at the end of the context."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), name="zonemap-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
