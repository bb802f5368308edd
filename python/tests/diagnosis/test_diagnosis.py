# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from click.testing import CliRunner

import zonemap
from zonemap import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.commands import cli, sessions

WHY = {
    "scan": 1,
    "table": "lake.db.t",
    "part": "condition",
    "text": "(user_id = 7L)",
    "became": "user_id = 7",
    "decided_by": "bounds of user_id",
    "files_before": 1000,
    "files_after": 812,
    "files_alone": 812,
    "code": "CONDITION_OVERLAP",
    "arguments": {"column": "user_id"},
    "message": "812 of 1,000 files kept: values of `user_id` overlap in 97 % of the files (average depth 37)",
    "remedy": "Sorting by `user_id` would keep about 2 files.",
}
VERDICT = {
    "query": "SELECT 1",
    "check": "rows",
    "table": "",
    "verdict": "equal",
    "with_index": 5,
    "without_index": 5,
    "detail": "the rows of both runs have the same digest",
}
CLUSTERING = {
    "cluster_by_keys": "LINEAR(a)",
    "total_partition_count": 3,
    "total_constant_partition_count": 0,
    "average_overlaps": 1.5,
    "average_depth": 2.5,
    "partition_depth_histogram": {"00002": 3},
    "partitions_without_bounds": 0,
    "partitions_of_nulls": 0,
    "snapshot_id": 7,
    "notes": "",
}
ADVICE = {
    "advice": "sort",
    "subject": "user_id",
    "scans": 10,
    "files_before": 1600,
    "files_after": 12,
    "bytes_before": 1_000_000,
    "bytes_after": 9000,
    "files_read": 160,
    "rows_read": 32000,
    "expected_bytes": 100_000,
    "statement": "CALL lake.system.rewrite_data_files(table => 'db.t')",
    "message": "a sort by `user_id` would keep about 12 files instead of 1,600 for 10 scans",
}


class _Row:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        return self._values


class _Session:
    """A session that notes the statements and views, and answers with rows."""

    def __init__(self, *rows: dict[str, Any], fails: bool = False) -> None:
        self.statements: list[str] = []
        self.views: list[str] = []
        self.catalog = self
        self._rows = rows
        self._fails = fails

    def sql(self, statement: str) -> _Session:
        self.statements.append(statement)
        if self._fails:
            raise ValueError(statement)
        return self

    def collect(self) -> list[_Row]:
        return [_Row(row) for row in self._rows]

    def dropTempView(self, name: str) -> None:  # noqa: N802 - PySpark's name
        self.views.remove(name)


class _Frame:
    def __init__(self, session: _Session) -> None:
        self.sparkSession = session

    def createTempView(self, name: str) -> None:  # noqa: N802 - PySpark's name
        self.sparkSession.views.append(name)


def test_a_text_is_sent_as_a_literal() -> None:
    session = _Session(WHY)
    result = zonemap.why_not(session, "SELECT * FROM t WHERE s = 'a'")  # type: ignore[arg-type]
    assert session.statements == [
        "CALL zonemap.system.why_not(query => concat('SELECT * FROM t WHERE s = ', char(39), 'a', char(39)))"
    ]
    assert result.as_dicts() == [WHY]
    assert result.summaries()[0]["files"] == "1,000 -> 812"
    html = result._repr_html_()
    assert "CONDITION_OVERLAP" in html and "97 %" in html and "decided_by" not in html


@pytest.mark.parametrize("fails", [False, True])
def test_a_frame_is_a_view_for_the_time_of_the_call(fails: bool) -> None:
    session = _Session(WHY, fails=fails)
    frame: Any = _Frame(session)
    if fails:
        with pytest.raises(ValueError, match="why_not"):
            zonemap.why_not(frame.sparkSession, frame)
    else:
        assert len(zonemap.why_not(frame.sparkSession, frame).rows) == 1
    assert session.statements[0].startswith("CALL zonemap.system.why_not(query => 'SELECT * FROM zonemap_query_")
    assert session.views == []


