# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/report.md run as they are printed, and the page has what they did."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from support import guide, session
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGE = ROOT / "docs" / "guide" / "report.md"


class _Page(HTMLParser):
    """The texts of each section of a page, and the elements that would load something."""

    def __init__(self) -> None:
        super().__init__()
        self.section = "head"
        self.texts: dict[str, list[str]] = {}
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "section":
            self.section = values["id"] or ""
        if tag in ("script", "link", "img", "iframe") or "src" in values:
            self.loads.append(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.setdefault(self.section, []).append(data.strip())


@pytest.fixture(scope="module")
def names(lake) -> dict[str, Any]:
    """The names that the Python of the page defines."""
    session.get().sql("DROP TABLE IF EXISTS lake.db.trips")
    return guide.run(PAGE, session.get())[1]


@pytest.fixture(scope="module")
def page(names: dict[str, Any]) -> _Page:
    parsed = _Page()
    parsed.feed(names["page"].read_text(encoding="utf-8"))
    return parsed


def test_the_page_has_all_sections_and_loads_nothing(page: _Page) -> None:
    assert {"head", "layout", "coverage", "queries", "advice", "cost"} <= set(page.texts)
    assert "missing" not in page.texts, page.texts.get("missing")
    assert page.loads == []


def test_the_numbers_are_those_of_the_table(names: dict[str, Any], page: _Page) -> None:
    layout = names["report"].layout
    assert (layout.data_files, layout.rows, layout.delete_files) == (16, 3200, 0)
    assert {"3,200", "Values of rider: average depth 16.0", "Values of ts: average depth 1.0"} <= set(
        page.texts["layout"]
    )
    assert "16 of 16 covered" in page.texts["coverage"] and "fresh" in page.texts["head"]


def test_the_page_has_the_query_that_ran_and_the_one_that_was_explained(names: dict[str, Any], page: _Page) -> None:
    ran = [scan for scan in names["report"].history.scans if scan.predicate.startswith("ts ")]
    assert [(scan.files_considered, scan.files_kept) for scan in ran] == [(16, 3)]
    shown = page.texts["queries"]
    assert ran[0].predicate in shown and "SELECT * FROM lake.db.trips WHERE rider = 7" in shown
    assert any("values of `rider` overlap in 100 % of the files" in text for text in shown)
    assert page.texts["advice"]
