# SPDX-License-Identifier: Apache-2.0
"""The report section about planning of metadata-only tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: dict[str, Any], path: Path) -> None:
    largest = document["tables"][-1]
    queries = largest["queries"][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(queries) + 1))
    places = range(len(queries))
    for offset, side, color in ((0.2, "stock", pages.STOCK), (-0.2, "zonemap", pages.OURS)):
        axes.barh(
            [p + offset for p in places],
            [q[side]["wallMillis"] for q in queries],
            height=0.38,
            color=color,
            label={"stock": "Iceberg", "zonemap": "index"}[side],
        )
    axes.set_yticks(list(places), [q["query"] for q in queries])
    axes.set_xscale("log")
    axes.set_xlabel(f"planning of {largest['files']:,} files, ms (log scale)")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncol=2)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = ["## Planning\n", f"![planning]({image})\n"]
    for table in document["tables"]:
        rows = [
            (
                q["query"],
                f"{q['stockFiles']:,}",
                f"{q['zonemapFiles']:,}",
                f"{pages.millis(q['stock']['wallMillis'])} -> {pages.millis(q['zonemap']['wallMillis'])}",
                f"{pages.millis(q['stock']['cpuMillis'])} -> {pages.millis(q['zonemap']['cpuMillis'])}",
                f"{q['stock']['allocatedBytes'] / 1e6:,.0f} -> {q['zonemap']['allocatedBytes'] / 1e6:,.1f}",
            )
            for q in table["queries"]
        ]
        parts.append(
            f"{table['files']:,} files, {table['columns']} columns with bounds. The index has "
            f"{table['indexBytes'] / 1e6:,.1f} MB beside {table['manifestBytes'] / 1e6:,.1f} MB of manifests; "
            f"building it took {table['buildWallSeconds']:,.0f} s "
            f"({table['buildCpuSeconds']:,.0f} s of CPU); a plan of one name and some days by a driver that holds "
            f"nothing of the table took {pages.millis(table['coldFirstPlanWallMillis'])} ms.\n"
        )
        parts.append(pages.table(("filter", "files, Iceberg", "files, index", "ms", "CPU ms", "MB allocated"), rows))
    return "\n".join([*parts, _builds(document["tables"])])


def _builds(tables: list[dict[str, Any]]) -> str:
    """Returns the table of build costs and of the number of plans after which a build has saved its own CPU time."""
    rows = [
        (
            f"{table['files']:,}",
            f"{table['buildWallSeconds']:,.0f}",
            f"{table['buildCpuSeconds']:,.0f}",
            f"{table['buildCpuSeconds'] * 1e6 / table['files']:,.0f}",
            f"{table['jobBuildWallSeconds']:,.0f}",
            f"{table['jobBuildCpuSeconds']:,.0f}",
            f"{table['commitCpuMillis']:,.0f}",
            f"{table['indexBytes'] / table['files']:,.0f}",
            f"{table['indexBytes'] / table['files'] / table['columns']:,.1f}",
            *(_break_even(table, query) for query in table["queries"][:3]),
        )
        for table in tables
    ]
    names = [query["query"].split(",")[0] for query in tables[0]["queries"][:3]]
    head = (
        "files",
        "s",
        "CPU s",
        "CPU s a million",
        "s as a Spark job",
        "CPU s",
        "CPU ms of a commit",
        "bytes a file",
        "and column",
        *(f"pays after: {n}" for n in names),
    )
    return (
        "The cost of building the index in one process and as a Spark job on the same cores; of refreshing the store "
        "after a commit of 32 files by a process that holds nothing; and the number of plans of a filter after which "
        "a build has saved as much CPU as it took.\n\n" + pages.table(head, rows)
    )


def _break_even(table: dict[str, Any], query: dict[str, Any]) -> str:
    saved = (query["stock"]["cpuMillis"] - query["zonemap"]["cpuMillis"]) / 1000
    return f"{math.ceil(table['buildCpuSeconds'] / saved):,}" if saved > 0 else "never"
