# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console

import zonemap
from zonemap import InvalidArgumentError
from zonemap.index import progress


@dataclass
class _Stage:
    """A stage, of the status tracker of a classic session and of Spark Connect."""

    numTasks: int  # noqa: N815 - PySpark's name
    numCompletedTasks: int  # noqa: N815 - PySpark's name

    @property
    def num_tasks(self) -> int:
        return self.numTasks

    @property
    def num_completed_tasks(self) -> int:
        return self.numCompletedTasks


@dataclass
class _Job:
    stageIds: list[int]  # noqa: N815 - PySpark's name


class _Classic:
    """A classic session whose status tracker knows a job that runs already, and one of the procedure."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.active = [1]

    def statusTracker(self) -> _Classic:  # noqa: N802 - PySpark's name
        return self

    def getActiveJobsIds(self) -> list[int]:  # noqa: N802 - PySpark's name
        return self.active

    def getJobInfo(self, job: int) -> _Job | None:  # noqa: N802 - PySpark's name
        return {1: _Job([10]), 2: _Job([20, 21])}.get(job)

    def getStageInfo(self, stage: int) -> _Stage | None:  # noqa: N802 - PySpark's name
        return {10: _Stage(1000, 1), 20: _Stage(64, 24)}.get(stage)  # 21 has not started


class _Connect:
    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def registerProgressHandler(self, handler: Any) -> None:  # noqa: N802 - PySpark's name
        self.handlers.append(handler)

    def removeProgressHandler(self, handler: Any) -> None:  # noqa: N802 - PySpark's name
        self.handlers.remove(handler)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.01)


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=120)


def shows(console: Console, text: str) -> bool:
    """Returns True as soon as the console shows the text, or False after five seconds."""
    deadline = time.monotonic() + 5
    while text not in console.file.getvalue():  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def threads() -> int:
    return sum(thread.name == "zonemap-progress" for thread in threading.enumerate())


def test_a_classic_session_shows_the_tasks_of_new_jobs(fast: None) -> None:
    session, console = _Classic(), terminal()
    with progress.shown(session, "building", wanted=True, console=console):  # type: ignore[arg-type]
        assert shows(console, "building")
        session.active.append(2)
        assert shows(console, "24/64 tasks")
    assert "1,000" not in console.file.getvalue() and threads() == 0  # type: ignore[attr-defined]


def test_a_connect_session_shows_the_tasks_that_the_server_reports(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_is_connect", lambda spark: True)
    session, console = _Connect(), terminal()
    with progress.shown(session, "building", wanted=True, console=console):  # type: ignore[arg-type]
        handler = session.handlers[0]
        handler(stages=None, inflight_tasks=0, operation_id=None, done=False)
        handler(stages=[_Stage(60, 20), _Stage(4, 4)], inflight_tasks=2, operation_id="x", done=False)
        assert shows(console, "24/64 tasks")
    assert session.handlers == [] and threads() == 0


def test_a_short_call_shows_nothing() -> None:
    console = terminal()
    with progress.shown(_Classic(), "building", wanted=True, console=console):  # type: ignore[arg-type]
        pass
    assert "building" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_an_error_ends_the_bar(fast: None) -> None:
    session: Any = _Connect()
    session.sparkContext = None
    with pytest.raises(KeyError), progress.shown(session, "building", wanted=True, console=terminal()):
        raise KeyError
    assert threads() == 0


def test_another_type_is_refused() -> None:
    session: Any = _Classic()
    for call in (zonemap.Index(session, "t").build, zonemap.Index(session, "t").refresh):
        with pytest.raises(InvalidArgumentError, match="progress"):
            call(progress="yes")  # type: ignore[arg-type]
