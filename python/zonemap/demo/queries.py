"""The demo's queries: plain SQL, each with a title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from zonemap.demo.lake import FLIGHTS, METRICS


@dataclass(frozen=True)
class Query:
    """A query to compare.

    Attributes:
        title: The kind of query.
        table: The table that the query reads.
        sql: The statement.
    """

    title: str
    table: str
    sql: str


def queries(flight_ids: Sequence[int], newest_day: date) -> list[Query]:
    """Returns the queries; ``flight_ids`` are the values of the IN list, ``newest_day`` is the last day of metrics."""
    ids = ", ".join(map(str, flight_ids))
    before = newest_day - timedelta(days=3)
    window = f"name = 'http.0042' AND date > DATE '{before}' AND date <= DATE '{newest_day}'"
    return [
        Query(
            "newest hours",
            FLIGHTS,
            f"SELECT origin, count(*) AS flights, max(dep_delay) AS worst FROM {FLIGHTS} "
            "WHERE time_hour >= TIMESTAMP '2013-12-31 22:00:00' GROUP BY origin ORDER BY origin",
        ),
        Query("one flight by id", FLIGHTS, f"SELECT * FROM {FLIGHTS} WHERE flight_id = 123456"),
        Query(
            "an aircraft's day",
            FLIGHTS,
            f"SELECT time_hour, origin, dest, arr_delay FROM {FLIGHTS} WHERE tailnum = 'N14228' "
            "AND time_hour >= TIMESTAMP '2013-06-14 00:00:00' AND time_hour < TIMESTAMP '2013-06-21 00:00:00' "
            "ORDER BY time_hour",
        ),
        Query(
            f"IN with {len(flight_ids)} values",
            FLIGHTS,
            f"SELECT dest, count(*) AS flights FROM {FLIGHTS} WHERE flight_id IN ({ids}) GROUP BY dest ORDER BY dest",
        ),
        Query(
            "LIKE 'jvm.000%'",
            METRICS,
            f"SELECT name, max(value) AS peak FROM {METRICS} WHERE name LIKE 'jvm.000%' GROUP BY name ORDER BY name",
        ),
        Query(
            "distinct tag values",
            METRICS,
            f"SELECT DISTINCT tags['type'] AS type FROM {METRICS} WHERE {window} ORDER BY type",
        ),
        Query(
            "distinct, tag filtered",
            METRICS,
            f"SELECT DISTINCT tags['type'] AS type FROM {METRICS} "
            f"WHERE {window} AND tags['type'] = 'timer' ORDER BY type",
        ),
    ]
