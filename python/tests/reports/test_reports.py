# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from diagnosis.test_diagnosis import CLUSTERING, WHY
from pages import Page

import zonemap
from zonemap import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.commands import cli, sessions
from zonemap.common import optional_packages
from zonemap.reports import Report
from zonemap.results import StatusResult
from zonemap.show.palette import DARK, LIGHT

STATUS: dict[str, Any] = {field.name: 0 for field in fields(StatusResult)} | {
    "table": "lake.db.<t>",
    "snapshot_id": 8123456789012345678,
    "verdict": "fresh",
    "problem": "",
    "levels": "day=1 micro=3",
    "files_total": 1_000,
    "files_covered": 1_000,
    "bytes": 2_500_000,
    "memory_bytes": 3_000_000,
    "store": "/store/<a>",
    "columns": "all",
    "facts": "bloom(user_id)=65536",
    "fact_bytes": 65_536,
    "chosen_facts": "",
    "bounds": "extremes=1000",
}
SCAN = {
    "planned_at": datetime(2026, 1, 1),
    "table": "lake.db.<t>",
    "snapshot_id": 7,
    "mode": "EXACT",
    "tier": "hot",
    "reason": "",
    "files_considered": 1_000,
    "files_after_bounds": 2,
    "files_kept": 1,
    "bytes_considered": 250_000_000,
    "bytes_kept": 250_000,
    "rows_considered": 336_776,
    "rows_kept": 340,
    "facts": "",
    "predicate": "user_id = 3 AND s < '<b>'",
    "top_k": "",
    "limit": -1,
    "milliseconds": 1.5,
    "runs": 1,
    "steps": [],
}
STOCK = SCAN | {"files_considered": -1, "files_kept": -1, "mode": "STOCK", "reason": "DISABLED", "predicate": "true"}
SUMMARY = {
    "total-data-files": "1000",
    "total-files-size": "250000000",
    "total-records": "336776",
    "total-delete-files": "0",
}
ADVICE = {"kind": "sort", "message": "sorting by <user_id> would keep 11 files", "expected_files": 11}


