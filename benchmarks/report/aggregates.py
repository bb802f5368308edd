# SPDX-License-Identifier: Apache-2.0
"""The report section about COUNT, MIN and MAX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from report import turns


def plot(document: dict[str, Any], path: Path) -> None:
    turns.plot(document, f"planning over {document['tables'][-1]['files']:,} files: CPU ms (log scale)", path)


def section(document: dict[str, Any], image: str) -> str:
    return "\n".join(
        [
            "## COUNT, MIN and MAX\n",
            f"![aggregates]({image})\n",
            "From SQL text to the splits of what is left to be read. The empty query reads no table: it is the part "
            "that Spark itself takes.\n",
            turns.table(document, "files"),
        ]
    )
