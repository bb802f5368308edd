"""The kernel: one predicate over the codes of all files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: list[dict[str, Any]], path: Path) -> None:
    runs = document[::-1]
    figure, axes = plt.subplots(figsize=(8, 0.4 * len(runs) + 1))
    axes.barh([_name(run) for run in runs], [_millis(run, "50.0") for run in runs], color=pages.OURS)
    axes.set_xlabel("ms for all files, median (log scale)")
    axes.set_xscale("log")
    pages.save(figure, path)


def section(document: list[dict[str, Any]], image: str) -> str:
    files = int(document[0]["params"]["files"])
    rows = [
        (
            _name(run),
            f"{_millis(run, '50.0'):.3g}",
            f"{_millis(run, '99.0'):.3g}",
            f"{_millis(run, '50.0') * 1e6 / files:.2g}",
            f"{run['secondaryMetrics']['gc.alloc.rate.norm']['score'] / 1e6:.2g}",
        )
        for run in document
    ]
    return "\n".join(
        (
            "## Kernel\n",
            f"![kernel]({image})\n",
            f"One predicate over the codes of {files:,} files, one thread, codes in memory (JMH, "
            f"JDK {document[0]['jdkVersion']}).\n",
            pages.table(("predicate", "ms, p50", "ms, p99", "ns a file", "MB allocated"), rows),
        )
    )


def _name(run: dict[str, Any]) -> str:
    return str(run["params"]["predicate"])


def _millis(run: dict[str, Any], percentile: str) -> float:
    return float(run["primaryMetric"]["scorePercentiles"][percentile]) / 1000
