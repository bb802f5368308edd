# SPDX-License-Identifier: Apache-2.0
"""The demo's queries: plain SQL, each with a title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from demo.lake import CLAIMS, EVENTS, FLIGHTS, METRICS


@dataclass(frozen=True)
class Query:
    """A query to compare.

    Attributes:
        title: The kind of query.
        table: The table that the query reads.
        sql: The statement.
        kind: "query"; "plan" for a query that is planned and not executed; "merge" for a command that is rolled back.
    """

    title: str
    table: str
    sql: str
    kind: str = "query"


def queries(flight_ids: Sequence[int], newest_day: date, aircraft: str) -> list[Query]:
    """Returns the queries.

    Args:
        flight_ids: The values of the IN list.
        newest_day: The last day of metrics.
        aircraft: A tail number that few files hold, of a column with bloom filters.
    """
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
            "AND time_hour >= TIMESTAMP '2013-06-14 00:00:00' AND time_hour < TIMESTAMP '2013-06-21 00:00:00'",
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
        Query(
            "first rows of a sort",
            FLIGHTS,
            f"SELECT flight_id, time_hour, carrier, dest FROM {FLIGHTS} ORDER BY time_hour DESC, flight_id LIMIT 10",
        ),
        Query(
            "function of a column",
            FLIGHTS,
            f"SELECT carrier, count(*) AS flights FROM {FLIGHTS} "
            "WHERE date_trunc('day', time_hour) = TIMESTAMP '2013-07-04 00:00:00' GROUP BY carrier ORDER BY carrier",
        ),
        Query(
            "one aircraft, by a fact",
            FLIGHTS,
            f"SELECT flight_id, time_hour, dest FROM {FLIGHTS} WHERE tailnum = '{aircraft}'",
        ),
        Query(
            "join on flight_id",
            FLIGHTS,
            f"SELECT f.carrier, count(*) AS claims, sum(f.arr_delay) AS minutes FROM {FLIGHTS} f "
            f"JOIN {CLAIMS} c ON f.flight_id = c.flight_id WHERE c.reason = 'weather' GROUP BY f.carrier "
            "ORDER BY f.carrier",
        ),
        Query(
            "count and extremes",
            FLIGHTS,
            f"SELECT count(*) AS flights, min(time_hour) AS first, max(time_hour) AS last FROM {FLIGHTS} "
            "WHERE flight_id > 50000",
        ),
        Query(
            "MERGE of 40 claims",
            FLIGHTS,
            f"MERGE INTO {FLIGHTS} f USING {CLAIMS} c ON f.flight_id = c.flight_id "
            "WHEN MATCHED THEN UPDATE SET arr_delay = c.arr_delay",
            kind="merge",
        ),
        Query(
            "plan of 200,000 files",
            EVENTS,
            f"SELECT * FROM {EVENTS} WHERE event_id BETWEEN 100000000 AND 100099999",
            kind="plan",
        ),
    ]
