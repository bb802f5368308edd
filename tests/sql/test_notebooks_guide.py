# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/notebooks.md run as they are printed, in their order."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support import guide, session
from support.session import ROOT, STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGE = ROOT / "docs" / "guide" / "notebooks.md"


@pytest.fixture(scope="module")
def names(lake) -> dict[str, Any]:
    """The names that the Python of the page defines."""
    session.get().sql("DROP TABLE IF EXISTS lake.db.readings")
    return guide.run(PAGE, session.get())[1]


def test_explain_of_a_frame_has_the_section_of_the_scan(names: dict[str, Any]) -> None:
    found = names["explanation"]
    assert "table lake.db.readings" in str(found) and "files considered: 16" in str(found)
    assert "used by bounds of sensor, the fact bloom(sensor)" in str(found)
    assert "== Physical Plan ==" in found.plan


def test_explain_of_a_command_and_of_a_mistake(names: dict[str, Any]) -> None:
    spark = session.get()
    changed = zonemap.explain(spark, "DELETE FROM lake.db.readings WHERE sensor = 1500")
    assert "table lake.db.readings snapshot" in str(changed) and "mode STOCK" not in str(changed)
    assert spark.table("lake.db.readings").count() == 3200
    with pytest.raises(zonemap.ProcedureError, match=r"TABLE_OR_VIEW_NOT_FOUND|cannot be found") as refused:
        zonemap.explain(spark, "SELECT * FROM lake.db.nope")
    assert "\n" not in str(refused.value) and "org.apache" not in str(refused.value)


def test_a_build_with_a_bar_builds_the_same(names: dict[str, Any]) -> None:
    built = names["built"]
    assert built.data_files == 16 and built.facts[0].part == "bloom(sensor)" and built.facts[0].data_files == 16


def test_print_shows_the_state_in_words_and_a_line_for_each_scan(
    names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    state = " ".join(str(names["health"]).split("\n\u250c")[0].split())
    size = r"[\d.]+ (KB|bytes)"
    assert re.fullmatch(
        f"lake.db.readings: fresh, 16 of 16 files covered, 0 snapshots behind, index {size} in the store and {size} in "
        f"memory, facts of {size}",
        state,
    )
    found = names["scans"]
    lines = str(found).splitlines()
    assert len(lines) == len(found.scans) + 4 and max(map(len, lines)) <= 100
    assert any("lake.db.readings" in line and "EXACT" in line and "16 -> " in line for line in lines), lines


def test_the_plots_show_the_numbers_of_the_results(names: dict[str, Any]) -> None:
    assert names["depth"].title == "Values of sensor: average depth 16.0"
    considered = sum(scan.files_considered for scan in names["scans"].scans if scan.runs)
    assert considered > 0 and f"of {considered:,} files" in names["kept"].title
    assert "micro" in names["levels"].svg() and "store: facts" in names["tiers"].svg()
    assert {file.name for file in names["folder"].iterdir()} == {"depth.html", "depth.svg", "depth.png", "dark.png"}
    assert names["wide"].to_dict()["width"] == 900
