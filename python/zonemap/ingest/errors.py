# SPDX-License-Identifier: Apache-2.0
"""The exceptions of ingestion; all are ZonemapErrors."""

from zonemap.common.errors import ZonemapError


class BackPressureError(ZonemapError):
    """The spool of the table is full; nothing was written. Write again once the committer has caught up."""


class EnqueueUnknownError(ZonemapError):
    """The storage failed while it stored a record, which may or may not be durable.

    Repeat the write of the same data with ``seq=error.seq`` on the same lane: the first durable record wins.

    Attributes:
        lane: The lane of the record.
        seq: The sequence number of the record.
    """

    def __init__(self, message: str, lane: str, seq: int) -> None:
        super().__init__(message)
        self.lane = lane
        self.seq = seq


class RecordError(ZonemapError):
    """The bytes of a record or of a state file are damaged or of an unknown version."""


class WaitTimeoutError(ZonemapError, TimeoutError):
    """A record was neither visible nor quarantined when the timeout ended; the record is still in the spool."""
