# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from zonemap import ingest
from zonemap.commands import cli, sessions
from zonemap.common import optional_packages
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import AwaitedRecord, CommittedBranch, GarbageDataFile, QuarantinedRecord, RequeuedRecord

STATUS: dict[str, Any] = {
    "pending_records": 3,
    "pending_bytes": 900,
    "oldest_pending_seconds": 4,
    "quarantined": 1,
    "lanes": 2,
    "committed_records": 1234,
    "committed_files": 2000,
    "committed_rows": 50000,
    "paused": "",
    "last_pass_seconds": 1,
    "last_pass_outcome": "committed",
    "last_pass_committer": "host/1",
    "loop": "running",
    "root": "/spool",
    "queue": "spool",
    "queue_id": "q",
    "pointer": "v1|1|n|q|t",
    "problem": "",
    "warning": "",
}
COMMITTED = {
    "branch": "main",
    "outcome": "committed",
    "snapshot_id": 8123456789012345678,
    "records": 1,
    "files": 2,
    "rows": 3,
    "refused": 0,
    "held": 0,
    "pending": 0,
    "message": "",
}
AWAITED = {"lane": "a", "seq": 1, "state": "visible", "message": ""}
REFUSED = {"lane": "a", "seq": 1, "code": "fork", "message": "m", "at_ms": 5, "rows": -1, "files": -1}
REQUEUED = {"lane": "requeue-1", "seq": 0, "branch": "main"}
GARBAGE = {"path": "/p", "bytes": 4, "reason": "orphan"}


class _Row:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        return self._values


