# SPDX-License-Identifier: Apache-2.0
"""The report section about plans over Iceberg's REST protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import pages

FIGURES = ("wallMillis", "clientCpuMillis", "serverCpuMillis")
SIDES = {"pyiceberg": "PyIceberg", "serverWithoutIndex": "server without an index", "index": "server with the index"}


def plot(document: dict[str, Any], path: Path) -> None:
    table = document["tables"][-1]
    label = f"a plan of {table['files']:,} files for PyIceberg, wall ms (log scale)"
    pages.plot_plans(table["plans"], SIDES, "wallMillis", label, height=3.4, path=path)


def section(document: dict[str, Any], image: str) -> str:
    rows = [
        (
            f"{table['files']:,}",
            row["query"],
            *(" / ".join(pages.millis(row[side][key]) for key in FIGURES) for side in SIDES),
        )
        for table in document["tables"]
        for row in table["plans"]
    ]
    clients = [
        (
            f"{table['files']:,}",
            row["clients"],
            f"{row['plansPerSecond']:,.0f}",
            f"{pages.millis(row['wallMillisP50'])} / {pages.millis(row['wallMillisP99'])}",
            pages.millis(row["serverCpuMillis"]),
        )
        for table in document["tables"]
        for row in table["clients"]
    ]
    return "\n".join(
        [
            "## Plans over the REST protocol\n",
            f"![serve]({image})\n",
            "PyIceberg asks `zonemap serve` for a plan, or plans by itself: milliseconds of wall time, of the "
            "client's CPU and of the server's CPU. The server is warm and stands before a Hadoop catalog "
            "on the same machine. Without an index, Iceberg plans in the server. The metadata are those of the "
            "section before.\n",
            pages.table(("files", "query", *SIDES.values()), rows),
            "Many clients at a time ask the server with the index for a plan of one file, by requests of HTTP from a "
            "process on the same cores.\n",
            pages.table(("files", "clients", "plans a second", "ms, p50 / p99", "server CPU ms a plan"), clients),
        ]
    )
