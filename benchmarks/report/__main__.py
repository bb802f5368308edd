# SPDX-License-Identifier: Apache-2.0
"""Writes docs/benchmarks.md, docs/stream.md and their plots: python -m report <docs>, from the folder benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from report import (
    aggregates,
    atlas,
    commands,
    ingest,
    kernel,
    keys,
    load,
    matrix,
    pages,
    planning,
    pruning,
    readers,
    scale,
    serve,
    stream,
    summary,
    tpcds,
    tpch,
)

SUITES = {
    planning: "planning/results/planning.json",
    matrix: "planning/results/matrix.json",
    aggregates: "planning/results/aggregates.json",
    commands: "planning/results/dml.json",
    scale: "planning/results/scale.json",
    kernel: "jmh/results/kernel.json",
    keys: "planning/results/keys.json",
    pruning: "pruning/results/pruning.json",
    tpch: "tpch/results/tpch.json",
    tpcds: "tpcds/results/tpcds.json",
    atlas: "atlas/results/atlas.json",
    ingest: "ingest/results/ingest.json",
    readers: "readers/results/readers.json",
    serve: "serve/results/serve.json",
    load: "load/results/load.json",
}
HEAD = """<!-- Generated from benchmarks/*/results by `make bench-report`: do not edit. -->

# How fresh, how big, how fast

Every figure is from a result file in [benchmarks](../benchmarks/README.md), which describes each suite and names the
command that repeats it. Stock Iceberg and the index ran in one process, by turns; figures are medians. The cases in
which the index does not help are in the tables too. The CPU time of a process is measured in steps of 10 ms. Shorter
plans were run many times in a row where tables are small; elsewhere their CPU time may be 0.
"""


def main(folder: Path) -> None:
    """Writes a page with one section for every suite that has a result, and the page of the stream.

    Args:
        folder: the folder to write the pages to; plots go to its subfolder `images`.
    """
    (folder / "images").mkdir(parents=True, exist_ok=True)
    results = Path(__file__).parent.parent
    paced, layouts = (_read(results / f"strategies/results/{name}.json") for name in ("stream", "strategies"))
    documents = {"stream": paced}
    parts = []
    for suite, name in SUITES.items():
        result = results / name
        if result.exists():
            document = documents[result.stem] = _read(result)
            plot = folder / "images" / f"{result.stem}.svg"
            suite.plot(document, plot)
            parts.append(suite.section(document, f"images/{plot.name}"))
            parts.append(pages.measured_on(document))
    (folder / "benchmarks.md").write_text(pages.wrapped("\n".join([HEAD, summary.table(documents), *parts])))
    stream.plot(paced, folder / "images" / "stream.svg")
    (folder / "stream.md").write_text(pages.wrapped(stream.page(paced, layouts, "images/stream.svg")))
    print(f"written: {folder / 'benchmarks.md'}, {folder / 'stream.md'}")


def _read(result: Path) -> Any:
    return json.loads(result.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
