# SPDX-License-Identifier: Apache-2.0
"""Lanes of writers that name none: each has a new name, and the committer retires it hours after it was drawn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import lanes, state

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

#: A writer appends to a lane for this long after it was drawn. The committer lists the lane for two hours.
GREATEST_MINUTES = 30

#: New records go to another lane from this age on, so that a number can be repeated for ten minutes at least.
NEW_MINUTES = 20


class DrawnLane:
    """A lane whose name one writer has drawn.

    Args:
        metadata: That of the table.
        since: Both clocks from before the metadata was loaded.
        first: The smallest number of a record of this lane.
    """

    def __init__(self, metadata: TableMetadata, since: tuple[float, float], *, first: int = 0) -> None:
        self.name = lanes.draw(state.number(metadata), state.BRANCH)
        self.first = first
        self._since = since

    def is_old(self, minutes: float) -> bool:
        """Returns True if the lane was drawn that many minutes ago, by one of the clocks."""
        return any(now - then >= minutes * 60 for now, then in zip(clocks(), self._since, strict=True))

    def check(self, table: str, seq: int | None, following: int) -> None:
        """Raises if the record of a number may be in a lane that the committer has retired.

        Args:
            table: The name of the table, for people.
            seq: The number; None if the writer chooses it.
            following: A number that is greater than all numbers so far.

        Raises:
            ZonemapError: the number cannot be repeated.
        """
        if seq is not None and seq < (following if self.is_old(GREATEST_MINUTES) else self.first):
            raise ZonemapError(
                f"Cannot write the record {seq} to '{table}': this writer has no lane of its own, and a number can be "
                f"repeated for {GREATEST_MINUTES - NEW_MINUTES} minutes only. Look the rows up in the table, and give "
                "the writer a lane= if it repeats numbers."
            )

    def takes(self, seq: int | None, following: int) -> bool:
        """Returns False if the record must go to another lane; the arguments are those of ``check``."""
        is_repeated = seq is not None and seq < following
        return not self.is_old(GREATEST_MINUTES if is_repeated else NEW_MINUTES)


def refuse(lane: str) -> None:
    """Raises if a user names a lane that a writer draws.

    Raises:
        InvalidArgumentError: the name has the form of a drawn one.
    """
    if lanes.drawn_at(lane) is not None:
        raise InvalidArgumentError(
            f"Cannot use lane={lane!r}: a writer draws a name of this form, uses it alone, and the committer retires "
            "it. Give the lane another name."
        )


def clocks() -> tuple[float, float]:
    """Returns two clocks in seconds: one stands still while a machine is suspended, and the other one may be set."""
    return time.monotonic(), time.time()