class _SparkError(Exception):
    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        return "TABLE_OR_VIEW_NOT_FOUND"


class _UnknownFrame(_Frame):
    """A DataFrame of Spark Connect of a table that does not exist: the server analyses it when it becomes a view."""

    def createTempView(self, name: str) -> None:  # noqa: N802 - PySpark's name
        raise _SparkError("[TABLE_OR_VIEW_NOT_FOUND] The table `t` cannot be found.\n\nJVM stacktrace:\n\tat x.Y.z")


@pytest.mark.parametrize(
    "ask",
    [
        lambda frame: zonemap.why_not(frame.sparkSession, frame),
        lambda frame: zonemap.explain(frame.sparkSession, frame),
        lambda frame: zonemap.verify(frame.sparkSession, frame),
        lambda frame: zonemap.Index(frame.sparkSession, "lake.db.t").verify(frame),
        lambda frame: zonemap.Index(frame.sparkSession, "lake.db.t").advise([frame]),
    ],
)
def test_a_frame_that_a_server_cannot_analyse_is_one_sentence(ask: Callable[[Any], object]) -> None:
    with pytest.raises(ProcedureError) as refused:
        ask(_UnknownFrame(_Session(WHY)))
    assert str(refused.value) == "[TABLE_OR_VIEW_NOT_FOUND] The table `t` cannot be found."
    assert refused.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert refused.value.java_trace == "at x.Y.z"
    assert "at x.Y.z" not in "".join(traceback.format_exception(refused.value))


class _ClosedSession(_Session):
    """A session that the server has closed: it answers nothing any more."""

    def sql(self, statement: str) -> _ClosedSession:
        raise _SparkError("The session is closed.\n\nJVM stacktrace:\n\tat x.Y.z")

    def dropTempView(self, name: str) -> None:  # noqa: N802 - PySpark's name
        raise _SparkError("The session is closed.\n\nJVM stacktrace:\n\tat x.Y.z")


def test_a_view_that_cannot_be_dropped_does_not_hide_the_error_of_the_query() -> None:
    frame: Any = _Frame(_ClosedSession(WHY))
    with pytest.raises(ProcedureError, match=r"^The session is closed\.$"):
        zonemap.why_not(frame.sparkSession, frame)


def test_a_query_of_another_kind_and_rows_of_another_version_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="neither a DataFrame nor text"):
        zonemap.why_not(_Session(WHY), 7)  # type: ignore[arg-type]
    old = {name: value for name, value in WHY.items() if name != "remedy"}
    with pytest.raises(ZonemapError, match="column remedy is missing"):
        zonemap.why_not(_Session(old), "SELECT 1")  # type: ignore[arg-type]


def test_clustering_information() -> None:
    session: Any = _Session(CLUSTERING)
    result = zonemap.Index(session, "lake.db.t").clustering(["a"])
    assert session.statements == [
        "CALL zonemap.system.clustering_information(table => 'lake.db.t', columns => array('a'))"
    ]
    assert result.as_dict() == {"table": "lake.db.t", **CLUSTERING}
    zonemap.Index(session, "t").clustering()
    assert session.statements[1] == "CALL zonemap.system.clustering_information(table => 't')"
    with pytest.raises(InvalidArgumentError, match="columns"):
        zonemap.Index(session, "t").clustering([])


