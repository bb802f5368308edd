"""Writes docs/guide/benchmarks.md and its plots: python -m report <docs/guide>, from the folder benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from report import planning, pruning, strategies

SUITES = (planning, strategies, pruning)
HEAD = """<!-- Generated from benchmarks/*/results by `make bench-report`: do not edit. -->

# How fresh, how big, how fast

Every figure is from a result file in [benchmarks](../../benchmarks), which says what each suite does and the command
that repeats it. Stock Iceberg and the index ran in one process, by turns; medians. The cases in which the index
does not help are in the tables too.
"""


def main(folder: Path) -> None:
    """Writes the page for every suite that has a result.

    Args:
        folder: where the page goes; plots go to `images` in it.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    for suite in SUITES:
        name = suite.__name__.rpartition(".")[2]
        result = Path(__file__).parent.parent / name / "results" / f"{name}.json"
        if result.exists():
            document: dict[str, Any] = json.loads(result.read_text())
            plot = folder / "images" / f"{name}.svg"
            suite.plot(document, plot)
            parts.append(suite.section(document, f"images/{plot.name}"))
    (folder / "benchmarks.md").write_text("\n".join(parts))
    print(f"written: {folder / 'benchmarks.md'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
