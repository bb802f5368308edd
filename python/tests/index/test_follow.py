# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import signal
import threading

import pytest
from click.testing import CliRunner

from zonemap import InvalidArgumentError
from zonemap.commands import cli, sessions
from zonemap.index import follow
from zonemap.index.index import Index
from zonemap.results import BuildResult


class _Tables:
    """A fake of the procedures: returns each table's prepared results in order, then stops the follower."""

    def __init__(self, stop: threading.Event, answers: dict[str, list[int | Exception]]) -> None:
        self.stop = stop
        self.answers = answers

    def refresh(self, table: str) -> BuildResult:
        left = self.answers[table]
        answer = left.pop(0)
        if not any(self.answers.values()):
            self.stop.set()
        if isinstance(answer, Exception):
            raise answer
        return BuildResult(table, answer, 10 * answer, 0, answer, 100, 0.25)


def run(monkeypatch: pytest.MonkeyPatch, answers: dict[str, list[int | Exception]]):
    stop = threading.Event()
    tables = _Tables(stop, answers)
    monkeypatch.setattr(Index, "refresh", lambda index: tables.refresh(index.table))
    lines: list[str] = []
    names = list(answers)
    follow.follow(None, names, every_seconds=0.001, stop=stop, report=lines.append)  # type: ignore[arg-type]
    return lines, tables


def test_one_line_a_change_and_none_for_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, _ = run(monkeypatch, {"a.b": [1, 1, 1, 2, 2]})
    assert lines == [
        "a.b: snapshot 1, 10 files in 1 segments, 100 bytes, 0.250 s",
        "a.b: snapshot 2, 20 files in 2 segments, 100 bytes, 0.250 s",
    ]


def test_a_table_that_fails_is_tried_again_and_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, list[int | Exception]] = {
        "bad": [RuntimeError("gone\nstack"), RuntimeError("An error occurred while calling o1.sql.\n: gone"), 5],
        "good": [1, 2],
    }
    lines, _ = run(monkeypatch, answers)
    assert lines.count("bad: gone") == 2
    assert [line.partition(",")[0] for line in lines if "snapshot" in line and line.startswith("good")] == [
        "good: snapshot 1",
        "good: snapshot 2",
    ]
    assert any(line.startswith("bad: snapshot 5") for line in lines)


def test_pauses_double_up_to_five_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    class Stop(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0.0)
            clock[0] += timeout or 0.0
            return self.is_set()

    clock = [0.0]
    stop = Stop()
    tables = _Tables(stop, {"t": [RuntimeError("no")] * 9})
    monkeypatch.setattr(Index, "refresh", lambda index: tables.refresh(index.table))
    monkeypatch.setattr(follow.time, "monotonic", lambda: clock[0])
    follow.follow(None, ["t"], every_seconds=10, stop=stop, report=lambda line: None)  # type: ignore[arg-type]
    assert waits == [20, 40, 80, 160, 300, 300, 300, 300, 300]


@pytest.mark.parametrize(("tables", "every"), [([], 1), (["t"], 0), (["t"], -1)])
def test_malformed_arguments_are_refused(tables: list[str], every: float) -> None:
    with pytest.raises(InvalidArgumentError):
        follow.follow(None, tables, every_seconds=every, stop=threading.Event(), report=print)  # type: ignore[arg-type]


def test_a_malformed_name_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgumentError):
        follow.follow(None, ["a..b"], every_seconds=1, stop=threading.Event(), report=print)  # type: ignore[arg-type]


@pytest.mark.parametrize("output", ["table", "json"])
def test_command_ends_on_a_signal(monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    def refresh(index: Index) -> BuildResult:
        signal.raise_signal(signal.SIGTERM)
        return BuildResult(index.table, 7, 1, 0, 1, 9, 0.5)

    monkeypatch.setattr(sessions, "start", lambda *_, **__: None)
    monkeypatch.setattr(Index, "refresh", refresh)
    held = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        result = CliRunner().invoke(cli.cli, ["follow", "lake.db.t", "--every", "60", "--output", output])
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    assert result.exit_code == 0
    line = result.output.strip()
    event = json.loads(line)["event"] if output == "json" else line
    assert event.startswith("lake.db.t: snapshot 7, 1 files")
