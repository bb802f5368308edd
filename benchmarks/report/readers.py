# SPDX-License-Identifier: Apache-2.0
"""The report section about plans without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import pages

SIDES = {"pyiceberg": "PyIceberg", "polars": "Polars, polars_iceberg", "index": "the index"}


def plot(document: dict[str, Any], path: Path) -> None:
    label = f"first plan of {document['files']:,} files without Spark, CPU ms (log scale)"
    pages.plot_plans(document["plans"], SIDES, "cpuMillis", label, height=2.6, path=path)


def section(document: dict[str, Any], image: str) -> str:
    rows = [
        (
            row["query"],
            *(f"{pages.millis(row[side]['cpuMillis'])} ({row[side]['files']:,})" for side in SIDES),
        )
        for row in document["plans"]
    ]
    return "\n".join(
        [
            "## Readers without Spark\n",
            f"![readers]({image})\n",
            "The first plan of a Python process: CPU milliseconds and, in brackets, the files that are left. Libraries "
            f"and the table's metadata are loaded before. Metadata of {document['files']:,} files, 30 columns; the "
            f"index has {document['indexBytes'] / 1e6:,.0f} MB. No reader has data files to read.\n",
            pages.table(("", *SIDES.values()), rows),
        ]
    )
