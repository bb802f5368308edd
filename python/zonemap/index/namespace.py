# SPDX-License-Identifier: Apache-2.0
"""The indexes of all Iceberg tables of a namespace, and what a driver knows of all tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.index import arguments
from zonemap.index import progress as bars
from zonemap.results import BuildResults, PlannedScans, StatusResults
from zonemap.session.calls import collect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Namespace:
    """The indexes of the Iceberg tables of a namespace. The error of a table is the ``problem`` of its result.

    Args:
        spark: A session with the extension (see ``zonemap.configure``), classic or Connect.
        namespace: The namespace with its catalog, such as "lake.db".

    Raises:
        InvalidArgumentError: ``namespace`` is not such a name.
    """

    def __init__(self, spark: SparkSession, namespace: str) -> None:
        self._literal = identifiers.literal(namespace)
        self._spark = spark
        self._namespace = namespace

    def __repr__(self) -> str:
        return f"Namespace({self._namespace!r})"

    def build(
        self,
        *,
        facts: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        estimate: bool = False,
        max_fact_share: float | None = None,
        footers: int | None = None,
        footer_seconds: int | None = None,
        progress: bool = False,
    ) -> BuildResults:
        """Indexes the current snapshot of each table; the arguments and errors are those of ``Index.build``."""
        given = arguments.of_build(facts, columns, estimate, max_fact_share, footers, footer_seconds)
        return self._indexed("build_index", "building", given, progress)

    def refresh(
        self, *, footers: int | None = None, footer_seconds: int | None = None, progress: bool = False
    ) -> BuildResults:
        """Extends the index of each table; the arguments and errors are those of ``Index.refresh``."""
        return self._indexed("refresh_index", "refreshing", arguments.of_footers(footers, footer_seconds), progress)

    def status(self) -> StatusResults:
        """Returns how far the index of each table covers it. The verdict of a table that cannot be shown is "error"."""
        return _statuses(self._spark, f"namespace => {self._literal}", self._namespace)

    def _indexed(self, procedure: str, doing: str, given: str, progress: bool) -> BuildResults:
        sql = f"CALL zonemap.system.{procedure}(namespace => {self._literal}{given})"
        description = f"{doing} the tables of {self._namespace}"
        with bars.shown(self._spark, description, wanted=checked.flag("progress", progress)):
            return BuildResults.from_rows(self._namespace, collect(self._spark, procedure, sql, self._namespace))


def index_status(spark: SparkSession) -> StatusResults:
    """Returns the status of the index of each table that the driver has queried or indexed. Changes nothing.

    Args:
        spark: A session with the extension, classic or Connect.

    Raises:
        ZonemapError: The session does not have the extension.
    """
    return _statuses(spark, "", "all tables")


def planned_scans(spark: SparkSession, *, max_scans: int = 100) -> PlannedScans:
    """Returns the newest scans that the driver planned: files and bytes before and after, or why Iceberg planned.

    Args:
        spark: A session with the extension, classic or Connect.
        max_scans: The most scans.

    Raises:
        InvalidArgumentError: ``max_scans`` is not a whole number from 0.
        ZonemapError: The session does not have the extension.
    """
    most = f"max_scans => {checked.count('max_scans', max_scans, 'scans')}"
    statement = f"CALL zonemap.system.planned_scans({most})"
    return PlannedScans.from_rows(collect(spark, "planned_scans", statement, "all tables"))


def _statuses(spark: SparkSession, given: str, of: str) -> StatusResults:
    statement = f"CALL zonemap.system.index_status({given})"
    return StatusResults.from_rows(of, collect(spark, "index_status", statement, of))
