# SPDX-License-Identifier: Apache-2.0
"""One driver with queries, writers, maintenance and maintainers at once, and the verdict about it."""

from __future__ import annotations

import contextlib
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession
from support import product

from soak import actors, figures, lake
from soak.checks import Checks, Results
from soak.figures import Sample

Report = Callable[[str], None]
HEADER = (
    " minute  queries  equal  gone  errors of both  of ours  wrong  by index  heap MB  threads  handles  own threads"
)


@dataclass(frozen=True)
class Plan:
    """The size of a soak.

    Attributes:
        seconds: How long writers and maintenance work.
        quiet_seconds: How long queries and maintainers go on after them, while no metadata file may appear.
        threads: Threads that run queries.
        processes: Processes that maintain the index, beside a thread of the driver that does.
        every_seconds: The time between two samples.
    """

    seconds: float
    quiet_seconds: float = 10.0
    threads: int = 4
    processes: int = 1
    every_seconds: float = 60.0


@dataclass
class Soak:
    """A soak in the session of `spark`, whose warehouse is in `folder`."""

    spark: SparkSession
    folder: Path
    seed: str
    plan: Plan
    report: Report
    results: Results = field(default_factory=Results)
    samples: list[Sample] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def run(self) -> list[str]:
        """Runs the soak; returns the violations."""
        chooser = random.Random(self.seed)

        def seeded() -> random.Random:
            return random.Random(chooser.random())

        lake.create(lake.session(self.spark))
        counters = product.counters(self.spark)
        checks = [Checks(self.spark, seeded(), self.results) for _ in range(self.plan.threads)]
        maintainer = actors.Maintainer(lake.session(self.spark), seeded())
        changing = [
            actors.Writer(lake.session(self.spark), seeded()),
            actors.Maintenance(lake.session(self.spark), seeded()),
        ]
        query = actors.stream(lake.session(self.spark), self.folder, 40)
        try:
            with self._processes() as processes, _threads([*checks, maintainer]) as failures:
                with _threads(changing) as broken:
                    self._watch(self.plan.seconds)
                    failed = query.exception()  # the stop may interrupt a commit that waits to be sent again
                    query.stop()
                before = actors.metadata(self.spark)
                self._watch(self.plan.quiet_seconds)
                after = actors.metadata(self.spark)
        finally:
            query.stop()
        for actor in (*changing, maintainer):
            self.done += actor.done
        grown = [
            f"a commit of ours: {name} has {sorted(after[name] - before[name])}"
            for name in after
            if after[name] != before[name]
        ]
        never = [text for actor in (*changing, maintainer) for text in actor.never_done()]
        counted = product.counters(self.spark) - counters
        return [
            *self.results.violations,
            *grown,
            *broken,
            *failures,
            *processes,
            *([f"the stream failed: {failed}"] if failed else []),
            *([f"shadow mode found {counted.shadow_mismatches} differences"] if counted.shadow_mismatches else []),
            *(never if self.plan.seconds >= 600 else []),
            *figures.growth(self.samples),
            *([] if counted.planned_scans else ["no scan was planned from the index"]),
        ]

    def times(self) -> dict[str, dict[str, float]]:
        """The median and the 99th percentile of the seconds of a query, with the product on and off."""
        return {
            side: {"p50": round(statistics.median(found), 3), "p99": round(sorted(found)[int(len(found) * 0.99)], 3)}
            for side, found in self.results.seconds.items()
            if found
        }

    def _watch(self, seconds: float) -> None:
        """Waits, and prints a line of the table for each sample."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, self.plan.every_seconds))
            self._print(figures.sample(self.spark))

    def _print(self, taken: Sample) -> None:
        if not self.samples:
            self.report(HEADER)
        self.samples.append(taken)
        counts, planned = self.results.counts, product.counters(self.spark)
        queries = sum(counts.values()) - counts["sessions"]
        self.report(
            f"{len(self.samples) * self.plan.every_seconds / 60:7.1f} {queries:8d} {counts['equal']:6d}"
            f" {counts['snapshots gone'] + counts['no table']:5d} {counts['errors of both']:15d}"
            f" {counts['errors of ours']:8d} {counts['wrong']:6d} {planned.planned_scans:9d}"
            f" {taken.heap_mb:8.1f} {taken.threads:8d} {taken.handles:8d} {taken.own_threads:12d}"
        )

    @contextlib.contextmanager
    def _processes(self) -> Iterator[list[str]]:
        """Runs the maintainers in processes of their own; the list receives their failures when they have ended."""
        warehouse = self.spark.conf.get("spark.sql.catalog.lake.warehouse")
        running: list[tuple[Path, subprocess.Popen[bytes]]] = []
        violations: list[str] = []
        try:
            for number in range(self.plan.processes):
                own = self.folder / f"maintainer-{number}"
                own.mkdir(parents=True, exist_ok=True)
                command = [sys.executable, "-m", "soak.maintainer", warehouse, str(own), f"{self.seed} {number}"]
                with (own / "log.txt").open("wb") as log:
                    process = subprocess.Popen(command, stdout=log, stderr=log, cwd=Path(__file__).parents[1])
                running.append((own, process))
            yield violations
            for own, process in running:
                (own / "stop").touch()
                code = process.wait(120)
                if code:
                    violations.append(f"{own.name} ended with {code}: {(own / 'log.txt').read_text()[-500:]}")
                else:
                    self.done += {
                        f"{own.name} {k}": n for k, n in json.loads((own / "counts.json").read_text())["done"].items()
                    }
        finally:
            for _, process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()


@contextlib.contextmanager
def _threads(workers: list) -> Iterator[list[str]]:
    """Runs `run` of each worker in a thread while the body runs; the list receives the errors that end a thread."""
    stop, errors = threading.Event(), []

    def work(worker: object) -> None:
        try:
            worker.run(stop)
        except Exception as error:
            errors.append(f"{type(worker).__name__} ended: {type(error).__name__}: {str(error)[:1000]}")

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()
