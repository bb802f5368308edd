# SPDX-License-Identifier: Apache-2.0
"""Results about queries: the scans that a driver planned, why a query reads its files, and checks of its rows."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Self

from rich.text import Text

from zonemap.common import safe_text
from zonemap.session.rows import Rows, read

#: Long lines stay in the notebook's column.
_WRAPPED = ' style="white-space: pre-wrap; overflow-wrap: anywhere"'


@dataclass(frozen=True)
class PlanStep:
    """The files and bytes before and after one step of a plan.

    Attributes:
        step: "partitions", "bounds", "join keys", "top-k bound", "facts", "limit" or "aggregates".
        text: The step with the values of its query, such as "bounds of user_id".
        files_before, files_after: Files that the step received, and those that it kept.
        bytes_before, bytes_after: Their sizes; -1 if the size of some file is not in memory.
    """

    step: str
    text: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        return f"{self.text}: {self.files_before:,} -> {self.files_after:,}"


@dataclass(frozen=True)
class PlannedScan:
    """A scan in ``planned_scans``.

    Attributes:
        planned_at: When its plan was complete.
        table: The table that it reads.
        mode: "EXACT", "HYBRID" or "STOCK".
        files_considered: Live files; -1 if Iceberg planned.
        files_kept: Planned files; -1 if Iceberg planned.
        milliseconds: Time from the request to the last task.
        predicate: The condition that the index evaluated.
        reason: Why Iceberg planned; empty if the index did.
        tier: Where the segments were: "hot", "cold" or "both"; empty if Iceberg planned.
        facts: Facts that some of these files have.
        top_k: The bound of the first rows; empty without one.
        limit: Rows of a LIMIT that pruned files; else -1.
        runs: Executions of the query, those that failed included; 0 if it was only planned, as by EXPLAIN.
        files_after_bounds: Files that partitions and bounds kept; -1 if Iceberg planned.
        bytes_considered: Size of all live files by the snapshot's summary; -1 if Iceberg planned.
        bytes_kept: Size of the planned files; -1 if Iceberg planned.
        rows_considered: Rows of all live files by the snapshot's summary; -1 if Iceberg planned.
        rows_kept: Rows of the planned files, deleted rows included; -1 if Iceberg planned.
        steps: The steps of the plan in order; empty unless the query was explained, or executed with `steps.enabled`.
        snapshot_id: The snapshot that it reads.
    """

    planned_at: datetime
    table: str
    mode: str
    files_considered: int
    files_kept: int
    milliseconds: float
    predicate: str
    reason: str
    tier: str
    facts: str
    top_k: str
    limit: int
    runs: int
    files_after_bounds: int
    bytes_considered: int
    bytes_kept: int
    rows_considered: int
    rows_kept: int
    steps: tuple[PlanStep, ...]
    snapshot_id: int

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first; `files` has the code of the reason if Iceberg planned."""
        is_counted = self.files_considered >= 0
        return {
            "time": _time(self.planned_at),
            "table": self.table,
            "mode": self.mode,
            "files": f"{self.files_considered:,} -> {self.files_kept:,}" if is_counted else self.reason.split(":")[0],
            "ms": f"{self.milliseconds:,.1f}",
            "predicate": self.predicate,
        }


@dataclass(frozen=True)
class PlannedScans(Rows):
    """Result of ``planned_scans``: scans of the driver, the newest first."""

    _has_lines: ClassVar[bool] = True

    scans: tuple[PlannedScan, ...]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Self:
        """Reads the rows of the procedure ``planned_scans``."""
        return cls(tuple(_scan(row) for row in rows))

    @property
    def ran(self) -> PlannedScans:
        """The scans of queries that were executed, without those that were only planned."""
        return PlannedScans(tuple(scan for scan in self.scans if scan.runs > 0))

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the scans, ready for JSON."""
        return [asdict(scan) for scan in self.scans]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the scans with the columns that people read first."""
        return [scan.summary() for scan in self.scans]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        heading = "" if self.scans else "The driver has planned no such scan yet. Run a query first."
        return heading, self.summaries()