class _RefusedError(Exception):
    """An error of Spark."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self._name = name

    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        return self._name


class _Row(tuple[Any, ...]):
    values: dict[str, Any]

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - PySpark's name
        return self.values


class _Session:
    """A session with one table; each procedure returns its rows or raises."""

    version = "4.1.3"
    dtypes = (("id", "bigint"), ("user_id", "bigint"), ("tags", "map<string,string>"))

    def __init__(self, **answers: Any) -> None:
        self.statements: list[str] = []
        self._answers = {
            "index_status": [STATUS],
            "why_not": [WHY],
            "planned_scans": [SCAN, SCAN, STOCK, SCAN | {"runs": 0, "files_kept": 900}, STOCK | {"runs": 0}],
            "clustering_information": [CLUSTERING],
            "snapshots": [{"summary": SUMMARY}],
            "advise": _RefusedError("FAILED_TO_LOAD_ROUTINE", "Cannot load routine `zonemap`.`system`.`advise`"),
        } | answers

    def sql(self, statement: str) -> Any:
        self.statements.append(statement)
        name = next(name for name in self._answers if f"system.{name}(" in statement or f".{name} WHERE" in statement)
        answer = self._answers[name]
        if callable(answer):
            answer = answer(statement)
        if isinstance(answer, Exception):
            raise answer
        return _Frame(answer)

    def table(self, name: str) -> _Session:
        return self


class _Frame:
    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def collect(self) -> list[_Row]:
        found = []
        for values in self._rows:
            row = _Row(values.values())
            row.values = values
            found.append(row)
        return found


def made(session: _Session | None = None, **arguments: Any) -> Report:
    spark: Any = session or _Session()
    return zonemap.Index(spark, "lake.db.`<t>`").report(**arguments)


def texts(report: Report) -> str:
    return "\n".join(Page(report.html()).texts)


def test_the_page_has_five_sections_loads_nothing_and_follows_the_background() -> None:
    html = made().html()
    page = Page(html)
    assert [name for name in page.ids if not re.fullmatch(r"z[0-9a-f]{12}-\d+", name)] == [
        "layout",
        "coverage",
        "queries",
        "advice",
        "cost",
    ]
    assert page.loads == [] and len(set(page.ids)) == len(page.ids)
    assert "prefers-color-scheme: dark" in html and LIGHT.page in html and DARK.page in html
    assert "<t>" not in html and "lake.db.`&lt;t&gt;`" in html
    assert html.count("<svg") == 4  # clustering, history, tiers, levels


def test_the_page_has_the_numbers_of_the_procedures() -> None:
    shown = texts(made(queries=["SELECT '<q>'"]))
    for text in (
        "fresh",
        "1,000 covered",
        "99.9 %",  # of the files of two scans
        "336,776",
        "250.0 MB",
        "2.6 MB",  # index and facts
        "index and facts in the store, 1.03 % of the data",
        "user_id = 3 AND s < '<b>'",
        "DISABLED",
        "SELECT '<q>'",
        WHY["message"],
        WHY["remedy"],
        "bloom(user_id)=65536",
    ):
        assert text in shown, text


def test_the_columns_are_those_of_conditions_without_an_order_of_the_table() -> None:
    def clustering(statement: str) -> Any:
        return [CLUSTERING] if "columns" in statement else _RefusedError("", "it has no sort order")

    session = _Session(clustering_information=clustering)
    report = made(session)
    asked = [statement for statement in session.statements if "clustering" in statement]
    assert len(asked) == 2 and asked[1].endswith("columns => array('user_id'))")
    assert len(report.clustering) == 1 and report.notes == ()


def test_without_conditions_the_first_columns_are_shown() -> None:
    session = _Session(planned_scans=[])
    made(session)
    asked = [statement for statement in session.statements if "columns" in statement]
    assert [statement.partition("array")[2] for statement in asked] == ["('id'))", "('user_id'))"]


def test_a_column_without_a_clustering_is_named_on_the_page() -> None:
    session = _Session(clustering_information=_RefusedError("", "column 'nope' is unknown"))
    shown = texts(made(session, columns=["nope"]))
    assert "The clustering of nope is missing: column 'nope' is unknown" in shown
    assert "Missing on this page" in shown and "No column has a clustering to show" in shown


def test_a_table_without_snapshot_and_history() -> None:
    status = STATUS | {"snapshot_id": -1, "verdict": "no snapshot", "files_total": 0, "levels": "", "bytes": -1}
    report = made(
        _Session(index_status=[status], planned_scans=[], clustering_information=_RefusedError("", "no snapshot"))
    )
    shown = texts(report)
    assert "no snapshot" in shown and "the table has no snapshot" in shown and report.layout is None
    assert "This driver has executed no query of the table" in shown


@pytest.mark.parametrize(
    ("answer", "rows", "text"),
    [
        ([ADVICE], (ADVICE,), "sorting by <user_id> would keep 11 files"),
        ([], (), "There is no advice"),
        (_RefusedError("FAILED_TO_LOAD_ROUTINE", "zonemap has no such procedure"), None, "has no procedure advise"),
        (
            _RefusedError("", "Cannot find procedure 'system.advise': there is none. Known procedures: build."),
            None,
            "has no procedure advise",
        ),
        (_RefusedError("", "the index is damaged"), (), "The advice is missing: the index is damaged"),
    ],
)
def test_advice_is_shown_if_the_session_has_the_procedure(answer: Any, rows: Any, text: str) -> None:
    report = made(_Session(advise=answer))
    assert report.advice == rows
    assert text in texts(report)


def test_a_damaged_index_is_no_good_state() -> None:
    damaged = STATUS | {"verdict": "damaged: a segment is cut short", "problem": "build it anew"}
    html = made(_Session(index_status=[damaged])).html()
    assert '<span class="bad">damaged: a segment is cut short</span>' in html and "build it anew" in html
    assert '<span class="good">fresh</span>' in made().html()


def test_errors_of_the_table_and_of_a_query_are_raised() -> None:
    with pytest.raises(ProcedureError, match="no such table"):
        made(_Session(index_status=_RefusedError("", "no such table")))
    with pytest.raises(ProcedureError, match="is not a SELECT"):
        made(_Session(why_not=_RefusedError("", "it is not a SELECT")), queries=["DELETE FROM t"])
    for arguments in ({"columns": []}, {"columns": "id"}, {"queries": 7}):
        with pytest.raises(InvalidArgumentError, match=r"columns|queries"):
            made(**arguments)


@pytest.mark.parametrize(("name", "why"), [("report.pdf", "does not end with"), ("nope/report.html", "does not exist")])
def test_a_page_that_cannot_be_written_is_refused_before_a_session_starts(
    name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "start", lambda *_, **__: pytest.fail("a session was started"))
    shown = CliRunner().invoke(cli.cli, ["report", "--table", "t", "--out", str(tmp_path / name)])
    assert isinstance(shown.exception, InvalidArgumentError) and why in str(shown.exception)


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = _Session()
    monkeypatch.setattr(sessions, "start", lambda *_, **__: session)
    out = tmp_path / "report.html"
    options = ["--columns", "user_id", "--query", "SELECT 1", "--query", "SELECT 2"]
    shown = CliRunner().invoke(cli.cli, ["report", "--table", "lake.db.t", "--out", str(out), *options])
    assert shown.exit_code == 0, shown.exception
    assert "fresh" in shown.output and sum("why_not" in statement for statement in session.statements) == 2
    assert Page(out.read_text()).loads == []


def test_the_command_names_the_extra_before_a_session_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optional_packages.util, "find_spec", lambda name: None if name == "altair" else object())
    monkeypatch.setattr(sessions, "start", lambda *_, **__: pytest.fail("a session was started"))
    shown = CliRunner().invoke(cli.cli, ["report", "--table", "t", "--out", str(tmp_path / "r.html")])
    assert isinstance(shown.exception, ZonemapError)
    assert f"not installed: altair. Install them: {optional_packages.command('plots')}" in str(shown.exception)


def test_a_notebook_shows_the_summary() -> None:
    shown = made()._repr_html_()
    assert ">2,000</td>" in shown and "save(&#x27;report.html&#x27;)" in shown


def test_a_summary_whose_numbers_are_none() -> None:
    damaged = SUMMARY | {"total-records": "many", "total-files-size": ""}
    found = texts(made(_Session(snapshots=[{"summary": damaged}])))
    assert "The size of the table is incomplete: the summary has total-records = 'many'." in found
    assert "The size of the table is incomplete: the summary has total-files-size = ''." in found


def test_the_size_of_an_index_that_is_not_there_is_unknown() -> None:
    status = STATUS | {"bytes": -1, "fact_bytes": 65_536, "levels": "", "verdict": "no index"}
    found = texts(made(_Session(index_status=[status]))).splitlines()
    assert found[found.index("index and facts in the store") - 1] == "unknown"


def test_conditions_beyond_the_most_frequent_are_counted() -> None:
    scans = [SCAN | {"predicate": f"id = {number}"} for number in range(23)]
    assert "3 rarer conditions are left out." in texts(made(_Session(planned_scans=scans)))
    assert "rarer conditions" not in texts(made())
