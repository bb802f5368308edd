# SPDX-License-Identifier: Apache-2.0
"""The queries of the demo, which are SQL conditions that PyIceberg and Spark both parse."""

from __future__ import annotations

from dataclasses import dataclass

from demo.lake import EVENTS, FLIGHTS

#: Data files of the table of metadata alone. PyIceberg itself plans them in about ten seconds.
EVENTS_FILES = 50_000


@dataclass(frozen=True)
class Query:
    """A scan of one table.

    Attributes:
        title: The kind of scan.
        table: The table, by its name in Spark.
        where: The condition.
        is_read: Whether the data files exist, so that the rows are compared.
    """

    title: str
    table: str
    where: str
    is_read: bool


QUERIES = (
    Query("one flight by id", FLIGHTS, "flight_id = 123456", True),
    Query("newest hours", FLIGHTS, "time_hour >= '2013-12-31T22:00:00+00:00'", True),
    Query("an aircraft's week", FLIGHTS, "tailnum = 'N14228' AND flight_id >= 80000 AND flight_id < 90000", True),
    Query("a range of ids", EVENTS, "event_id >= 10000000 AND event_id < 10100000", False),
)


@dataclass(frozen=True)
class Planned:
    """The plans of one query by one planner.

    Attributes:
        files: The paths of the planned data files, sorted.
        rows: The flight ids of the returned rows, sorted; empty if the data files do not exist.
        millis: The wall time of a plan, the median of all plans, in milliseconds.
    """

    files: list[str]
    rows: list[int]
    millis: float


@dataclass(frozen=True)
class Comparison:
    """The plans of one query by a client.

    Attributes:
        client: The client.
        query: The query.
        own: The client's own plan, from the manifests.
        served: The plan of the server.
    """

    client: str
    query: Query
    own: Planned
    served: Planned

    @property
    def failure(self) -> str:
        """Why this query failed the check; empty if it succeeded."""
        if self.own.rows != self.served.rows:
            return "rows differ between the plans"
        if not self.served.files or (self.query.is_read and not self.own.rows):
            return "no rows to compare"
        if not set(self.served.files) <= set(self.own.files):
            return "the server planned files that the client itself prunes"
        return ""
