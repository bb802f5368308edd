# SPDX-License-Identifier: Apache-2.0
"""``python keep.py <JMH's result> <result.json>``: copies a JMH result without raw histograms and machine paths."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_MACHINE = ("jvm", "jvmArgs")
_RAW = ("rawData", "rawDataHistogram")


def main(result: Path, kept: Path) -> None:
    runs = json.loads(result.read_text())
    for run in runs:
        for name in _MACHINE:
            run.pop(name, None)
        for metric in (run["primaryMetric"], *run["secondaryMetrics"].values()):
            for name in _RAW:
                metric.pop(name, None)
    kept.write_text(json.dumps({"benchmark": "kernel", "runs": runs}, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
