# SPDX-License-Identifier: Apache-2.0
"""Plots, pages and notebook tables of results with odd names and numbers: whole, escaped, and of a bounded size."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from diagnosis.test_diagnosis import ADVICE, CLUSTERING, WHY
from diagnosis.test_explanation import explained
from hostile import ALL_NAMES, NAMES
from pages import Page
from plots.test_plots import CLUSTERING as CLUSTERED
from plots.test_plots import scan, status, texts
from reports.test_reports import SCAN, STATUS, STOCK, _Session

import zonemap
from zonemap import plots
from zonemap.plots import Plot
from zonemap.reports import Report
from zonemap.results import CompactedLevel, CompactResult, DropResult, PlannedScan, PlannedScans, WhyNotResult
from zonemap.show.tables import Shown

#: A page, a notebook's cell or a plot beyond this is a mistake, whatever the result.
_MOST_BYTES = 600_000


def plots_of(name: str) -> list[Plot]:
    """Returns every plot of a table, a column and a level with this name."""
    return [
        plots.clustering_depth(replace(CLUSTERED, cluster_by_keys=f"LINEAR({name})")),
        plots.levels(CompactResult(name, (CompactedLevel(name, 1, 2, 3, 4),))),
    ]


def results_of(name: str) -> list[Any]:
    """Returns results that hold this name in every text."""
    planned = replace(scan(1, 5, 3), predicate=name, table=name, reason=name)
    return [
        status(table=name, problem=name, store=name, levels=name),
        PlannedScans((planned, planned)),
        DropResult(name, True, (name, name)),
        replace(CLUSTERED, table=name, cluster_by_keys=name, notes=name, partition_depth_histogram={}),
        explained(f"== Extended Information (Zonemap) ==\n{name.replace('==', '=')}\n"),
    ]


def report_of(name: str) -> Report:
    """Returns a report whose every text is this name."""
    values = dict.fromkeys(("problem", "store", "facts", "columns", "verdict", "bounds"), name)
    spark: Any = _Session(
        status=[STATUS | values],
        history=[SCAN | {"predicate": name, "table": name}, STOCK | {"reason": name}],
        why_not=[WHY | dict.fromkeys(("text", "message", "remedy", "part"), name)],
        advise=[ADVICE | dict.fromkeys(("advice", "subject", "message", "statement"), name)],
        clustering_information=[CLUSTERING | {"cluster_by_keys": f"LINEAR({name})", "notes": name}],
        snapshots=[{"summary": {"total-records": name}}],
    )
    return zonemap.Index(spark, f"lake.db.`{name.replace('`', '``')}`").report(queries=[name])


def _is_in_order(html: str) -> None:
    page = Page(html)
    assert page.loads == []
    assert len(set(page.ids)) == len(page.ids)
    assert len(html.encode()) < _MOST_BYTES
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]", html)


@pytest.mark.parametrize("name", NAMES)
def test_a_plot_shows_any_name(name: str) -> None:
    for plot in plots_of(NAMES[name]):
        drawn = plot.svg()
        ElementTree.fromstring(drawn)
        assert all(len(text) < 120 for text in texts(drawn))
        _is_in_order(drawn)


def test_a_picture_and_a_page_show_a_name_that_no_xml_can_hold() -> None:
    plot = plots.tiers(status(table=NAMES["control"]))
    assert plot.png(scale=1).startswith(b"\x89PNG")
    assert r"a\x00b\x01\x0b\x1b[31mc\x7f\ufffe\uffff" in "".join(Page(plot.html()).texts)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_any_name(name: str) -> None:
    for result in results_of(NAMES[name]):
        _is_in_order(result._repr_html_())


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_shows_any_name(name: str) -> None:
    for result in results_of(NAMES[name]):
        assert not isinstance(result, Shown) or not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", str(result))


@pytest.mark.parametrize("name", [ALL_NAMES, *(NAMES[key] for key in ("blank", "long", "words"))])
def test_a_report_shows_any_name(name: str) -> None:
    _is_in_order(report_of(name).html())


def _at(*times: datetime) -> Callable[[], Plot]:
    return lambda: plots.files_kept(PlannedScans(tuple(replace(scan(0, 9, 1), planned_at=at) for at in times)))


def _bars(**values: Any) -> Callable[[], Plot]:
    return lambda: plots.clustering_depth(replace(CLUSTERED, **values))


_EVERY_BAR = {f"{depth:05}": 10**6 * depth for depth in [*range(17), *(2**power for power in range(5, 31))]}


@pytest.mark.parametrize(
    ("draw", "shown"),
    [
        (_at(datetime(1, 1, 1)), {"planned at, on 0001-01-01", "00:00:00"}),
        (_at(datetime(9999, 12, 31), datetime(1, 1, 1)), {"planned at, from 0001-01-01 to 9999-12-31"}),
        (_at(datetime(2026, 3, 30), datetime(2026, 3, 28)), {"planned at, from 2026-03-28 to 2026-03-30"}),
        (_at(datetime(2026, 3, 29, 2, 30)), {"planned at, on 2026-03-29", "02:30:00"}),  # no such time in Berlin
        (lambda: plots.files_kept(PlannedScans((scan(0, 1, 1),))), {"1 scan kept 1 of 1 files"}),
        (lambda: plots.files_kept(PlannedScans((scan(0, 0, 0),))), {"1 scan kept 0 of 0 files"}),
        (
            lambda: plots.files_kept(PlannedScans((scan(0, 10**18, 10**9),))),
            {"1 scan kept 1,000,000,000 of 1,000,000,000,000,000,000 files", "10,000,000"},
        ),
        (_bars(average_depth=math.nan), {"Values of user_<id>: average depth unknown"}),
        (_bars(average_depth=None), {"Values of user_<id>: average depth unknown"}),
        (_bars(partition_depth_histogram={}), {"Values of user_<id>: average depth 9.3"}),
        (_bars(partition_depth_histogram={"00001": 10**18 + 1}), {"1,000,000,000,000,000,001"}),
        (_bars(partition_depth_histogram=_EVERY_BAR), {"depth 1,073,741,824", "depth 16", "depth 32"}),
        (lambda: plots.tiers(status(bytes=2**63 - 1)), {"9,223.4 PB", "PB"}),
        (lambda: plots.tiers(status(bytes=math.nan, fact_bytes=None, memory_bytes=-1)), {"unknown"}),
        (lambda: plots.levels(status(levels="day=1000000000000 odd = hour=x")), {"1,000,000,000,000"}),
    ],
)
def test_a_plot_of_odd_numbers_is_right(draw: Callable[[], Plot], shown: set[str]) -> None:
    drawn = draw().svg()
    assert shown <= set(texts(drawn)), texts(drawn)
    assert not {"NaN", "null", "undefined", "Infinity"} & set(texts(drawn))
    _is_in_order(drawn)


def _long_history() -> tuple[PlannedScan, ...]:
    one = scan(0, 1_000, 3)
    return tuple(replace(one, planned_at=datetime(2026, 1, 2) - timedelta(seconds=at)) for at in range(20_000))


def test_a_long_history_is_drawn_by_its_newest_scans() -> None:
    plot = plots.files_kept(PlannedScans(_long_history()))
    assert plot.title == "20,000 scans kept 60,000 of 20,000,000 files"
    assert "The newest 1,000 scans are drawn." in plot.note
    drawn = plot.svg()
    assert drawn.count("<line") < 1_100 and "planned at, from 2026-01-01 to 2026-01-02" in texts(drawn)
    _is_in_order(drawn)


@pytest.mark.parametrize(
    ("result", "heading", "rows"),
    [
        (PlannedScans(_long_history()), "the first 100 of 20,000 rows", 101),
        (DropResult("t", False, tuple(map(str, range(9_000)))), "of the index of t: the first 100 of 9,000 rows", 101),
        (DropResult("t", False, tuple(map(str, range(100)))), "Deleted 100 files of the index of t", 101),
        (WhyNotResult(()), "no rows", 0),
    ],
)
def test_a_notebook_shows_the_first_rows(result: Shown, heading: str, rows: int) -> None:
    shown = result._repr_html_()
    assert f"{heading}</p>" in shown and shown.count("<tr>") == rows
    _is_in_order(shown)


def test_the_histogram_of_a_notebook_has_the_depths_with_files() -> None:
    assert '<td class="short">1: 700, 32: 300</td>' in CLUSTERED._repr_html_()


def test_two_plots_of_a_notebook_share_no_id() -> None:
    found = [Page(plots.tiers(status(bytes=size))._repr_html_()).ids for size in (1_000, 2_000)]
    assert found[0] and not set(found[0]) & set(found[1])
    assert plots.tiers(status())._repr_html_() == plots.tiers(status())._repr_html_()
