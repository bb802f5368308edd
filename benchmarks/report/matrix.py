# SPDX-License-Identifier: Apache-2.0
"""The report section about planning with one parameter varied at a time."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: dict[str, Any], path: Path) -> None:
    rows = [row for row in document["rows"] if row["axis"] == "files"]
    queries = list(dict.fromkeys(row["query"] for row in rows))
    figure, all_axes = plt.subplots(1, len(queries), figsize=(3 * len(queries), 2.6), sharey=True)
    for axes, query in zip(all_axes, queries, strict=True):
        own = [row for row in rows if row["query"] == query]
        for side, color, label in (("stock", pages.STOCK, "Iceberg"), ("index", pages.OURS, "index")):
            axes.loglog(
                [int(row["value"]) for row in own],
                [row[side]["wallMillis"] for row in own],
                color=color,
                marker="o",
                markersize=3,
                label=label,
            )
        axes.set_title(query, fontsize=8)
        axes.set_xlabel("files")
    all_axes[0].set_ylabel("planning, ms")
    all_axes[0].legend(frameon=False)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = ["## Planning, one thing varied at a time\n", f"![matrix]({image})\n"]
    parts.append(
        f"Medians, Iceberg -> index. {document['centreFiles']:,} files and 30 columns unless stated otherwise. A "
        f"slow store adds {document['requestMillis']} ms to each request. Without an index the table is planned by "
        "Iceberg, and the figures compare the cost of looking for one. Heap is the most that is in use while all "
        "tasks are kept.\n"
    )
    for axis, rows in groupby(document["rows"], key=lambda row: row["axis"]):
        parts.append(
            pages.table(
                (axis, "filter", "files", "ms", "CPU ms", "requests", "MB read", "MB allocated", "peak heap MB"),
                [_line(row) for row in rows],
            )
        )
    return "\n".join(parts)


def _line(row: dict[str, Any]) -> tuple[object, ...]:
    stock, ours = row["stock"], row["index"]

    def both(key: str, form: str, unit: float = 1) -> str:
        return _pair(stock[key] / unit, ours[key] / unit, form) if key in stock and key in ours else ""

    return (
        row["value"],
        row["query"],
        _pair(stock["files"], ours["files"], ","),
        f"{pages.millis(stock['wallMillis'])} -> {pages.millis(ours['wallMillis'])}",
        f"{pages.millis(stock['cpuMillis'])} -> {pages.millis(ours['cpuMillis'])}",
        both("requests", ",.0f"),
        both("bytesRead", ",.1f", 1e6),
        both("allocatedBytes", ",.1f", 1e6),
        both("peakHeapBytes", ",.0f", 1e6),
    )


def _pair(stock: float, ours: float, form: str) -> str:
    return f"{stock:{form}}" if stock == ours else f"{stock:{form}} -> {ours:{form}}"
