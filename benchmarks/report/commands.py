# SPDX-License-Identifier: Apache-2.0
"""The report section about the planning of UPDATE, DELETE and MERGE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import turns


def plot(document: dict[str, Any], path: Path) -> None:
    largest = document["tables"][-1]
    turns.plot(document, f"planning over {largest['files']:,} files, {largest['mode']}: CPU ms (log scale)", path)


def section(document: dict[str, Any], image: str) -> str:
    files = document["tables"][0]["files"]
    return "\n".join(
        [
            "## UPDATE, DELETE and MERGE\n",
            f"![commands]({image})\n",
            f"Spark plans the command, from SQL text to the splits of its scans, over {files:,} files; nothing is "
            "written. A DELETE by key keeps Iceberg's own check whether whole files can go.\n",
            turns.table(document, "mode"),
        ]
    )
