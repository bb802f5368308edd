# SPDX-License-Identifier: Apache-2.0
"""What the report sections about statements that Spark plans, off and on by turns, share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import pages

SIDES = {"stock": "Iceberg", "index": "index"}


def plot(document: dict[str, Any], label: str, path: Path) -> None:
    """Saves bars of the CPU time of each statement over the largest table."""
    largest = document["tables"][-1]
    pages.plot_plans(largest["queries"], SIDES, "cpuMillis", label, height=3.4, path=path)


def table(document: dict[str, Any], of: str) -> str:
    """Returns a table with a row for each statement over each table; ``of`` names the key that tells tables apart."""
    rows = [
        (
            row["query"],
            f"{found[of]:,}" if isinstance(found[of], int) else found[of],
            *(
                f"{pages.millis(row['stock'][key])} -> {pages.millis(row['index'][key])}"
                for key in ("cpuMillis", "wallMillis", "allocatedMegabytes")
            ),
        )
        for found in document["tables"]
        for row in found["queries"]
    ]
    return pages.table(("statement", of, "CPU ms", "ms", "MB allocated"), rows)
