# SPDX-License-Identifier: Apache-2.0
"""Compares queries with the product off at the same snapshot."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from support.compare import bag

from soak import lake, queries
from zonemap.session import confs

#: The condition of Spark's error of a query whose table gets other columns between its analysis and its run. Iceberg's
#: answers at a snapshot cannot show it, so that `test_soak` shows that Spark raises it without the product.
CHANGED = "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS"
#: After so many queries a thread opens new sessions.
QUERIES_OF_A_SESSION = 100


@dataclass
class Results:
    """Counts of all query threads, and the violations. Thread-safe."""

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"on": [], "off": []})
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str) -> None:
        with self.lock:
            self.counts[kind] += 1

    def violation(self, kind: str, text: str) -> None:
        with self.lock:
            self.counts[kind] += 1
            self.violations.append(f"{kind}: {text[:2000]}")

    def took(self, side: str, seconds: float) -> None:
        with self.lock:
            self.seconds[side].append(seconds)


@dataclass(frozen=True)
class Answer:
    """The rows of a query, or its error."""

    rows: list[Row] | None
    error: str = ""


class Checks:
    """Runs random queries in sessions of its own until it is stopped; used by one thread."""

    def __init__(self, spark: SparkSession, chooser: random.Random, results: Results) -> None:
        self._spark, self._chooser, self._results = spark, chooser, results
        self._open()

    def _open(self) -> None:
        self._off = lake.session(self._spark, {confs.ENABLED: "false"})
        shadow, cover = str(self._chooser.random() < 0.2).lower(), self._chooser.choice(["background", "wait"])
        self._on = lake.session(
            self._spark, {"spark.sql.zonemap.shadow.enabled": shadow, "spark.sql.zonemap.coverOnRead": cover}
        )
        self._left = QUERIES_OF_A_SESSION
        self._results.add("sessions")

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if self._left <= 0:
                self._open()
            self._left -= 1
            self.check(queries.name(self._chooser))

    def check(self, name: str) -> None:
        """Runs one query, at a snapshot of the table or of its current state."""
        history = lake.snapshots(self._off, name)
        if not history:
            self._results.add("no table")
            return
        text = queries.draw(self._chooser, 400 + 25 * len(history))
        if self._chooser.random() < 0.5:
            recent = history[-1] if self._chooser.random() < 0.6 else self._chooser.choice(history[-5:])
            self._judge(text, name, queries.at(name, recent), [recent])
        else:
            self._judge(text, name, name, [history[-1]])

    def _judge(self, text, name: str, read: str, snapshots: list[int]) -> None:
        actual = self._answer("on", self._on, text(read))
        if read == name and actual.rows is not None:
            snapshots = _since(lake.snapshots(self._off, name), snapshots[0])
        found = [self._answer("off", self._off, text(queries.at(name, snapshot))) for snapshot in snapshots]
        judged(self._results, text(read), actual, found)

    def _answer(self, side: str, session: SparkSession, sql: str) -> Answer:
        started = time.monotonic()
        try:
            return Answer(session.sql(sql).collect())
        except (PySparkException, Py4JJavaError) as error:
            return Answer(None, str(error))
        finally:
            self._results.took(side, time.monotonic() - started)


def judged(results: Results, sql: str, actual: Answer, expected: list[Answer]) -> None:
    """Counts a query: its rows must be those of one of the snapshots that it may have read.

    Args:
        results: Receives the outcome.
        sql: The query.
        actual: The answer with the product on.
        expected: The answers of Iceberg at the snapshots that were current while the query ran, the oldest first. An
            error means that the snapshot has expired, or the table is gone.
    """
    known = [answer for answer in expected if answer.rows is not None]
    if actual.rows is None and CHANGED in actual.error:
        results.add("columns changed")
    elif actual.rows is None and expected and expected[0].rows is not None:
        results.violation("errors of ours", f"{sql}: {actual.error}")
    elif actual.rows is None:
        results.add("errors of both")
    elif any(bag(answer.rows or []) == bag(actual.rows) for answer in known):
        results.add("equal")
    elif not expected or len(known) < len(expected):
        results.add("snapshots gone")
    else:
        wanted = [sorted(map(tuple, answer.rows or []))[:10] for answer in known]
        results.violation("wrong", f"{sql}: {sorted(map(tuple, actual.rows))[:10]} and not one of {wanted}")


def _since(history: list[int], first: int) -> list[int]:
    """The snapshots from `first` on; none if the table was made again since."""
    return history[history.index(first) :] if first in history else []