class _Session:
    """A session that notes statements and answers with rows."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.statements: list[str] = []
        self._rows = rows

    def sql(self, statement: str) -> _Session:
        self.statements.append(statement)
        return self

    def collect(self) -> list[_Row]:
        return [_Row(row | {"of_a_newer_jar": 1}) for row in self._rows]


CALLS: list[tuple[Callable[[Any], Any], dict[str, Any], str, Any]] = [
    (
        lambda s: ingest.commit(s, "a.t"),
        COMMITTED,
        "ingest_commit(table => 'a.t', timeout_seconds => 600)",
        (CommittedBranch(**COMMITTED),),
    ),
    (
        lambda s: ingest.commit(s, "a.t", timeout_seconds=5),
        COMMITTED,
        "ingest_commit(table => 'a.t', timeout_seconds => 5)",
        (CommittedBranch(**COMMITTED),),
    ),
    (lambda s: ingest.status(s, "a.t").committed_rows, STATUS, "ingest_status(table => 'a.t')", 50000),
    (lambda s: ingest.start(s, "a.t"), {"started": False}, "ingest_start(table => 'a.t')", False),
    (lambda s: ingest.stop(s, "a.t"), {"stopped": True}, "ingest_stop(table => 'a.t')", True),
    (
        lambda s: ingest.pause(s, "a.t", reason="it's me\\"),
        {"paused": "x"},
        "ingest_pause(table => 'a.t', reason => concat('it', char(39), 's me', char(92)))",
        None,
    ),
    (lambda s: ingest.resume(s, "a.t"), {"was_paused": True}, "ingest_resume(table => 'a.t')", True),
    (
        lambda s: ingest.wait(s, "a.t"),
        AWAITED,
        "ingest_wait(table => 'a.t', timeout_seconds => 60)",
        (AwaitedRecord(**AWAITED),),
    ),
    (
        lambda s: ingest.wait(s, "a.t", lane="a'", seq=1, timeout_seconds=2),
        AWAITED,
        "ingest_wait(table => 'a.t', lane => concat('a', char(39)), seq => 1L, timeout_seconds => 2)",
        (AwaitedRecord(**AWAITED),),
    ),
    (
        lambda s: ingest.quarantined(s, "a.t"),
        REFUSED,
        "ingest_quarantined(table => 'a.t')",
        (QuarantinedRecord(**REFUSED),),
    ),
    (
        lambda s: ingest.requeue(s, "a.t", lane="a", seq=0),
        REQUEUED,
        "ingest_requeue(table => 'a.t', lane => 'a', seq => 0L)",
        (RequeuedRecord(**REQUEUED),),
    ),
    (
        lambda s: ingest.discard(s, "a.t", lane="a", seq=2**63 - 1),
        REFUSED,
        "ingest_discard(table => 'a.t', lane => 'a', seq => 9223372036854775807L)",
        (QuarantinedRecord(**REFUSED),),
    ),
    (lambda s: ingest.reset(s, "a.t"), {"pointer": "p"}, "ingest_reset(table => 'a.t')", "p"),
    (
        lambda s: ingest.reset(s, "a.t", branch="b", forget_known=True),
        {"pointer": ""},
        "ingest_reset(table => 'a.t', branch => 'b', forget_known => true)",
        "",
    ),
    (
        lambda s: ingest.reset(s, "a.t", watermarks={"a": 1, "b'": 2}, forget_known=True),
        {"pointer": "p"},
        "ingest_reset(table => 'a.t', watermarks => map('a', 1L, concat('b', char(39)), 2L), forget_known => true)",
        "p",
    ),
    (
        lambda s: ingest.reset(s, "a.t", take_over=True),
        {"pointer": "p"},
        "ingest_reset(table => 'a.t', take_over => true)",
        "p",
    ),
    (
        lambda s: ingest.collect_garbage(s, "a.t"),
        GARBAGE,
        "ingest_collect_garbage(table => 'a.t', dry_run => true, older_than_hours => 72)",
        (GarbageDataFile(**GARBAGE),),
    ),
    (
        lambda s: ingest.collect_garbage(s, "a.t", dry_run=False, older_than_hours=0),
        GARBAGE,
        "ingest_collect_garbage(table => 'a.t', dry_run => false, older_than_hours => 0)",
        (GarbageDataFile(**GARBAGE),),
    ),
]


@pytest.mark.parametrize(("run", "row", "statement", "expected"), CALLS, ids=[call[2][:40] for call in CALLS])
def test_statement_and_result(run: Callable[[Any], Any], row: dict[str, Any], statement: str, expected: Any) -> None:
    session = _Session(row)
    assert run(session) == expected
    assert session.statements == [f"CALL zonemap.system.{statement}"]


@pytest.mark.parametrize(
    "run",
    [
        lambda s: ingest.commit(s, "a.t", timeout_seconds=-1),
        lambda s: ingest.status(s, "a..t"),
        lambda s: ingest.pause(s, "a.t", reason=7),
        lambda s: ingest.wait(s, "a.t", lane="a"),
        lambda s: ingest.wait(s, "a.t", seq=1),
        lambda s: ingest.requeue(s, "a.t", lane="", seq=1),
        lambda s: ingest.discard(s, "a.t", lane="a", seq=-1),
        lambda s: ingest.reset(s, "a.t", branch=""),
        lambda s: ingest.reset(s, "a.t", take_over=1),
        lambda s: ingest.reset(s, "a.t", watermarks={}),
        lambda s: ingest.reset(s, "a.t", watermarks={"a": 1.5}),
        lambda s: ingest.collect_garbage(s, "a.t", dry_run=0),
    ],
)
def test_malformed_arguments_send_nothing(run: Callable[[Any], Any]) -> None:
    session = _Session()
    with pytest.raises(InvalidArgumentError):
        run(session)
    assert session.statements == []


def test_result_of_another_version() -> None:
    with pytest.raises(ZonemapError, match="column state is missing"):
        ingest.wait(_Session({"lane": "a", "seq": 1, "message": ""}), "a.t")  # type: ignore[arg-type]


def test_command_of_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "start", lambda *_, **__: _Session(STATUS))
    result = CliRunner().invoke(cli.cli, ["ingest-status", "lake.db.t", "--output", "json"])
    assert result.exit_code == 0
    assert json.loads(result.output) == {"table": "lake.db.t", **STATUS}


COMMANDS: list[tuple[list[str], dict[str, Any], str, int]] = [
    (["ingest-commit", "a.t", "--timeout", "5"], COMMITTED, "ingest_commit(table => 'a.t', timeout_seconds => 5)", 0),
    (["ingest-commit", "a.t"], COMMITTED | {"outcome": "stopped"}, "ingest_commit(", 1),
    (["ingest-pause", "a.t", "--reason", "r"], {"paused": "r"}, "ingest_pause(table => 'a.t', reason => 'r')", 0),
    (["ingest-resume", "a.t"], {"was_paused": True}, "ingest_resume(table => 'a.t')", 0),
    (["ingest-wait", "a.t"], AWAITED, "ingest_wait(table => 'a.t', timeout_seconds => 60)", 0),
    (
        ["ingest-wait", "a.t", "--lane", "a", "--seq", "1"],
        AWAITED | {"state": "pending"},
        "ingest_wait(table => 'a.t', lane => 'a', seq => 1L, timeout_seconds => 60)",
        1,
    ),
    (["ingest-quarantined", "a.t"], REFUSED, "ingest_quarantined(table => 'a.t')", 0),
    (
        ["ingest-requeue", "a.t", "--lane", "a", "--seq", "1"],
        REQUEUED,
        "ingest_requeue(table => 'a.t', lane => 'a', seq => 1L)",
        0,
    ),
    (
        ["ingest-discard", "a.t", "--lane", "a", "--seq", "1"],
        REFUSED,
        "ingest_discard(table => 'a.t', lane => 'a', seq => 1L)",
        0,
    ),
    (
        ["ingest-reset", "a.t", "--branch", "b", "--watermark", "x=y=7", "--forget-known", "--take-over"],
        {"pointer": "v1|1|n|q|t"},
        "ingest_reset(table => 'a.t', branch => 'b', watermarks => map('x=y', 7L), forget_known => true, "
        "take_over => true)",
        0,
    ),
    (["ingest-reset", "a.t"], {"pointer": ""}, "ingest_reset(table => 'a.t')", 0),
    (
        ["ingest-collect-garbage", "a.t"],
        GARBAGE,
        "ingest_collect_garbage(table => 'a.t', dry_run => true, older_than_hours => 72)",
        0,
    ),
    (
        ["ingest-collect-garbage", "a.t", "--delete", "--older-than-hours", "99"],
        GARBAGE,
        "ingest_collect_garbage(table => 'a.t', dry_run => false, older_than_hours => 99)",
        0,
    ),
]


@pytest.mark.parametrize(("arguments", "row", "statement", "code"), COMMANDS, ids=[" ".join(c[0]) for c in COMMANDS])
def test_commands_call_the_procedures(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], row: dict[str, Any], statement: str, code: int
) -> None:
    session = _Session(row)
    monkeypatch.setattr(sessions, "start", lambda *_, **__: session)
    result = CliRunner().invoke(cli.cli, [*arguments, "--output", "json"])
    assert result.exit_code == code, result.output
    (sent,) = session.statements
    assert f"CALL zonemap.system.{statement}" in sent
    shown = json.loads(result.output)
    assert row.items() <= (shown[0] if isinstance(shown, list) else shown).items()


@pytest.mark.parametrize("text", ["a", "=1", "a=b", "a=-1"])
def test_a_malformed_watermark_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    session = _Session({"pointer": ""})
    monkeypatch.setattr(sessions, "start", lambda *_, **__: session)
    for given in ([text], ["a=1", "a=2"]):
        options = [part for mark in given for part in ("--watermark", mark)]
        result = CliRunner().invoke(cli.cli, ["ingest-reset", "a.t", *options])
        assert isinstance(result.exception, InvalidArgumentError) and "--watermark" in str(result.exception)
    assert session.statements == []


BLOCK = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import zonemap.ingest
from zonemap.common.errors import ZonemapError
assert not [name for name in sys.modules if name.split(".")[0] in ("pyarrow", "pyiceberg") and sys.modules[name]]
assert zonemap.ingest.status
try:
    from zonemap.ingest import Writer
except ZonemapError as error:
    print(error)
"""


@pytest.mark.parametrize("blocked", ["pyiceberg", "pyarrow"])
def test_a_missing_library_names_the_extra(blocked: str) -> None:
    package = Path(ingest.__file__).resolve().parents[2]
    code = BLOCK.format(blocked=[blocked])
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(package)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"Cannot use zonemap.ingest.Writer: '{blocked}")
    assert done.stdout.rstrip().endswith(f"Install it: {optional_packages.command('ingest')}.")


def test_a_pyiceberg_without_a_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from zonemap.ingest import compat

    monkeypatch.setitem(compat._NEEDED, "pyiceberg.schema", ("promote_everything",))
    compat.check.cache_clear()
    with pytest.raises(ZonemapError, match=r"has no pyiceberg\.schema\.promote_everything"):
        compat.check()
    compat.check.cache_clear()
