# SPDX-License-Identifier: Apache-2.0
"""The receipt of a write, which waits until the rows are visible."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from zonemap.common import argument_checks as checked
from zonemap.ingest import state
from zonemap.ingest.errors import WaitTimeoutError

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from zonemap.ingest.spool import Spool

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True)
class Outcome:
    """The end of a record: visible, quarantined or rolled back.

    Attributes:
        status: "visible" if the rows are in the table's current branch, "quarantined" if the committer refused them,
            "rolled-back" if they were in the branch, and it does not have their snapshot any more.
        code: The code of the refusal; otherwise empty.
        message: Why the record was refused; otherwise empty.
    """

    status: Literal["visible", "quarantined", "rolled-back"]
    code: str = ""
    message: str = ""

    @property
    def visible(self) -> bool:
        """True if the rows are in the table."""
        return self.status == "visible"


VISIBLE = Outcome("visible")
ROLLED_BACK = Outcome("rolled-back")


class Watch:
    """Reads the outcome of records from the table and its spool. Not thread-safe."""

    def __init__(self, reload: Callable[[], Table], spool: Spool) -> None:
        self._reload = reload
        self._spool = spool
        self._pointers: dict[str, str] = {}
        self._state = state.NOTHING

    def outcome(self, lane: str, seq: int, nonce: str) -> Outcome | None:
        """Returns the outcome of a record; None while it waits. An empty nonce means the first of its number."""
        metadata = self._reload().metadata
        pointers = state.pointers(metadata)
        if pointers != self._pointers:
            self._state = state.load(self._spool, pointers, str(metadata.table_uuid))
            self._pointers = pointers
        # A record is in quarantine before it leaves the spool, therefore the spool is listed first.
        is_retired = self._state.is_retired(lane)
        waits = (is_retired or self._state.is_forgotten(lane, seq)) and any(
            stored.seq == seq and nonce in {"", stored.nonce} for stored in self._spool.lane(lane)
        )
        # A reason leaves the state only after it is in the quarantine, therefore the quarantine is read second.
        reason = self._spool.quarantine_reason(lane, seq, nonce)
        if reason is not None and reason.requeued is not None:
            again, copy = reason.requeued
            return self.outcome(again, 0, copy)
        refusal = (reason.code, reason.message) if reason is not None else self._state.refusal(lane, seq, nonce)
        if refusal is not None:
            return Outcome("quarantined", *refusal)
        # The record was appended, and neither the spool nor the quarantine has it. A receipt without a nonce is made of
        # a number that is settled.
        is_settled = self._state.is_settled(lane, seq) or is_retired
        if not is_settled or waits:
            return None
        return ROLLED_BACK if state.is_rolled_back(self._spool, metadata, lane, seq) else VISIBLE


@dataclass(frozen=True)
class Receipt:
    """An accepted write: its record is durable, and will be committed once or quarantined with a reason.

    Attributes:
        lane: The lane of the record.
        seq: Its number in the lane; -1 if there were no rows, so that nothing was written.
        nonce: The random part of the record's name; empty if the record of this number has left the spool.
        rows: Number of rows.
        bytes: Size of the data files.
        files: Locations of the data files.
        record: Location of the record; empty if there is none in the spool.
        duplicate: True if the lane already had a record of this number. Nothing was written, and the fields describe
            that record; rows, bytes and files are empty if it has left the spool.
    """

    lane: str
    seq: int
    nonce: str
    rows: int
    bytes: int
    files: tuple[str, ...]
    record: str
    duplicate: bool = False
    _watch: Watch | None = field(default=None, repr=False, compare=False)

    def outcome(self) -> Outcome | None:
        """Returns the outcome of the record; None while it waits. Loads the table's metadata once."""
        if self._watch is None:
            return VISIBLE
        return self._watch.outcome(self.lane, self.seq, self.nonce)

    def wait(self, timeout: float = 60.0) -> Outcome:
        """Returns once the record is visible, quarantined or rolled back.

        Reads the table's metadata at most once a second.

        Raises:
            InvalidArgumentError: ``timeout`` is not a number above 0.
            WaitTimeoutError: the record still waits after ``timeout`` seconds; it stays in the spool.
        """
        until = time.monotonic() + checked.positive("timeout", timeout, "seconds")
        pause = _FIRST_PAUSE
        while (found := self.outcome()) is None:
            left = until - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(
                    f"Cannot see the record {self.seq} of lane '{self.lane}' in the table after {timeout:g} seconds: "
                    "it waits for the committer. Check ingest_status, and that a committer runs (zonemap commit-loop)."
                )
            time.sleep(min(pause, left))
            pause = min(_LONGEST_PAUSE, pause * 2)
        return found
