# SPDX-License-Identifier: Apache-2.0
"""The scans that a driver planned: their files and bytes before and after each step, or why Iceberg planned them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from zonemap.common import argument_checks as checked
from zonemap.session.calls import call, collect
from zonemap.session.rows import Rows, read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class PlanStage:
    """The files and bytes before and after one step of a plan.

    Attributes:
        stage: "partitions", "bounds", "join keys", "top-k bound", "facts", "limit" or "aggregates".
        text: The step with the values of its query, such as "bounds of user_id".
        files_before, files_after: Files that the step received, and those that it kept.
        bytes_before, bytes_after: Their sizes; -1 if the size of some file is not in memory.
    """

    stage: str
    text: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        return f"{self.text}: {self.files_before:,} -> {self.files_after:,}"


@dataclass(frozen=True)
class PlannedScan:
    """A scan in ``history``.

    Attributes:
        planned_at: When its plan was complete.
        table: The table that it reads.
        snapshot_id: The snapshot that it reads.
        mode: "EXACT", "HYBRID" or "STOCK".
        tier: Where the segments were: "hot", "cold" or "both"; empty if Iceberg planned.
        reason: Why Iceberg planned; empty if the index did.
        files_considered: Live files; -1 if Iceberg planned.
        files_after_bounds: Files that partitions and bounds kept; -1 if Iceberg planned.
        files_kept: Planned files; -1 if Iceberg planned.
        bytes_considered: Size of all live files by the snapshot's summary; -1 if Iceberg planned.
        bytes_kept: Size of the planned files; -1 if Iceberg planned.
        rows_considered: Rows of all live files by the snapshot's summary; -1 if Iceberg planned.
        rows_kept: Rows of the planned files, deleted rows included; -1 if Iceberg planned.
        facts: Facts that some of these files have.
        predicate: The condition that the index evaluated.
        top_k: The bound of the first rows; empty without one.
        limit: Rows of a LIMIT that left out files; else -1.
        milliseconds: Time from the request to the last task.
        runs: Executions of the query, those that failed included; 0 if it was only planned, as by EXPLAIN.
        stages: The steps of the plan in order; empty unless the query was explained, or executed with `stages.enabled`.
    """

    planned_at: datetime
    table: str
    snapshot_id: int
    mode: str
    tier: str
    reason: str
    files_considered: int
    files_after_bounds: int
    files_kept: int
    bytes_considered: int
    bytes_kept: int
    rows_considered: int
    rows_kept: int
    facts: str
    predicate: str
    top_k: str
    limit: int
    milliseconds: float
    runs: int
    stages: tuple[PlanStage, ...] = ()

    def summary(self) -> dict[str, Any]:
        """Returns the columns with the stages as one text, for people."""
        return asdict(self) | {"stages": "; ".join(str(stage) for stage in self.stages)}


@dataclass(frozen=True)
class HistoryResult(Rows):
    """Result of ``history``: scans of the driver, the newest first."""

    scans: tuple[PlannedScan, ...]

    @property
    def ran(self) -> HistoryResult:
        """The scans of queries that were executed, without those that were only planned."""
        return HistoryResult(tuple(scan for scan in self.scans if scan.runs > 0))

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the scans, ready for JSON."""
        return [asdict(scan) for scan in self.scans]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the scans for people, without the columns that have nothing in any scan."""
        return _without_empty_columns([scan.summary() for scan in self.scans])

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        heading = "" if self.scans else "The driver has planned no such scan yet. Run a query first."
        return heading, self.summaries()


def history(spark: SparkSession, table: str | None = None, *, max_scans: int = 100) -> HistoryResult:
    """Returns the newest scans that the driver planned, of ``table`` or of all tables.

    Args:
        spark: The session.
        table: The table's name; None: all tables.
        max_scans: The most scans.

    Raises:
        InvalidArgumentError: ``max_scans`` is not a whole number from 0.
    """
    most = f"max_scans => {checked.count('max_scans', max_scans, 'scans')}"
    if table is None:
        rows = collect(spark, "history", f"CALL zonemap.system.history({most})", "all tables")
    else:
        rows = call(spark, "history", table, f", {most}")
    return HistoryResult(tuple(_scan(row) for row in rows))


def _without_empty_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns rows without the columns that have nothing in any row."""
    kept = [name for name in (rows[0] if rows else ()) if any(row[name] not in ("", -1) for row in rows)]
    return [{name: row[name] for name in kept} for row in rows]


def _scan(row: Mapping[str, Any]) -> Any:
    stages = (stage.asDict() if hasattr(stage, "asDict") else stage for stage in row["stages"])
    return replace(read(PlannedScan, row), stages=tuple(read(PlanStage, stage) for stage in stages))
