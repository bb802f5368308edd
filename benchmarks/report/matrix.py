"""Planning with one thing varied at a time."""

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
        f"Medians, Iceberg -> index. A slow store adds {document['requestMillis']} ms to each request. Without an "
        "index the table is planned by Iceberg, and what is compared is the cost of asking.\n"
    )
    for axis, rows in groupby(document["rows"], key=lambda row: row["axis"]):
        parts.append(
            pages.table(
                (axis, "filter", "files", "ms", "CPU ms", "requests", "MB allocated", "peak heap MB"),
                _lines(list(rows)),
            )
        )
    return "\n".join(parts)


def _lines(rows: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    lines = []
    for row in rows:
        for side, what in (("index", ""), ("indexAbsent", ", no index")):
            if side in row:
                stock, ours = row["stock"], row[side]
                lines.append(
                    (
                        row["value"] + what,
                        row["query"],
                        _pair(stock["files"], ours["files"], ","),
                        f"{pages.millis(stock['wallMillis'])} -> {pages.millis(ours['wallMillis'])}",
                        f"{pages.millis(stock['cpuMillis'])} -> {pages.millis(ours['cpuMillis'])}",
                        _pair(stock["requests"], ours["requests"], ","),
                        _pair(stock["allocatedBytes"] / 1e6, ours["allocatedBytes"] / 1e6, ",.1f"),
                        _pair(stock["peakHeapBytes"] / 1e6, ours["peakHeapBytes"] / 1e6, ",.0f")
                        if "peakHeapBytes" in stock and "peakHeapBytes" in ours
                        else "",
                    )
                )
    return lines


def _pair(stock: float, ours: float, form: str) -> str:
    return f"{stock:{form}}" if stock == ours else f"{stock:{form}} -> {ours:{form}}"
