# SPDX-License-Identifier: Apache-2.0
"""Results of the procedures of append ingestion, which ``print`` and notebooks show as small tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeVar

from zonemap.common.errors import ZonemapError
from zonemap.session.rows import OneRow
from zonemap.show.tables import Shown

_RowT = TypeVar("_RowT", bound="_Row")


@dataclass(frozen=True)
class _Row:
    """One of the rows that a procedure returned; columns without a field of the class are dropped."""

    @classmethod
    def of_rows(cls, table: str, rows: Iterable[Mapping[str, Any]]) -> tuple[Self, ...]:
        """Reads rows.

        Raises:
            ZonemapError: a column is missing.
        """
        names = [field.name for field in fields(cls)]
        found = list(rows)
        for row in found:
            missing = [name for name in names if name not in row]
            if missing:
                raise ZonemapError(
                    f"Cannot read the result for '{table}': column {', '.join(missing)} is missing. "
                    "Use a jar and a Python package of the same version ('zonemap doctor')."
                )
        return _Rows(cls(**{name: row[name] for name in names}) for row in found)

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields by name, ready for JSON."""
        return asdict(self)


class _Rows(tuple[_RowT, ...], Shown):
    """The rows of a procedure: a tuple."""

    __slots__ = ()

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", [row.as_dict() for row in self]


@dataclass(frozen=True)
class IngestStatus(OneRow):
    """Result of ``status``: the queue of a table and its committers.

    Attributes:
        table: The table as named in the call.
        pending_records: Records that wait for a committer.
        pending_bytes: Size of these records.
        oldest_pending_seconds: Age of the oldest of them; -1 if there is none.
        quarantined: Records that cannot be committed.
        lanes: Producers whose records were committed.
        committed_records: Records committed since the first commit.
        committed_files: Data files of these records.
        committed_rows: Rows of these records.
        paused: Reason of the pause; empty if there is none.
        last_pass_seconds: Age of the last look of a committer at the queue; -1 if there was none.
        last_pass_outcome: Result of that look.
        last_pass_committer: Process of that committer.
        loop: The committer of this driver: "running", "failing: <why>", "ended: <why>", or empty.
        root: Folder of the queue.
        queue: "spool", or "kafka" with the topic and the brokers.
        queue_id: Incarnation of the queue.
        pointer: The committed state.
        problem: Why records are not committed, or an alarm; empty if all is well.
        warning: Why only one process may write to the table, or why its Kafka topic may lose appends; or empty.
    """

    pending_records: int
    pending_bytes: int
    oldest_pending_seconds: int
    quarantined: int
    lanes: int
    committed_records: int
    committed_files: int
    committed_rows: int
    paused: str
    last_pass_seconds: int
    last_pass_outcome: str
    last_pass_committer: str
    loop: str
    root: str
    queue: str
    queue_id: str
    pointer: str
    problem: str
    warning: str


@dataclass(frozen=True)
class CommittedBranch(_Row):
    """Result of ``commit`` for one branch.

    Attributes:
        branch: The branch.
        outcome: "committed", "idle", "paused", "fenced", "unresolved" or "stopped".
        snapshot_id: The newest snapshot of the call; -1 without a commit.
        records: Records committed.
        files: Data files committed.
        rows: Rows committed.
        refused: Records that cannot be committed.
        held: Records that wait for an earlier record of their lane.
        pending: Records that are left in the queue.
        message: The reason of the outcome; empty if there is none.
    """

    branch: str
    outcome: str
    snapshot_id: int
    records: int
    files: int
    rows: int
    refused: int
    held: int
    pending: int
    message: str


@dataclass(frozen=True)
class AwaitedRecord(_Row):
    """Result of ``wait`` for one record.

    Attributes:
        lane: The lane of the record.
        seq: Its number in the lane.
        state: "visible", "quarantined", "rolled-back", "pending" if the time was over, or "unknown".
        message: The reason of a quarantine; otherwise empty.
    """

    lane: str
    seq: int
    state: str
    message: str


@dataclass(frozen=True)
class QuarantinedRecord(_Row):
    """A record that cannot be committed.

    Attributes:
        lane: The lane of the record.
        seq: Its number in the lane.
        code: The code of the reason.
        message: The reason.
        at_ms: When the record was refused, in milliseconds since 1970.
        rows: Number of its rows; -1 if the record cannot be read.
        files: Number of its data files; -1 if the record cannot be read.
    """

    lane: str
    seq: int
    code: str
    message: str
    at_ms: int
    rows: int
    files: int


@dataclass(frozen=True)
class RequeuedRecord(_Row):
    """Result of ``requeue``: where the record is now.

    Attributes:
        lane: The new lane.
        seq: The number in it.
        branch: The branch that the record is for.
    """

    lane: str
    seq: int
    branch: str


@dataclass(frozen=True)
class GarbageDataFile(_Row):
    """A file that ``gc`` lists or has deleted.

    Attributes:
        path: Location of the file.
        bytes: Size of the file.
        reason: Why the file is not needed.
    """

    path: str
    bytes: int
    reason: str
