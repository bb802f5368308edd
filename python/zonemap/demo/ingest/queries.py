"""Queries of the newest flights while writers and the committer run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zonemap.demo import compare
from zonemap.demo.ingest.lake import ROWS_AN_APPEND, TABLE, Lake
from zonemap.demo.queries import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Long enough for a commit, if the committer runs.
_LEAST_AGE_SECONDS = 1.5


@dataclass(frozen=True)
class Fresh:
    """A query of the flights of one append.

    Attributes:
        age_seconds: Time from the moment at which the spool accepted them to the result of the query.
        run: The query, planned from the index.
        files: Data files of the table at that time.
        query: The query.
    """

    age_seconds: float
    run: compare.Run
    files: int
    query: Query

    def failure(self, spark: SparkSession) -> str:
        """Compares with Iceberg's own plan; returns why the query failed, or an empty text."""
        if not self.run.indexed_scans:
            return "not planned from the index"
        if self.run.rows != compare.run(spark, self.query, enabled=False).rows:
            return "other rows than with Iceberg's own plan"
        return ""


def look(spark: SparkSession, lake: Lake, accepted: Mapping[int, float]) -> Fresh | None:
    """Queries the newest append that may be visible by now; None if it is not, as while no committer runs."""
    old = [append for append, at in accepted.items() if time.time() - at >= _LEAST_AGE_SECONDS]
    if not old:
        return None
    newest = max(old, key=lambda append: accepted[append])
    first = newest * ROWS_AN_APPEND + 1
    sql = f"FROM {TABLE} WHERE flight_id BETWEEN {first} AND {first + ROWS_AN_APPEND - 1}"
    query = Query(
        "newest flights", TABLE, f"SELECT origin, count(*) AS flights, max(dep_delay) AS worst {sql} GROUP BY origin"
    )
    found = compare.run(spark, query, enabled=True)
    age = time.time() - accepted[newest]
    return Fresh(age, found, _file_count(lake), query) if found.rows else None


def _file_count(lake: Lake) -> int:
    with contextlib.closing(lake.catalog()) as catalog:
        snapshot = catalog.load_table(TABLE.removeprefix("lake.")).current_snapshot()
    return int(snapshot.summary["total-data-files"] or 0) if snapshot is not None and snapshot.summary else 0
