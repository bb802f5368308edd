# SPDX-License-Identifier: Apache-2.0
"""The report section about one driver and millions of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import pages

SIDES = {"first": "nothing in memory", "later": "index"}


def plot(document: dict[str, Any], path: Path) -> None:
    largest = document["tables"][-1]
    label = f"from SQL to splits, {largest['files']:,} files: ms (log scale)"
    pages.plot_plans(largest["plans"], SIDES, "wallMillis", label, height=3.2, path=path)


def section(document: dict[str, Any], image: str) -> str:
    tables = document["tables"]
    return "\n".join(
        [
            "## Ten million files\n",
            f"![scale]({image})\n",
            f"One driver with a heap of {document['maxHeapBytes'] / 2**30:.0f} GiB over metadata-only tables of 30 "
            "columns. First: with nothing of the table in memory. No plan falls back to Iceberg.\n",
            pages.table(
                ("statement", "files", "splits", "first ms", "ms", "CPU ms", "MB allocated", "MB held"),
                [_plan(table, plan) for table in tables for plan in table["plans"]],
            ),
            pages.table(
                ("files", "manifests MB", "index MB", "in memory MB", "build s", "CPU s", "refresh after a commit ms"),
                [_table(table) for table in tables],
            ),
        ]
    )


def _plan(table: dict[str, Any], plan: dict[str, Any]) -> tuple[str, ...]:
    later = plan["later"]
    return (
        plan["query"],
        f"{table['files']:,}",
        f"{plan['splits']:,}",
        pages.millis(plan["first"]["wallMillis"]),
        pages.millis(later["wallMillis"]),
        pages.millis(later["cpuMillis"]),
        f"{later['allocatedMegabytes']:,.0f}",
        f"{plan['heldBytes'] / 1e6:,.0f}",
    )


def _table(table: dict[str, Any]) -> tuple[str, ...]:
    sizes = (f"{table[key] / 1e6:,.0f}" for key in ("manifestBytes", "indexBytes", "residentBytes"))
    build = table["build"]
    seconds = (f"{build[key] / 1000:,.0f}" for key in ("wallMillis", "cpuMillis"))
    return f"{table['files']:,}", *sizes, *seconds, pages.millis(table["commit"]["wallMillis"])
