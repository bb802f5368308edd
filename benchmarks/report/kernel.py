# SPDX-License-Identifier: Apache-2.0
"""The report section about the kernel, which evaluates one predicate over the codes of all files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: dict[str, Any], path: Path) -> None:
    runs = _by_files(document)[0][1][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.4 * len(runs) + 1))
    axes.barh([_name(run) for run in runs], [_millis(run, "50.0") for run in runs], color=pages.OURS)
    axes.set_xlabel("ms for all files, median (log scale)")
    axes.set_xscale("log")
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = ["## Kernel\n", f"![kernel]({image})\n"]
    for files, runs in _by_files(document):
        rows = [
            (
                _name(run) + (" \\*" if "measuredLaterAt" in run else ""),
                f"{_millis(run, '50.0'):.3g}",
                f"{_millis(run, '99.0'):.3g}",
                f"{_millis(run, '50.0') * 1e6 / files:.2g}",
                f"{run['secondaryMetrics']['gc.alloc.rate.norm']['score'] / 1e6:.2g}",
            )
            for run in runs
        ]
        parts += [
            f"One predicate over the codes of {files:,} files, one thread, codes in memory (JMH, "
            f"JDK {runs[0]['jdkVersion']}).\n",
            pages.table(("predicate", "ms, p50", "ms, p99", "ns a file", "MB allocated"), rows),
        ]
    later = sorted({run["measuredLaterAt"] for run in document["runs"] if "measuredLaterAt" in run})
    if later:
        parts.append(f"\\* Measured later, at commit {', '.join(later)}.\n")
    return "\n".join(parts)


def _by_files(document: dict[str, Any]) -> list[tuple[int, list[dict[str, Any]]]]:
    """Groups the runs by the number of files, in ascending order."""
    sizes = sorted({int(run["params"]["files"]) for run in document["runs"]})
    return [(files, [r for r in document["runs"] if int(r["params"]["files"]) == files]) for files in sizes]


def _name(run: dict[str, Any]) -> str:
    return str(run["params"]["predicate"])


def _millis(run: dict[str, Any], percentile: str) -> float:
    return float(run["primaryMetric"]["scorePercentiles"][percentile]) / 1000
