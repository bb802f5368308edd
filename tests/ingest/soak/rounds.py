# SPDX-License-Identifier: Apache-2.0
"""The rounds of a soak: each has a table of its own; the committers live on between rounds, unless they are killed."""

from __future__ import annotations

import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

from ingest import lake
from ingest.soak import journal, rows
from ingest.soak.maintenance import Maintenance
from ingest.soak.oracle import Oracle
from ingest.soak.processes import Processes, chaos
from ingest.soak.storage import FOLDER, Files, Storage
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from support import tables

COMMITTERS = ["committer-0", "committer-1"]
DRAIN_SECONDS = 120.0


@dataclass(frozen=True)
class Done:
    """One round.

    Attributes:
        figures: What happened, for people.
        violations: What was wrong; empty if nothing was.
    """

    figures: dict[str, object]
    violations: list[str]


def run(spark: SparkSession, storage: Storage, folder: Path, seeds: list[str], seconds: float) -> Iterator[Done]:
    """Runs a round for each seed.

    Args:
        spark: A session with the catalog of the storage; it maintains the tables.
        storage: Where the tables lie.
        folder: Folder of journals and logs.
        seeds: One for each round.
        seconds: How long the faults of a round go on.
    """
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.soak")
    names = [
        tables.create(spark, f"lake.soak.t{number}", rows.DDL, partitioned=rows.PARTITIONED, props=dict(root))
        for number, root in zip(range(len(seeds)), cycle(storage.roots))
    ]
    with Processes() as processes:
        for name in COMMITTERS:
            log = folder / f"{name}.log"
            processes.start(name, partial(lake.start_committer, names, storage.catalog.spark, log, report_seconds=5))
        _await(lambda: all(f"{names[-1]}:" in (folder / f"{name}.log").read_text() for name in COMMITTERS))
        for name, seed in zip(names, seeds, strict=True):
            yield _round(spark, storage, folder / name, name, processes, random.Random(seed), seconds)


def _round(
    spark: SparkSession,
    storage: Storage,
    folder: Path,
    name: str,
    processes: Processes,
    chooser: random.Random,
    seconds: float,
) -> Done:
    started = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with load_catalog("lake", **storage.reader) as catalog, ThreadPoolExecutor(2) as pool:
        table = catalog.load_table(name.removeprefix("lake."))
        files = storage.files
        location = files.name(table.location())
        oracle = Oracle(catalog, name, files)
        stop = threading.Event()
        above = location if table.properties.get("zonemap.ingest.root") else location.rpartition("/")[0]
        spool = f"{above}/{FOLDER}/{table.metadata.table_uuid}"
        data = Path(location, "data")
        accepted_files = partial(_accepted, folder, files)
        maintenance = Maintenance(spark, name, data, Path(spool), storage.ages, oracle, accepted_files)
        for lane in rows.LANES:
            arguments = ["ingest.soak.writer", json.dumps(dict(storage.catalog.python)), name, lane, str(folder)]
            processes.start(lane, partial(lake.start_python, arguments, folder / f"{lane}.log"))
        background = [
            pool.submit(_watch, oracle, stop),
            pool.submit(maintenance.run, stop, random.Random(chooser.random())),
        ]
        try:
            _await(lambda: oracle.seen)
            faults = chaos(processes, chooser, COMMITTERS, list(rows.LANES), seconds, storage.expire)
            violations = processes.ended()
            (folder / "stop").touch()
            processes.join(rows.LANES, 60)
            violations += _drain(files, spool)
        finally:
            (folder / "stop").touch()
            stop.set()
        for thread in background:
            thread.result()
        journals = {lane: journal.read(folder / lane) for lane in rows.LANES}
        violations += oracle.violations(journals) + maintenance.left_over()
        reasons = files.matching(spool, "quarantine/*/*.why")
        violations += [f"{name} is in quarantine: {files.text(name)}" for name in reasons]
        snapshots = oracle.seen
    accepted = sum(len(found.accepted) for found in journals.values())
    figures = {
        "accepted": accepted,
        "in doubt": sum(len(found.intended - found.accepted.keys()) for found in journals.values()),
        "committed": len(snapshots[-1].appends),
        "snapshots": len(snapshots),
        **faults,
        **{task.strip("_"): count for task, count in sorted(maintenance.done.items())},
        "seconds": round(time.monotonic() - started, 1),
    }
    return Done(figures, violations)


def _watch(oracle: Oracle, stop: threading.Event) -> None:
    while not stop.wait(0.1):
        oracle.catch_up()


def _await(holds: Callable[[], object]) -> None:
    end = time.monotonic() + DRAIN_SECONDS
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)


def _drain(files: Files, spool: str) -> list[str]:
    """Waits until no record is pending."""
    _await(lambda: not files.matching(spool, "pending/*/*.rec"))
    left = files.matching(spool, "pending/*/*.rec")
    return [f"{len(left)} records are pending after {DRAIN_SECONDS:g} s, the first is {min(left)}"] if left else []


def _accepted(folder: Path, files: Files) -> list[str]:
    found = [path for lane in rows.LANES for of in journal.read(folder / lane).accepted.values() for path in of]
    return [files.name(path) for path in found]