@dataclass(frozen=True)
class WhyNotRow:
    """A scan of a query, a condition of it, or an operator above it.

    Attributes:
        scan: Number of the scan in the plan, from 1; 0 if the plan has none.
        table: The table that the scan reads.
        part: "scan", "condition", or an operator such as "top-k bound".
        text: The condition as Spark's optimizer wrote it, or the predicate of the scan.
        became: Mode of the scan, or the predicate that the condition became; empty if nothing.
        decided_by: The partitions, bounds and facts that evaluate the condition.
        files_before: Files before the condition, if conditions are applied one after the other; -1 if not counted.
        files_after: Files after it.
        files_alone: Files that the condition alone keeps.
        code: Stable name of the reason or the effect.
        arguments: Values of the reason by name.
        message: One sentence with numbers.
        remedy: What to do. A statement in it kept clearly fewer files in a trial.
    """

    scan: int
    table: str
    part: str
    text: str
    became: str
    decided_by: str
    files_before: int
    files_after: int
    files_alone: int
    code: str
    message: str
    remedy: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first."""
        files = "" if self.files_before < 0 else f"{self.files_before:,} -> {self.files_after:,}"
        return {
            "scan": self.scan,
            "part": self.part,
            "text": self.text,
            "files": files,
            "alone": "" if self.files_alone < 0 else f"{self.files_alone:,}",
            "code": self.code,
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class WhyNotResult(Rows):
    """Result of ``why_not``: the rows, scan by scan."""

    rows: tuple[WhyNotRow, ...]

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows with all columns, ready for JSON."""
        return [asdict(row) for row in self.rows]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the rows with the columns that people read first."""
        return [row.summary() for row in self.rows]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", self.summaries()


@dataclass(frozen=True)
class Verdict:
    """One check of one query.

    Attributes:
        query: The text of the query.
        check: "pruned files", "rows" or "tasks".
        table: The table of a scan; empty for the rows of the whole query.
        verdict: "equal", "different" or "not checked".
        with_index: Rows that match in pruned files, rows of the query, or planned files; -1 if not counted.
        without_index: Pruned files that were read, rows of the query without the index, or live files.
        detail: What was compared, the difference, or why it was not checked.
    """

    query: str
    check: str
    table: str
    verdict: str
    with_index: int
    without_index: int
    detail: str


@dataclass(frozen=True)
class VerifyResult(Rows):
    """Result of ``verify``.

    Attributes:
        verdicts: One for each check of each query.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def is_right(self) -> bool:
        """True if a check was made and none found a difference."""
        return self.has_checked and not self.has_difference

    @property
    def has_checked(self) -> bool:
        """True if a check was made; false if the index planned none of the scans, for the reasons in the verdicts."""
        return any(verdict.verdict != "not checked" for verdict in self.verdicts)

    @property
    def has_difference(self) -> bool:
        """True if a check found a difference."""
        return any(verdict.verdict == "different" for verdict in self.verdicts)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the verdicts, ready for JSON."""
        return [asdict(verdict) for verdict in self.verdicts]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        heading = "No difference found" if self.is_right else "The index is wrong"
        if not self.has_checked:
            heading = "Nothing was checked"
        return heading, self.as_dicts()


@dataclass(frozen=True)
class Explanation:
    """How the scans of a query were planned.

    Attributes:
        text: The section "Zonemap" of EXPLAIN, without its heading.
        plan: The whole output of EXPLAIN.
    """

    text: str
    plan: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        text, plan = (f"<pre{_WRAPPED}>{html.escape(safe_text.visible(part))}</pre>" for part in (self.text, self.plan))
        return f"{text}<details><summary>Spark's plan</summary>{plan}</details>"

    def __rich__(self) -> Text:
        return Text(safe_text.visible(self.text))


def _time(at: datetime) -> str:
    """Returns a time of today without its date."""
    is_today = at.date() == datetime.now(at.tzinfo).date()
    shown = at.replace(tzinfo=None).isoformat(" ", "seconds")
    return shown.partition(" ")[2] if is_today else shown


def _scan(row: Mapping[str, Any]) -> Any:
    steps = (step.asDict() if hasattr(step, "asDict") else step for step in row["steps"])
    return replace(read(PlannedScan, row), steps=tuple(read(PlanStep, step) for step in steps))
