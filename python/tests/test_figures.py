# SPDX-License-Identifier: Apache-2.0
"""Figures that README quotes are those of the committed results, in the form in which the pages print them."""

from __future__ import annotations

import json
from typing import Any

from conftest import ROOT

README = " ".join((ROOT / "README.md").read_text().split())


def _result(path: str) -> Any:
    return json.loads((ROOT / "benchmarks" / path).read_text())


def _seconds(millis: float) -> str:
    """Two digits, as README rounds."""
    return f"{millis / 1000:.2g} s"


def test_planning() -> None:
    table = next(t for t in _result("planning/results/planning.json")["tables"] if t["files"] == 1_000_000)
    queries = {query["query"]: query for query in table["queries"]}

    def millis(name: str) -> tuple[float, float]:
        return queries[name]["stock"]["wallMillis"], queries[name]["zonemap"]["wallMillis"]

    selective, name, scan = map(
        millis, ("range of seq, no partition predicate", "atlas: one name, some days", "no filter")
    )
    assert (
        f"planning a selective range takes Iceberg {_seconds(selective[0])} and the index {selective[1]:.1f} ms, "
        f"a name and some days {_seconds(name[0])} and {name[1]:.1f} ms, "
        f"a full scan {_seconds(scan[0])} and {_seconds(scan[1])}"
    ) in README


def test_stream() -> None:
    document = _result("strategies/results/stream.json")
    size = next(size for size in document["sizes"] if size["files"] == 1_000_000)
    hot, cold = (
        f"{size['stock'][key]:,.0f} to {size['index'][key]:,.0f} ms" for key in ("hotQueryMillis", "coldPlanMillis")
    )
    assert f"the query of the last minute goes from {hot}, and planning a minute of the past from {cold}" in README
    rates = [sum(r := size[side]["recordsOfSeconds"]) / len(r) for side in ("stock", "index")]
    assert max(abs(rate / document["recordsASecond"] - 1) for rate in rates) < 0.05, "README says that both keep up"
