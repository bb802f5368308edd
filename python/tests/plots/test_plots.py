# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import builtins
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pages import loaded_by

from zonemap import InvalidArgumentError, ZonemapError, plots
from zonemap.common import optional_packages
from zonemap.index.index import Index
from zonemap.plots import Plot, plot
from zonemap.results import ClusteringResult, CompactedLevel, CompactResult, PlannedScan, PlannedScans, StatusResult
from zonemap.show.palette import DARK, LIGHT, OF_PAGE

CLUSTERING = ClusteringResult(
    "lake.db.t", "LINEAR(user_<id>)", 1010, 3, 12.5, 9.3, {"00001": 700, "00002": 0, "00032": 300}, 10, 0, 7, ""
)
MERGE = CompactResult("lake.db.t", (CompactedLevel("micro", 40, 2, 90, 80), CompactedLevel("hour", 3, 5, 10, 20)))


def scan(minute: int, considered: int, kept: int, runs: int = 1) -> PlannedScan:
    at = datetime(2026, 3, 1, 12) + timedelta(minutes=minute)
    return PlannedScan(
        planned_at=at,
        table="lake.db.t",
        mode="EXACT",
        files_considered=considered,
        files_kept=kept,
        milliseconds=1.5,
        predicate="id = 3",
        reason="",
        tier="hot",
        facts="",
        top_k="",
        limit=-1,
        runs=runs,
        files_after_bounds=kept,
        bytes_considered=considered * 100,
        bytes_kept=kept * 100,
        rows_considered=considered * 10,
        rows_kept=kept * 10,
        steps=(),
        snapshot_id=7,
    )


def status(**values: Any) -> StatusResult:
    empty: Mapping[str, Any] = {field.name: 0 for field in fields(StatusResult)}
    return StatusResult(**{**empty, "table": "lake.db.t", "levels": "day=1 hour=3", **values})


HISTORY = PlannedScans((scan(3, 1000, 999, runs=0), scan(2, 1000, 3), scan(1, 1000, 0), scan(0, -1, -1)))
ALL: dict[str, Callable[[], Plot]] = {
    "clustering": lambda: plots.clustering_depth(CLUSTERING),
    "history": lambda: plots.files_kept(HISTORY),
    "tiers": lambda: plots.tiers(status(memory_bytes=3_400_000, bytes=2_000, fact_bytes=-1)),
    "tiers of nothing": lambda: plots.tiers(status()),
    "levels": lambda: plots.levels(status()),
    "levels of a merge": lambda: plots.levels(MERGE),
}


def texts(svg: str) -> list[str]:
    return [entry.text for entry in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if entry.text]


@pytest.mark.parametrize("name", ALL)
def test_a_page_loads_nothing_and_follows_the_background(name: str, tmp_path: Path) -> None:
    page = ALL[name]().save(tmp_path / "plot.html").read_text()
    assert loaded_by(page) == []
    assert "prefers-color-scheme: dark" in page and LIGHT.ink in page and DARK.ink in page
    drawing = page[page.index("<svg") :]
    assert "var(--ink)" in drawing and LIGHT.ink not in drawing and DARK.ink not in drawing


@pytest.mark.parametrize("name", ALL)
def test_a_picture_has_the_colours_of_its_background(name: str) -> None:
    drawn = ALL[name]()
    light, dark = drawn.png(scale=1), drawn.png(dark=True, scale=1)
    assert light.startswith(b"\x89PNG") and dark.startswith(b"\x89PNG") and light != dark
    assert LIGHT.page in drawn.svg() and DARK.page in drawn.svg(DARK) and LIGHT.page not in drawn.svg(DARK)


@pytest.mark.parametrize(
    ("name", "title", "shown"),
    [
        ("clustering", "Values of user_<id>: average depth 9.3", {"depth 1", "depth 32", "700", "300", "data files"}),
        ("history", "2 scans kept 3 of 2,000 files", {"in the table", "kept by the plan", "1,000"}),
        (
            "tiers",
            "Index of lake.db.t: bytes by tier",
            {"driver memory (hot)", "3.4 MB", "2.0 KB", "unknown", "0 bytes", "MB"},
        ),
        ("levels", "Index of lake.db.t: segments by level", {"day", "hour", "3", "1"}),
        ("levels of a merge", "Index of lake.db.t: segments by level", {"before", "after", "40", "2", "5"}),
    ],
)
def test_a_plot_shows_the_numbers_of_its_result(name: str, title: str, shown: set[str]) -> None:
    found = texts(ALL[name]().svg())
    assert title in found and shown <= set(found)


def test_a_plot_names_what_it_leaves_out() -> None:
    assert "10 files without bounds are left out" in plots.clustering_depth(CLUSTERING).note
    assert "1 scan that Iceberg planned has no counts" in plots.files_kept(HISTORY).note
    assert "no counts" not in plots.files_kept(PlannedScans((scan(0, 5, 1),))).note


def test_a_notebook_shows_the_plot_in_its_own_colours() -> None:
    shown = plots.levels(MERGE)._repr_html_()
    assert shown.startswith("<style>.zonemap-plot {") and "<svg" in shown and loaded_by(shown) == []


def test_a_chart_of_altair_can_be_changed() -> None:
    chart = plots.levels(MERGE).chart(OF_PAGE).properties(width=99)
    assert chart.to_dict()["width"] == 99


@pytest.mark.parametrize("name", ["plot.pdf", "plot"])
def test_a_file_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"End it with \.html, \.svg, \.png"):
        plots.levels(MERGE).save(tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("draw", [plots.clustering_depth, plots.files_kept, plots.tiers, plots.levels])
def test_another_value_is_refused(draw: Callable[[Any], Plot]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"Cannot plot 7 as .*give the result of \w+\(\)") as refused:
        draw(7)
    assert all(hasattr(Index, name) for name in re.findall(r"(\w+)\(\)", str(refused.value)))


def test_results_without_numbers_name_the_next_step() -> None:
    with pytest.raises(ZonemapError, match="Run a query on an indexed table"):
        plots.files_kept(PlannedScans((scan(0, -1, -1),)))
    with pytest.raises(ZonemapError, match=r"Call build\(\) of its Index first"):
        plots.levels(status(levels=""))


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_missing_library_names_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> Any:
        if name == missing:
            raise ImportError(name)
        return builtins.__import__(name)

    monkeypatch.setattr(plot.importlib, "import_module", without)
    with pytest.raises(ZonemapError, match=f"{missing} is not installed") as found:
        plots.levels(MERGE).svg()
    assert str(found.value).endswith(f"Install it: {optional_packages.command('plots')}.")


def test_the_package_is_imported_without_the_libraries() -> None:
    program = "import sys, zonemap.plots; print([name for name in ('altair', 'vl_convert') if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
