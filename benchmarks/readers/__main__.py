# SPDX-License-Identifier: Apache-2.0
"""``python -m readers <work folder> <result.json> <Iceberg jar> [runs]``: run it after AtlasTable has written metadata.

Spark builds the index and stops. Each plan is made in a process of its own, so that nothing is held from one before.
"""

from __future__ import annotations

import importlib.metadata
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import session

import zonemap
from readers.plans import READERS

TABLE = "lake.db.atlas"
RUNS = 7
#: PyIceberg takes seconds for one plan.
SLOW_RUNS = 3
QUERIES = {
    "range": "a range of seq, 300 files",
    "list in a row": "IN of 250 values of seq in 250 neighbouring files",
    "list all over": "IN of 250 values of seq in files all over the table",
}


def main(folder: Path, result: Path, iceberg: str, runs: int = RUNS) -> None:
    """Measures the plans and writes the figures to ``result``."""
    spark = session.start("readers", folder, iceberg, "4g")
    built = zonemap.Index(spark, TABLE).build()
    versions = session.versions(spark)
    spark.stop()
    versions |= {name: importlib.metadata.version(name) for name in ("pyiceberg", "pyarrow", "numpy", "polars_iceberg")}
    metadata = max(
        (folder / "db" / "atlas" / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:-14])
    )
    document = {
        "benchmark": "readers",
        "versions": versions,
        "files": built.data_files,
        "indexBytes": built.bytes,
        "plans": [{"query": text} | _plans(str(metadata), query, runs) for query, text in QUERIES.items()],
    }
    session.keep(document, result)


def _plans(metadata: str, query: str, runs: int) -> dict[str, Any]:
    """The medians of each reader, whose plans are made by turns."""
    made: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
    for turn in range(runs):
        for reader in READERS:
            if reader == "index" or turn < SLOW_RUNS:
                made[reader].append(_plan(metadata, reader, query))
    found = {reader: _median(plans) for reader, plans in made.items()}
    print(query, found, flush=True)
    return found


def _median(plans: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(plan[key] for plan in plans) for key in plans[0]} | {"runs": len(plans)}


def _plan(metadata: str, reader: str, query: str) -> dict[str, float]:
    command = [sys.executable, "-m", "readers.plans", metadata, reader, query]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:5]))
