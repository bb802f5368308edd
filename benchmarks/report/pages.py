# SPDX-License-Identifier: Apache-2.0
"""Helpers that all report sections share: Markdown tables, text formatting and colors of plots."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

matplotlib.use("svg")
#: Readable on a light page and on a dark one; the plots have no background of their own.
INK = "#7a828c"
matplotlib.rcParams.update(
    {"svg.hashsalt": "zonemap", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    | {"savefig.transparent": True, "legend.framealpha": 0, "legend.labelcolor": INK}
    | dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
)

STOCK, OURS, ORACLE = "#b0b7c3", "#1f6f8b", "#e07a1f"


def plot_plans(
    plans: Sequence[dict[str, Any]], sides: dict[str, str], figure_key: str, label: str, *, height: float, path: Path
) -> None:
    """Saves bars of each query of a result by each side, in the color of the index or of the others."""
    figure, axes = plt.subplots(figsize=(8, height))
    bars = [
        (f"{name}: {row['query']}", row[side][figure_key], OURS if side == "index" else STOCK)
        for row in plans
        for side, name in sides.items()
    ][::-1]
    axes.barh([name for name, _, _ in bars], [millis for _, millis, _ in bars], color=[color for _, _, color in bars])
    axes.set_xscale("log")
    axes.set_xlabel(label)
    save(figure, path)


def by_layout(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows of a result by the layout of their tables, in the order of the result."""
    return {name: list(found) for name, found in itertools.groupby(rows, key=lambda row: row["layout"])}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a Markdown table; all columns except the first are right-aligned."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def wrapped(text: str) -> str:
    """Returns the text with long lines of prose wrapped; table rows and code spans are never broken."""
    return "\n".join(
        _wrapped(line) if len(line) > 120 and not line.startswith("|") else line for line in text.split("\n")
    )


def _wrapped(line: str) -> str:
    whole = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\0"), line)
    return textwrap.fill(whole, 118, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def measured_on(document: dict[str, Any]) -> str:
    """Returns a sentence with the machine and the commit of a result."""
    machine = document["machine"]
    return (
        f"Measured on {machine['cores']} cores ({machine['cpu']}), {machine['memoryGiB']:.0f} GiB, "
        f"at commit {document['commit']}.\n"
    )


def millis(value: float) -> str:
    """Formats milliseconds: no decimals from ten up, one decimal from one up, two decimals below one."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 or value == 0 else f"{value:.2f}"


def percent(share: float) -> str:
    return f"{share * 100:.2g} %" if abs(share) < 0.1 else f"{share * 100:.0f} %"


def save(figure: Figure, path: Path) -> None:
    """Saves a plot.

    Raises:
        ValueError: two of its labels overlap.
    """
    for one, other in overlapping(figure):
        raise ValueError(f"Cannot save {path.name}: the labels '{one}' and '{other}' overlap.")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def overlapping(figure: Figure) -> Iterator[tuple[str, str]]:
    """Yields the pairs of labels that overlap by more than a pixel."""
    figure.canvas.draw()
    hidden = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in _beyond(axis)}
    texts = [
        text for text in figure.findobj(Text) if text not in hidden and text.get_visible() and text.get_text().strip()
    ]
    boxes = [(text.get_text(), text.get_window_extent().padded(-1)) for text in texts]
    for (one, box), (other, another) in itertools.combinations(boxes, 2):
        if box.overlaps(another) and box.width > 0 and another.width > 0:
            yield one, other


def _beyond(axis: Axis) -> Iterator[Text]:
    """Yields the labels of ticks that lie beyond the axis, which are not drawn."""
    low, high = sorted(axis.get_view_interval())
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if not low <= tick.get_loc() <= high:
            yield from (tick.label1, tick.label2)
