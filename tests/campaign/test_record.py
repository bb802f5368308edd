# SPDX-License-Identifier: Apache-2.0
"""Tests of the table of runs in docs/reliability.md."""

from __future__ import annotations

from campaign import record
from campaign.rounds import Round, Totals

OTHER = "| ccc | 8 | 10 | 3 s | 1 | a defect |"


def test_the_last_row_has_the_sums_of_the_other_rows() -> None:
    rows, total = record.rows(record.PAGE.read_text(encoding="utf-8"))
    assert rows
    assert total == record.total(rows)


def test_the_row_of_a_run_names_the_commits_of_its_rounds() -> None:
    totals = Totals()
    totals.add(Round(0, "native", checks=4000, cpu=20.4, commit="bbb").line())
    totals.add(Round(1, "moved", checks=812, cpu=10.1, commit="aaa").line())
    row = record.row("7", totals)
    assert row == "| aaa bbb | 7 | 4,812 | 30 s | 0 | nothing |"
    assert record.total([row, row]) == "| All |  | 9,624 | 60 s | 0 |  |"


def test_a_run_that_goes_on_replaces_its_row() -> None:
    totals = Totals()
    totals.add(Round(0, "native", checks=100, cpu=5, commit="ccc").line())
    first = "| ccc | 7 | 40 | 2 s | 0 | nothing |"
    page = "\n".join(("text", record.HEAD, "|---|", OTHER, first, record.total([OTHER, first]), "", "text"))
    assert record.rows(page) == ([OTHER, first], "| All |  | 50 | 5 s | 1 |  |")
    assert record.advice(page, "7", totals) == [
        "| ccc | 7 | 100 | 5 s | 0 | nothing |",
        "| All |  | 110 | 8 s | 1 |  |",
    ]
