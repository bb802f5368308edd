# SPDX-License-Identifier: Apache-2.0
"""Results in notebooks and terminals."""

from __future__ import annotations

import inspect
import io
import sys
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any

import pytest
from rich.console import Console

import zonemap.ingest.results
from zonemap import results
from zonemap.ingest import CommittedBranch
from zonemap.results import (
    BuildResult,
    BuiltFact,
    CompactedLevel,
    CompactResult,
    DropResult,
    Explanation,
    PlannedScan,
    PlannedScans,
    PrewarmResult,
    StatusResult,
    StatusResults,
    VerifyResult,
)
from zonemap.show.tables import Shown

FACT = BuiltFact("bloom([id])", 3, 2, 100, 4_096, 5_000, 0, 1.5)


def printed(result: Shown) -> str:
    return printed_at(result, 160)


def printed_at(result: Shown, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(result)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def status(table: str) -> StatusResult:
    empty: dict[str, Any] = {field.name: 0 for field in fields(StatusResult)}
    return StatusResult(**{**empty, "table": table, "verdict": "fresh", "files_total": 1_234})


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        (PrewarmResult("t", 8123456789, 3, 12_345, 0.25), ["snapshot_id", "8123456789", "12,345", "0.250"]),
        (BuildResult("t", 7, 1, 0, 1, 9, 0.5, (FACT,)), ["Facts", "bloom([id])", "4,096", "expected_bytes"]),
        (CompactResult("t", (CompactedLevel("hour", 3, 1, 10, 9), CompactedLevel("day", 0, 1, 0, 9))), ["hour", "day"]),
        (DropResult("t", True, ("/[a]",)), ["Would delete 1 files of the index of t", "/[a]"]),
        (VerifyResult(()), ["Nothing was checked"]),
        (StatusResults((status("lake.db.a"), status("lake.db.b"))), ["2 tables", "lake.db.a", "fresh", "1,234"]),
    ],
)
def test_a_terminal_and_a_notebook_show_the_same_values(result: Shown, texts: list[str]) -> None:
    page, terminal = result._repr_html_(), printed(result)
    for text in texts:
        assert text in page and text in terminal


def test_a_single_row_has_a_field_in_each_line_and_several_rows_have_columns() -> None:
    assert (
        '<tr><th scope="row">segments</th><td class="short">3</td></tr>'
        in PrewarmResult("t", 7, 3, 1, 0.25)._repr_html_()
    )
    assert "<thead>" in StatusResults((status("a"), status("b")))._repr_html_()


def test_an_unknown_number_is_a_dash() -> None:
    unknown = replace(status("t"), lag_snapshots=-1, lag_seconds=-1.0, snapshot_id=-1, bytes=-1)
    assert unknown.as_dict()["bytes"] == -1
    for result in (unknown, StatusResults((unknown, status("u")))):
        page, terminal = result._repr_html_(), printed(result)
        assert "-1" not in page and "-1" not in terminal
        assert page.count(">-</td>") >= 2


def test_facts_are_a_table_of_their_own() -> None:
    page = BuildResult("t", 7, 1, 0, 1, 9, 0.5, (FACT,))._repr_html_()
    assert page.count("<table>") == 2 and ">facts</th>" not in page
    assert BuildResult("t", 7, 1, 0, 1, 9, 0.5)._repr_html_().count("<table>") == 1


def test_the_status_of_several_tables_is_a_tuple() -> None:
    found = StatusResults([status("a")])
    assert found == (status("a"),) and found[0].verdict == "fresh"


