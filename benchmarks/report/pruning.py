# SPDX-License-Identifier: Apache-2.0
"""The report section about files read, by class of query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

#: Longer queries are cut, such as lists of values.
_MOST_TEXT = 160


def plot(document: dict[str, Any], path: Path) -> None:
    cases = document["cases"][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.2 * len(cases) + 1))
    places = range(len(cases))
    for key, color, marker, label in (
        ("stockFiles", pages.STOCK, "o", "Iceberg"),
        ("boundsOracle", pages.ORACLE, "|", "at best, by exact bounds"),
        ("zonemapFiles", pages.OURS, ".", "index"),
    ):
        axes.scatter([max(c[key], 0.7) for c in cases], places, color=color, marker=marker, s=45, label=label, zorder=3)
    axes.hlines(places, 0.7, [c.get("files", document["filesPerTable"]) for c in cases], color="#eeeeee", zorder=1)
    axes.set_yticks(list(places), [c["group"] for c in cases], fontsize=7)
    axes.set_xscale("log")
    axes.set_xlabel("files read (log scale)")
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncol=3, fontsize=7)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    rows = [
        (
            _label(c),
            c["stockFiles"],
            c["zonemapFiles"],
            c["boundsOracle"],
            c["contentOracle"],
            f"{pages.millis(c['stockQueryMillis'])} -> {pages.millis(c['zonemapQueryMillis'])}",
        )
        for c in document["cases"]
    ]
    return "\n".join(
        (
            "## Pruning\n",
            f"![pruning]({image})\n",
            f"Files read of {document['filesPerTable']}. By exact bounds: files that remain if every file's true "
            f"minimum and maximum is known. By content: files that hold a row of the result.{_commands(document)} Of "
            f"the files that exact bounds allow to prune, the index prunes {_share(document['cases']):.1%}; a case "
            "that it prunes beyond bounds, by facts, counts as its bounds.\n",
            pages.table(("query", "Iceberg", "index", "by exact bounds", "by content", "query ms"), rows),
            _migrated(document),
            _everywhere(document),
        )
    )


def _share(cases: list[dict[str, Any]]) -> float:
    """Returns how much of what exact bounds allow the index prunes of all cases together."""
    pairs = [(c["stockFiles"] - c["zonemapFiles"], max(0, c["stockFiles"] - c["boundsOracle"])) for c in cases]
    return sum(min(pruned, allowed) for pruned, allowed in pairs) / sum(allowed for _, allowed in pairs)


def _label(case: dict[str, Any]) -> str:
    query = case["query"].replace("{t} ", "").replace("{n}", "events")
    if len(query) > _MOST_TEXT:
        query = query[:_MOST_TEXT].rstrip() + " ..."
    return f"{case['group']}: `{query.replace('|', '&#124;')}`"


def _migrated(document: dict[str, Any]) -> str:
    rows = [
        (
            _label(c),
            c["nativeFiles"],
            c["doubtfulFiles"],
            c["provenFiles"],
        )
        for c in document["migrated"]
    ]
    return "\n".join(
        (
            "The same rows in Parquet files that Spark wrote without Iceberg and `add_files` imported, one for each "
            "file of the native table: files read before and after `refresh_index` has read their footers.\n",
            pages.table(("query", "native table", "imported, no footer read", "imported, footers read"), rows),
        )
    )


def _commands(document: dict[str, Any]) -> str:
    files = {c["files"] for c in document["cases"] if "files" in c}
    return (
        f" Commands are of 100 keys in {max(files):,} files; copy-on-write reads files twice, to find them and to "
        "rewrite them."
    )


def _everywhere(document: dict[str, Any]) -> str:
    measured = document["everywhere"]
    rows = [
        (f"MERGE, {m['mode']}", m["pairs"], *(_pair(m, of) for of in _TIMES), *(_more(m, of) for of in _TIMES))
        for m in measured
    ]
    return "\n".join(
        (
            f"A source with a key of each of {measured[0]['files']:,} files leaves none out; medians of "
            "pairs by turns.\n",
            pages.table(("command", "pairs", "wall ms", "CPU ms", "wall", "CPU"), rows),
        )
    )


_TIMES = ("WallMillis", "CpuMillis")


def _pair(measured: dict[str, Any], of: str) -> str:
    return f"{pages.millis(measured[f'stock{of}'])} -> {pages.millis(measured[f'zonemap{of}'])}"


def _more(measured: dict[str, Any], of: str) -> str:
    return f"{measured[f'zonemap{of}'] / measured[f'stock{of}'] - 1:+.1%}"
