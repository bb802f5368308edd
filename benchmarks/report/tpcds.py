# SPDX-License-Identifier: Apache-2.0
"""The report section about the TPC-DS statements, with the index off and on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

#: Figures of a side, with their heads and forms.
_FIGURES = (
    ("files", "files read", lambda value: f"{value:,}"),
    ("bytes", "MB read", lambda value: f"{value / 1e6:,.0f}"),
    ("queryMillis", "query ms", pages.millis),
    ("cpuMillis", "CPU ms", pages.millis),
)


_SLOWER = 1.05
#: The suite fails if the rows of a statement differ.
_EQUAL = "The rows of each statement were the same with the index off and on."


def plot(document: dict[str, Any], path: Path) -> None:
    """Saves the share of stock's files and of its CPU time for each statement, sorted, one line a layout."""
    figure, all_axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True)
    for axes, (key, label) in zip(all_axes, (("files", "files read"), ("cpuMillis", "CPU time")), strict=True):
        for (layout, rows), color in zip(
            pages.by_layout(document["statements"]).items(), (pages.OURS, pages.ORACLE), strict=False
        ):
            # a statement that finds no row by its partitions reads no file
            shares = sorted(row["on"][key] / row["off"][key] for row in rows if row["off"][key])
            axes.plot(shares, color=color, label=layout)
        axes.set_xlabel(f"statements by their share of {label}")
    all_axes[0].set_ylabel("index / Iceberg")
    all_axes[0].set_ylim(0)
    all_axes[0].legend(frameon=False)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = [
        "## TPC-DS\n",
        f"![tpcds]({image})\n",
        "Scale 1; the seven fact tables in 735 files. Ordered: facts are ordered by date and not partitioned. Monthly: "
        "the same facts are partitioned by 30 days of the key of the date. The statements are those of Spark's own "
        f"tests; files and bytes are those that tasks read. {_EQUAL}\n",
    ]
    layouts = pages.by_layout(document["statements"])
    totals = {layout: _total(rows) for layout, rows in layouts.items()}
    parts.append(_summary(layouts, totals))
    for layout, rows in layouts.items():
        total = totals[layout]
        lines = [("all", *_cells(total))] + [(row["statement"], *_cells(row)) for row in rows]
        parts.append(pages.table((layout, *(head for _, head, _ in _FIGURES)), lines))
    return "\n".join(parts)


def _total(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    return {side: {key: sum(row[side][key] for row in rows) for key, _, _ in _FIGURES} for side in ("off", "on")}


def _summary(layouts: dict[str, list[dict[str, Any]]], totals: dict[str, dict[str, dict[str, float]]]) -> str:
    """Returns the shares of stock over all statements, and the statements that take more CPU time with the index."""
    lines = []
    for layout, rows in layouts.items():
        total = totals[layout]
        shares = [f"{total['on'][key] / total['off'][key]:.2f}" for key, _, _ in _FIGURES]
        slower = [row for row in rows if row["on"]["cpuMillis"] > _SLOWER * row["off"]["cpuMillis"]]
        worst = [f"{row['statement']} {row['on']['cpuMillis'] / row['off']['cpuMillis']:.2f}" for row in slower]
        lines.append((layout, *shares, ", ".join(worst) or "none"))
    head = ("index / Iceberg", *(head for _, head, _ in _FIGURES), f"statements above {_SLOWER} of Iceberg's CPU time")
    text = pages.table(head, lines)
    if {"ordered", "monthly"} <= totals.keys():
        ours, theirs = totals["ordered"]["on"]["cpuMillis"], totals["monthly"]["off"]["cpuMillis"]
        text += (
            f"\nThe unpartitioned tables with the index take {ours / theirs:.2f} of the CPU time that the partitioned "
            "tables take without it.\n"
        )
    return text


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{form(row['off'][key])} -> {form(row['on'][key])}" for key, _, form in _FIGURES]