STATUS = replace(
    status("lake.db.events"),
    files_covered=4_096,
    files_total=4_096,
    bytes=2_100_000,
    memory_bytes=1_300_000,
    snapshot_id=8123456789,
    covered_snapshot_id=8123456789,
    problem="",
)
UNKNOWN = dict.fromkeys(("files_covered", "files_total", "lag_snapshots", "bytes", "covered_snapshot_id"), -1)
NO_INDEX = UNKNOWN | {"files_covered": 0, "files_total": 1, "verdict": "no index"}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {},
            "lake.db.events: fresh, 4,096 of 4,096 files covered, 0 snapshots behind, "
            "index 2.1 MB in the store and 1.3 MB in memory",
        ),
        (
            {"verdict": "behind", "files_covered": 4_000, "lag_snapshots": 1, "lag_seconds": 90.0, "fact_bytes": 5_000},
            "lake.db.events: behind, 4,000 of 4,096 files covered, 1 snapshot (90 s) behind, "
            "index 2.1 MB in the store and 1.3 MB in memory, facts of 5.0 KB",
        ),
        (
            {"verdict": "behind", "files_total": -1, "lag_snapshots": -1, "lag_seconds": -1.0},
            "lake.db.events: behind, 4,096 files covered, lag unknown, index 2.1 MB in the store and 1.3 MB in memory",
        ),
        (NO_INDEX, "lake.db.events: no index, 0 of 1 file covered"),
        (UNKNOWN | {"verdict": "error"}, "lake.db.events: error"),
    ],
)
def test_a_printed_status_begins_with_its_state_in_words(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = replace(STATUS, **values)
    lines = str(found).splitlines()
    assert lines[0] == sentence and "verdict" in str(lines[2:])
    assert f'<p class="zonemap-heading">{sentence}</p>' in found._repr_html_()
    worse = replace(found, problem="it is [gone]")
    assert str(worse).splitlines()[:2] == [sentence, "it is [gone]"]
    html = worse._repr_html_()
    assert html.index(sentence) < html.index('<p class="zonemap-heading">it is [gone]</p>') < html.index("<table>")


def test_print_is_for_people_and_repr_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    one, drop = PrewarmResult("t", 8123456789, 3, 12_345, 0.25), DropResult("t", True, ("/[a]", "/" + "b" * 150))
    assert repr(one) == "PrewarmResult(table='t', snapshot_id=8123456789, segments=3, bytes=12345, seconds=0.25)"
    assert "12,345" in str(one) and "\x1b" not in str(one) and "PrewarmResult" not in str(one)
    assert str(StatusResults((STATUS, STATUS))).startswith("2 tables\n")
    assert max(map(len, str(drop).splitlines())) == 100 and "/[a]" in str(drop)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, str(drop).splitlines())) == 60


def test_printing_never_fails_for_the_encoding_of_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    print(DropResult("t", True, ("/\u00e4", "/b")), flush=True)
    assert b"/\\xe4" in written.getvalue()


def test_every_result_is_shown() -> None:
    rows = {
        "AdviceRow",
        "BuiltFact",
        "CompactedLevel",
        "GarbageFile",
        "PlanStep",
        "PlannedScan",
        "Verdict",
        "WhyNotRow",
    }
    found = {name: getattr(results, name) for name in results.__all__ if name not in rows}
    assert all(issubclass(kind, Shown) for kind in found.values() if kind is not Explanation)
    assert "Explanation(" not in str(Explanation("text", "plan"))
    of_ingest = dict(inspect.getmembers(zonemap.ingest.results, is_dataclass)).values()
    assert all(issubclass(kind, Shown) or hasattr(kind, "of_rows") for kind in of_ingest)
    row = dict.fromkeys((field.name for field in fields(CommittedBranch)), 7) | {"outcome": "committed"}
    branches = CommittedBranch.of_rows("t", [row, row])
    assert "committed" in str(branches) and "CommittedBranch(" not in str(branches)
    assert branches == (CommittedBranch(**row),) * 2 and "<thead>" in branches._repr_html_()  # type: ignore[attr-defined]


def scans(count: int, **values: Any) -> PlannedScans:
    empty: dict[str, Any] = {field.name: 0 for field in fields(PlannedScan)}
    one = {
        **empty,
        "planned_at": datetime(2026, 1, 31, 23, 59, 59, 123),
        "table": "lake.production.page_views",
        "mode": "EXACT",
        "files_considered": 200_000,
        "files_kept": 12,
        "milliseconds": 1234.5678,
        "predicate": "user_id IN (" + ", ".join(map(str, range(100_000, 100_300))) + ")\nAND [bold]x",
        "reason": "",
        "steps": (),
    }
    return PlannedScans((PlannedScan(**{**one, **values}),) * count)


@pytest.mark.parametrize("count", [1, 3])
def test_a_scan_takes_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    stock = {"mode": "STOCK", "files_considered": -1, "files_kept": -1, "reason": "NOT_COVERED: no index"}
    for found, files in ((scans(count), "200,000 -> 12"), (scans(count, **stock), "NOT_COVERED ")):
        lines = str(found).splitlines()
        assert max(map(len, lines)) == 100
        of_scans = [line for line in lines if "2026-01-31 23:59:59" in line]
        assert len(of_scans) == count and len(lines) == count + 4, lines
        assert all(files in line and "1,234.6" in line and "user_id" in line and "\u2026" in line for line in of_scans)
        heads = ["time", "table", "mode", "files", "ms", "predicate"]
        assert [cell.strip() for cell in lines[1].strip("\u2503").split("\u2503")] == heads
        assert "100299)" in found._repr_html_() and found._repr_html_().count("<tr>") == count + 1
    narrow = printed_at(scans(count), 80).splitlines()
    assert max(map(len, narrow)) == 80 and len(narrow) == count + 4


def test_a_scan_of_today_has_no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now()
    assert scans(1, planned_at=now).summaries()[0]["time"] == f"{now:%H:%M:%S}"
    assert scans(1, planned_at=now.replace(year=2020, day=1)).summaries()[0]["time"] == f"2020-{now:%m-01 %H:%M:%S}"
