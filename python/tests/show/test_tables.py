# SPDX-License-Identifier: Apache-2.0
"""Results in notebooks and terminals."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from typing import Any

import pytest
from rich.console import Console

from zonemap.results import (
    BuildResult,
    BuiltFact,
    CompactedLevel,
    CompactResult,
    DropResult,
    PrewarmResult,
    StatusResult,
    StatusResults,
    VerifyResult,
)
from zonemap.show.tables import Shown

FACT = BuiltFact("bloom([id])", 3, 2, 100, 4_096, 5_000, 0, 1.5)


def printed(result: Shown) -> str:
    console = Console(file=io.StringIO(), width=160)
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
        (VerifyResult(()), ["No difference found"]),
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
        assert page.count(">-</td>") >= 3


def test_facts_are_a_table_of_their_own() -> None:
    page = BuildResult("t", 7, 1, 0, 1, 9, 0.5, (FACT,))._repr_html_()
    assert page.count("<table>") == 2 and ">facts</th>" not in page
    assert BuildResult("t", 7, 1, 0, 1, 9, 0.5)._repr_html_().count("<table>") == 1


def test_the_status_of_several_tables_is_a_tuple() -> None:
    found = StatusResults([status("a")])
    assert found == (status("a"),) and found[0].verdict == "fresh"
