# SPDX-License-Identifier: Apache-2.0
"""Helpers that all report sections share: Markdown tables, text formatting and colors of plots."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"svg.hashsalt": "zonemap", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
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
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
