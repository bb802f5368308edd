# SPDX-License-Identifier: Apache-2.0
"""``python -m serve <work folder> <result.json> <Iceberg jar> <runs> <files>...``: run it after AtlasTable.

For each number of files the folder has a warehouse of that name, with metadata only. Spark builds the index and
stops.
One server plans from the index, one has none and lets Iceberg plan, and PyIceberg plans by itself, by turns.
"""

from __future__ import annotations

import importlib.metadata
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import session
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, GreaterThanOrEqual, In, LessThan
from pyiceberg.table import StaticTable, Table

import zonemap
from demo_serve import server
from serve import clients

#: The values of `seq` that a file of the table holds.
ROWS = 100_000
#: Plans of PyIceberg and of a server without an index take seconds.
SLOW_RUNS = 3
#: Plans that are not measured, for each one that is.
WARM_UP = 25
#: Numbers of clients that ask the server with the index at a time.
CLIENTS = (1, 16, 64)


def queries(files: int) -> dict[str, BooleanExpression]:
    """Returns the filters by name."""
    middle = files // 2 * ROWS
    return {
        "point, 1 file": EqualTo("seq", middle + 7),
        "range, 300 files": And(GreaterThanOrEqual("seq", middle), LessThan("seq", middle + 300 * ROWS)),
        "IN 250, 250 files": In("seq", {place * (files // 250) * ROWS + 7 for place in range(250)}),
        "all files": AlwaysTrue(),
    }


class Server:
    """A running server and its table."""

    def __init__(self, running: server.Running) -> None:
        self._pid = running.pid
        self.url = running.url
        catalog = load_catalog("served", type="rest", uri=self.url, **{"scan-planning-mode": "server"})
        self.table: Table = catalog.load_table("db.atlas")

    def cpu_millis(self) -> float:
        ticks = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(ticks[11]) + int(ticks[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main(folder: Path, result: Path, iceberg: str, runs: int, sizes: list[int]) -> None:
    """Measures the plans and writes the figures to ``result``."""
    document: dict[str, Any] = {"benchmark": "serve", "tables": []}
    for files in sizes:
        warehouse = folder / str(files)
        spark = session.start("serve", warehouse, iceberg, "4g")
        built = zonemap.Index(spark, "lake.db.atlas").build()
        document["versions"] = session.versions(spark) | {"pyiceberg": importlib.metadata.version("pyiceberg")}
        spark.stop()
        empty = str(warehouse / "no_index")
        with (
            server.running(warehouse, iceberg, "--upkeep", "off") as ours_running,
            server.running(warehouse, iceberg, "--upkeep", "off", "--store-location", empty) as stock_running,
        ):
            ours, stock = Server(ours_running), Server(stock_running)
            document["tables"].append(
                {
                    "files": built.data_files,
                    "indexBytes": built.bytes,
                    "plans": _plans(files, ours, stock, runs),
                    "clients": _clients(files, ours),
                }
            )
    session.keep(document, result)


def _plans(files: int, ours: Server, stock: Server, runs: int) -> list[dict[str, Any]]:
    own = StaticTable.from_metadata(ours.table.metadata_location)
    nothing: Callable[[], float] = lambda: 0.0  # noqa: E731
    planners: dict[str, tuple[Table, Callable[[], float], int]] = {
        "index": (ours.table, ours.cpu_millis, runs),
        "serverWithoutIndex": (stock.table, stock.cpu_millis, min(runs, SLOW_RUNS)),
        "pyiceberg": (own, nothing, min(runs, SLOW_RUNS)),
    }
    found = []
    for query, expression in queries(files).items():
        made: dict[str, list[dict[str, float]]] = {name: [] for name in planners}
        for turn in range(runs):
            for name, (table, cpu, turns) in planners.items():
                # the JVM of a server compiles during its first hundreds of plans
                for _ in range(runs * WARM_UP if turn == 0 and name == "index" and query != "all files" else 0):
                    list(table.scan(row_filter=expression).plan_files())
                if turn < turns:
                    made[name].append(_plan(table, expression, cpu))
        found.append({"query": query} | {name: _medians(plans) for name, plans in made.items()})
        print(files, found[-1], flush=True)
    return found


def _clients(files: int, ours: Server) -> list[dict[str, float]]:
    found = [clients.measure(ours.url, files // 2 * ROWS + 7, count, ours.cpu_millis) for count in CLIENTS]
    print(files, found, flush=True)
    return found


def _plan(table: Table, expression: BooleanExpression, server_cpu: Callable[[], float]) -> dict[str, float]:
    cpu, served, started = time.process_time(), server_cpu(), time.perf_counter()
    kept = len(list(table.scan(row_filter=expression).plan_files()))
    wall, client = time.perf_counter() - started, time.process_time() - cpu
    return {
        "files": kept,
        "wallMillis": wall * 1000,
        "clientCpuMillis": client * 1000,
        "serverCpuMillis": server_cpu() - served,
    }


def _medians(plans: list[dict[str, float]]) -> dict[str, float]:
    found = {key: statistics.median(plan[key] for plan in plans) for key in plans[0]}
    # the kernel counts CPU in steps of 10 ms, so the mean says more than the median
    found["serverCpuMillis"] = statistics.fmean(plan["serverCpuMillis"] for plan in plans)
    return {key: round(value, 2) for key, value in found.items()} | {"runs": len(plans)}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), [*map(int, sys.argv[5:])])
