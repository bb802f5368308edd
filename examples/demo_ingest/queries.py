# SPDX-License-Identifier: Apache-2.0
"""Queries of the newest flights while writers and the committer run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zonemap
from demo import compare
from demo.queries import Query
from demo_ingest.lake import ROWS_AN_APPEND, TABLE, Lake, append_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Fresh:
    """A query of the flights of one append.

    Attributes:
        age_seconds: Time from the moment at which the spool accepted them to the result of the query.
        run: The query, planned from the index.
        files: Data files of the table at that time.
        query: The query.
        while_writing: Writers were at work.
    """

    age_seconds: float
    run: compare.Run
    files: int
    query: Query
    while_writing: bool = True

    def failure(self, spark: SparkSession) -> str:
        """Compares with Iceberg's own plan; returns why the query failed, or an empty text."""
        if not self.run.rows:
            return "a query did not see committed rows"
        if not self.run.indexed_scans:
            return "not planned from the index"
        if self.run.rows != compare.run(spark, self.query, enabled=False).rows:
            return "other rows than with Iceberg's own plan"
        return ""


def warm_up(spark: SparkSession) -> None:
    """Runs the query of the demo once, so that its classes are loaded."""
    compare.run(spark, _query(0), enabled=True)


class Newest:
    """Queries the newest flights, from the first snapshot on, which it indexes; keeps the query that shows most.

    Attributes:
        best: The query of the youngest flights that was planned from the index; None before the first one.
    """

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self.best: Fresh | None = None
        self._spark = spark
        self._lake = lake
        self._is_built = False

    def look(self, accepted: Mapping[int, float]) -> None:
        """Queries the newest append of the newest snapshot; does nothing without a snapshot."""
        self._add(accepted, while_writing=True)

    def look_at_last(self, accepted: Mapping[int, float]) -> None:
        """Queries once more if no query was planned from the index while the writers were at work.

        On a busy machine, all writers may end before the first commit, and the index may lie behind the table.
        """
        if self.best is None or not self.best.run.indexed_scans:
            self._is_built = False
            self._add(accepted, while_writing=False)

    def _add(self, accepted: Mapping[int, float], *, while_writing: bool) -> None:
        appends, files = _newest(self._lake)
        known = [append for append in appends if append in accepted]
        if not known:
            return
        if not self._is_built:
            zonemap.Index(self._spark, TABLE).build()
            self._is_built = True
        newest = max(known, key=lambda append: accepted[append])
        query = _query(newest)
        run = compare.run(self._spark, query, enabled=True)
        found = Fresh(time.time() - accepted[newest], run, files, query, while_writing)
        if self.best is None or _rank(found) < _rank(self.best):
            self.best = found


def _rank(found: Fresh) -> tuple[bool, bool, float]:
    """Orders queries: one without its rows, which is wrong at any speed, comes first."""
    return bool(found.run.rows), not found.run.indexed_scans, found.age_seconds


def _query(append: int) -> Query:
    first = append * ROWS_AN_APPEND + 1
    return Query(
        "newest flights",
        TABLE,
        f"SELECT origin, count(*) AS flights, max(dep_delay) AS worst FROM {TABLE} "
        f"WHERE flight_id BETWEEN {first} AND {first + ROWS_AN_APPEND - 1} GROUP BY origin",
    )


def _newest(lake: Lake) -> tuple[set[int], int]:
    """Returns the appends that the newest snapshot added, by the bounds of its files, and the table's file count."""
    with contextlib.closing(lake.catalog()) as catalog:
        table = catalog.load_table(TABLE.removeprefix("lake."))
        snapshot = table.current_snapshot()
        if snapshot is None or snapshot.summary is None:
            return set(), 0
        field = table.schema().find_field("flight_id").field_id
        bounds = [
            entry.data_file.lower_bounds[field]
            for manifest in snapshot.manifests(table.io)
            if manifest.added_snapshot_id == snapshot.snapshot_id
            for entry in manifest.fetch_manifest_entry(table.io)
        ]
        files = int(snapshot.summary["total-data-files"] or 0)
    return {append_of(int.from_bytes(bound, "little")) for bound in bounds}, files
