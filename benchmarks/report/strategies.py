# SPDX-License-Identifier: Apache-2.0
"""The report section about the cost of maintaining an index while a stream commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: dict[str, Any], path: Path) -> None:
    sizes = document["sizes"]
    names = [layout["layout"] for layout in sizes[0]["layouts"]][::-1]
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.4 * len(names) + 1.2), sharey=True)
    for axis, key, label in (
        (axes[0], "indexCpuShare", "CPU of the index / CPU of the batch, % (log)"),
        (axes[1], "coldPlanMillis", "planning a minute of the past, ms (log)"),
    ):
        for i, size in enumerate(sizes):
            values = [layout[key] * (100 if key == "indexCpuShare" else 1) for layout in size["layouts"]][::-1]
            places = [p + (i - 1) * 0.25 for p in range(len(names))]
            shade = 0.35 + 0.65 * (i + 1) / len(sizes)
            axis.barh(places, values, height=0.22, color=pages.OURS, alpha=shade, label=f"{size['files']:,} files")
        axis.set_xscale("log")
        axis.set_xlabel(label)
    axes[0].set_yticks(range(len(names)), names)
    axes[1].legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncol=3, fontsize=7)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = [
        "## Keeping up with a stream\n",
        f"![strategies]({image})\n",
        "A writer appends batches of 32 files to a table with a past; batches without an index alternate with batches "
        "of each layout. Write loss is a share of wall time, with its 95 % interval; index CPU is that of the writer's "
        "thread and of the background thread, beside the CPU of a whole batch; a stream runs for days, so each layout "
        "has indexed commits of metadata before it is measured. Reported from practice: figures that users of such "
        "indexes reported of each strategy.\n",
    ]
    for size in document["sizes"]:
        rows = [
            (
                layout["layout"],
                _loss(layout),
                pages.percent(layout["indexCpuShare"]),
                int(layout["commitPathRequests"]),
                f"{pages.millis(layout['commitPathMillisP50'])} / {pages.millis(layout['commitPathMillisP99'])}",
                f"{pages.millis(layout['hotQueryMillisWithoutIndex'])} -> {pages.millis(layout['hotQueryMillis'])}",
                f"{pages.millis(layout['hotPlanMillisWithoutIndex'])} -> {pages.millis(layout['hotPlanMillis'])}",
                f"{pages.millis(layout['coldPlanMillisWithoutIndex'])} -> {pages.millis(layout['coldPlanMillis'])}",
                f"{layout['indexBytes'] / 1e6:,.1f}",
                layout["reported"] or "",
            )
            for layout in size["layouts"]
        ]
        parts.append(
            f"{size['files']:,} files before the stream, "
            f"{size['pairs']} pairs of batches of {size['rowsABatch']:,} rows, "
            f"after {size['warmUpCommits']} commits:\n"
        )
        parts.append(
            pages.table(
                (
                    "layout",
                    "write loss",
                    "index CPU",
                    "requests after a commit",
                    "ms after a commit p50 / p99",
                    "hot query ms",
                    "hot plan ms",
                    "cold plan ms",
                    "index MB",
                    "reported from practice",
                ),
                rows,
            )
        )
    return "\n".join(parts)


def _loss(layout: dict[str, Any]) -> str:
    loss, low, high = (pages.percent(layout[key]) for key in ("writeLoss", "writeLossFrom", "writeLossTo"))
    return f"{loss} ({low} to {high})"
