# SPDX-License-Identifier: Apache-2.0
"""The report section about plans over Iceberg's REST protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

FIGURES = ("wallMillis", "clientCpuMillis", "serverCpuMillis")
SIDES = {"pyiceberg": "PyIceberg", "serverWithoutIndex": "server without an index", "index": "server with the index"}


def plot(document: dict[str, Any], path: Path) -> None:
    table = document["tables"][-1]
    figure, axes = plt.subplots(figsize=(8, 3.4))
    bars = [
        (f"{name}: {row['query']}", row[side]["wallMillis"], pages.OURS if side == "index" else pages.STOCK)
        for row in table["plans"]
        for side, name in SIDES.items()
    ][::-1]
    axes.barh([name for name, _, _ in bars], [millis for _, millis, _ in bars], color=[color for _, _, color in bars])
    axes.set_xscale("log")
    axes.set_xlabel(f"a plan of {table['files']:,} files for PyIceberg, wall ms (log scale)")
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    rows = [
        (
            f"{table['files']:,}",
            row["query"],
            *(" / ".join(pages.millis(row[side][key]) for key in FIGURES) for side in SIDES),
        )
        for table in document["tables"]
        for row in table["plans"]
    ]
    return "\n".join(
        [
            "## Plans over the REST protocol\n",
            f"![serve]({image})\n",
            "PyIceberg asks `zonemap serve` for a plan, or plans by itself: milliseconds of wall time, of the "
            "client's CPU and of the server's CPU. The server is warm and stands before a Hadoop catalog "
            "on the same machine. Without an index, Iceberg plans in the server. The metadata are those of the "
            "section before.\n",
            pages.table(("files", "query", *SIDES.values()), rows),
        ]
    )