def test_verify_of_a_table_and_of_a_query() -> None:
    session: Any = _Session(VERDICT)
    assert zonemap.Index(session, "t").verify(max_files=2).is_right
    assert zonemap.verify(session, "SELECT 1").verdicts[0].check == "rows"
    assert session.statements == [
        "CALL zonemap.system.verify(table => 't', max_files => 2, max_columns => 3)",
        "CALL zonemap.system.verify(query => 'SELECT 1', max_files => 8)",
    ]
    with pytest.raises(InvalidArgumentError, match="max_files"):
        zonemap.Index(session, "t").verify(max_files=-1)
    wrong = zonemap.Index(_Session({**VERDICT, "verdict": "different"}), "t").verify()  # type: ignore[arg-type]
    assert not wrong.is_right and "The index is wrong" in wrong._repr_html_()
    unchecked = zonemap.Index(_Session({**VERDICT, "verdict": "not checked"}), "t").verify()  # type: ignore[arg-type]
    assert not unchecked.is_right and not unchecked.has_difference and "Nothing was checked" in str(unchecked)


def planned_scan() -> dict[str, Any]:
    return {
        "planned_at": datetime(2026, 1, 1),
        "table": "lake.db.t",
        "snapshot_id": 7,
        "mode": "EXACT",
        "tier": "hot",
        "reason": "",
        "files_considered": 5,
        "files_after_bounds": 2,
        "files_kept": 1,
        "bytes_considered": 5000,
        "bytes_kept": 900,
        "rows_considered": 50,
        "rows_kept": 10,
        "facts": "bloom(id)",
        "predicate": "id = 3",
        "top_k": "",
        "limit": -1,
        "milliseconds": 1.5,
        "runs": 1,
        "steps": (
            {
                "step": "bounds",
                "text": "bounds of id",
                "files_before": 5,
                "files_after": 1,
                "bytes_before": 5000,
                "bytes_after": 900,
            },
        ),
    }


def test_planned_scans_of_a_table_and_of_all_tables() -> None:
    scan = planned_scan()
    session: Any = _Session(scan)
    found = zonemap.Index(session, "lake.db.t").planned_scans(max_scans=5)
    assert found.as_dicts() == [scan] and json.dumps(found.as_dicts()[0]["steps"])
    assert "5 -&gt; 1" in found._repr_html_()
    step = zonemap.planned_scans(session).scans[0].steps[0]
    assert (step.step, step.files_before, step.files_after, step.bytes_after) == ("bounds", 5, 1, 900)
    assert session.statements == [
        "CALL zonemap.system.planned_scans(table => 'lake.db.t', max_scans => 5)",
        "CALL zonemap.system.planned_scans(max_scans => 100)",
    ]
    nothing = zonemap.planned_scans(_Session())  # type: ignore[arg-type]
    assert "Run a query first" in nothing._repr_html_()


def test_the_command_shows_the_planned_scans_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _Session(planned_scan())
    monkeypatch.setattr(sessions, "start", lambda *_, **__: found)
    options = ["--remote", "sc://host:15002"]
    result = CliRunner().invoke(
        cli.cli, ["planned-scans", "lake.db.t", "--output", "json", "--max-scans", "5", *options]
    )
    assert result.exit_code == 0 and json.loads(result.output)[0]["table"] == "lake.db.t"
    assert found.statements == ["CALL zonemap.system.planned_scans(table => 'lake.db.t', max_scans => 5)"]
    shown = CliRunner().invoke(cli.cli, ["planned-scans", *options], env={"COLUMNS": "400"}).output
    assert "5 -> 1" in shown and "id = 3" in shown and "top_k" not in shown
    refused = CliRunner().invoke(cli.cli, ["planned-scans", "lake.db.t"])
    assert isinstance(refused.exception, InvalidArgumentError) and "--remote" in str(refused.exception)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> _Session:
    found = _Session(WHY)
    monkeypatch.setattr(sessions, "start", lambda *_, **__: found)
    return found


def test_the_command_why_not_prints_a_table_or_json(session: _Session) -> None:
    shown = CliRunner().invoke(cli.cli, ["why-not", "SELECT 1", "--output", "json"])
    assert shown.exit_code == 0 and json.loads(shown.output) == [WHY]
    table = CliRunner().invoke(cli.cli, ["why-not", "SELECT 1"])
    assert table.exit_code == 0 and "CONDITION" in table.output and "812" in table.output


