"""Lanes of writers that name none: each has a new name, and the committer retires it after its last record."""

from __future__ import annotations

import time

from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import lanes

#: A writer uses a drawn lane for this long after it was drawn, or after its last record. The committer lists the lane
#: for two hours.
IDLE_MINUTES = 30


class DrawnLane:
    """A lane whose name one writer has drawn.

    Args:
        number: The number of the pointer of the branch, from metadata that was loaded just now.
        first: The smallest number of a record of this lane.
    """

    def __init__(self, number: int, *, first: int = 0) -> None:
        self.name = lanes.draw(number)
        self.first = first
        self.used()

    def used(self) -> None:
        """Notes that the lane has a new record."""
        self._used_at = _clocks()

    def is_idle(self) -> bool:
        """Returns True if the lane must not get another record."""
        return any(now - then >= IDLE_MINUTES * 60 for now, then in zip(_clocks(), self._used_at, strict=True))

    def check(self, table: str, seq: int | None, following: int) -> None:
        """Raises if the record of a number may be in a lane that the committer has retired.

        Args:
            table: The name of the table, for people.
            seq: The number; None if the writer chooses it.
            following: A number that is greater than all numbers so far.

        Raises:
            ZonemapError: the number cannot be repeated.
        """
        if seq is not None and seq < (following if self.is_idle() else self.first):
            raise ZonemapError(
                f"Cannot write the record {seq} to '{table}': this writer has no lane of its own, and a number can be "
                f"repeated for {IDLE_MINUTES} minutes only. Look the rows up in the table, and give the writer a lane= "
                "if it repeats numbers."
            )


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


def _clocks() -> tuple[float, float]:
    """Returns two clocks in seconds: one stands still while a machine is suspended, and the other one may be set."""
    return time.monotonic(), time.time()
