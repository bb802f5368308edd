# SPDX-License-Identifier: Apache-2.0
"""The report section about the fact `keys` beside bloom filters and Iceberg's own plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

HEAD = ("files x keys", "keys", "bloom")


def plot(document: dict[str, Any], path: Path) -> None:
    rows = document["rows"][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.7 * len(rows) + 1))
    bars = [
        (f"{_size(row)}: {name}", max(row[key] * row["files"], 0.001), color)
        for row in rows
        for name, key, color in (
            ("bloom", "bloomShareOfFilesForAbsentKey", pages.STOCK),
            ("keys", "shareOfFilesForAbsentKey", pages.OURS),
        )
    ]
    axes.barh([name for name, _, _ in bars], [files for _, files, _ in bars], color=[color for _, _, color in bars])
    axes.set_xlabel("files kept for a key that no file holds (log scale)")
    axes.set_xscale("log")
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    rows = document["rows"]
    parts = [
        "## Keys\n",
        f"![keys]({image})\n",
        "Random keys, the same number in each file, in the fact `keys(c)` and in `bloom(c)`. The share is that of the "
        "files that a key of no file keeps; a look-up of blooms asks the filter of each file.\n",
        _both(rows, "bits a key", "bitsOfKey", "bloomBitsOfKey", _decimal),
        _both(rows, "share of files", "shareOfFilesForAbsentKey", "bloomShareOfFilesForAbsentKey", _share),
        _both(rows, "CPU of a look-up, microseconds", "lookUpMicros", "bloomLookUpMicros", _decimal),
        _both(rows, "CPU of a build, ms a million keys", "buildMillisOfMillionKeys", "bloomBuildMillisOfMillionKeys"),
        "The files of keys that one build makes of the files of its tasks, and a plan of `user_id = x` whose key one "
        "file holds:\n",
        pages.table(
            (
                "files x keys",
                "files of keys",
                "CPU of the join, ms a million keys",
                "requests, cold",
                "CPU of a plan, ms: Iceberg",
                "with keys",
                "files: Iceberg",
                "with keys",
            ),
            [
                (
                    _size(row),
                    row["keyFiles"],
                    f"{row['joinMillisOfMillionKeys']:,.0f}",
                    _decimal(row["coldRequestsOfLookUp"]),
                    pages.millis(row["icebergPlanMillis"]),
                    pages.millis(row["planMillis"]),
                    f"{row['icebergFilesOfPlan']:,.0f}",
                    _decimal(row["filesOfPlan"]),
                )
                for row in rows
            ],
        ),
    ]
    return "\n".join(parts + _losing(rows))


def _losing(rows: list[dict[str, Any]]) -> list[str]:
    """The tables in which blooms keep at most two files more, for fewer bits."""
    few = [row for row in rows if row["bloomShareOfFilesForAbsentKey"] * row["files"] <= 2]
    return [
        f"Losing case: with {_size(row)} keys, blooms keep "
        f"{row['bloomShareOfFilesForAbsentKey'] * row['files']:.1f} files for an absent key, and take "
        f"{_decimal(row['bloomBitsOfKey'])} bits a key in place of {_decimal(row['bitsOfKey'])}.\n"
        for row in few
    ]


def _both(rows: list[dict[str, Any]], what: str, ours: str, bloom: str, text: Any = None) -> str:
    shown = text or (lambda value: f"{value:,.0f}")
    head = (f"{what}: {HEAD[0]}", *HEAD[1:])
    return pages.table(head, [(_size(row), shown(row[ours]), shown(row[bloom])) for row in rows])


def _size(row: dict[str, Any]) -> str:
    return f"{row['files']:,} x {row['keysOfFile']:,}"


def _decimal(value: float) -> str:
    return f"{value:,.1f}"


def _share(value: float) -> str:
    return f"{value:.1e}"