def test_the_command_clustering(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _Session(CLUSTERING)
    monkeypatch.setattr(sessions, "start", lambda *_, **__: found)
    shown = CliRunner().invoke(cli.cli, ["clustering", "lake.db.t", "--columns", "a", "--output", "json"])
    assert shown.exit_code == 0 and json.loads(shown.output)["average_depth"] == 2.5
    assert found.statements[0].endswith("columns => array('a'))")


@pytest.mark.parametrize(("verdict", "code"), [("equal", 0), ("not checked", 0), ("different", 1)])
def test_the_exit_code_of_verify(monkeypatch: pytest.MonkeyPatch, verdict: str, code: int) -> None:
    monkeypatch.setattr(sessions, "start", lambda *_, **__: _Session({**VERDICT, "verdict": verdict}))
    assert CliRunner().invoke(cli.cli, ["verify", "lake.db.t"]).exit_code == code
    assert CliRunner().invoke(cli.cli, ["verify", "--query", "SELECT 1"]).exit_code == code


@pytest.mark.parametrize("arguments", [[], ["t", "--query", "SELECT 1"]])
def test_verify_of_nothing_or_of_two_things_is_refused(session: _Session, arguments: list[str]) -> None:
    shown = CliRunner().invoke(cli.cli, ["verify", *arguments])
    assert isinstance(shown.exception, InvalidArgumentError)


def test_advice_from_observed_scans_and_from_queries() -> None:
    session: Any = _Session(ADVICE, {**ADVICE, "advice": "no help", "files_after": -1, "statement": ""})
    result = zonemap.Index(session, "lake.db.t").advise(max_scans=7, facts=False)
    assert result.as_dicts()[0] == ADVICE and result.statements == (ADVICE["statement"],)
    assert [row["files"] for row in result.summaries()] == ["1,600 -> about 12", "1,600"]
    assert "would keep about 12 files" in result._repr_html_()
    heads = re.findall("<th(?: [^>]*)?>(.*?)</th>", result._repr_html_())
    assert heads == ["advice", "subject", "scans", "files", "message", "statement"]
    zonemap.Index(session, "t").advise(["SELECT 'a'", _Frame(session)])  # type: ignore[list-item]
    assert session.statements[0] == ("CALL zonemap.system.advise(table => 'lake.db.t', max_scans => 7, facts => false)")
    assert session.statements[1].startswith(
        "CALL zonemap.system.advise(table => 't', max_scans => 200, queries => "
        "array(concat('SELECT ', char(39), 'a', char(39)), 'SELECT * FROM "
    )
    assert session.views == []


@pytest.mark.parametrize(
    "arguments",
    [{"queries": []}, {"queries": "SELECT 1"}, {"queries": [7]}, {"max_scans": -1}, {"facts": 1}],
)
def test_advice_refuses_other_values(arguments: dict[str, Any]) -> None:
    session: Any = _Session(ADVICE)
    with pytest.raises(InvalidArgumentError, match=next(iter(arguments)).removesuffix("ies")):
        zonemap.Index(session, "t").advise(**arguments)
    assert session.statements == []


def test_the_command_advise(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _Session(ADVICE)
    monkeypatch.setattr(sessions, "start", lambda *_, **__: found)
    shown = CliRunner().invoke(cli.cli, ["advise", "lake.db.t", "--query", "SELECT 1", "--output", "json"])
    assert shown.exit_code == 0 and json.loads(shown.output) == [ADVICE]
    assert found.statements[0].endswith("queries => array('SELECT 1'))")
    table = CliRunner().invoke(cli.cli, ["advise", "lake.db.t", "--query", "SELECT 1", "--no-facts"])
    assert table.exit_code == 0 and "about 12" in table.output and "facts => false" in found.statements[1]
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    refused = CliRunner().invoke(cli.cli, ["advise", "lake.db.t"])
    assert isinstance(refused.exception, InvalidArgumentError) and "--query" in str(refused.exception)
