# SPDX-License-Identifier: Apache-2.0
"""Back-pressure: writers wait, or fail, while the spool holds more records than the committer takes away."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from zonemap.common import argument_checks as checked
from zonemap.common.errors import InvalidArgumentError
from zonemap.ingest import lanes
from zonemap.ingest.errors import BackPressureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from zonemap.ingest.spool import Backlog, Spool

_LONGEST_PAUSE = 0.5
_SHARE = 8
# The lanes that fill the spool for a writer of another lane, if none of them goes on.
_LANES_TO_FILL = 4


@dataclass(frozen=True)
class BackPressure:
    """How many records may wait for the committer, over all writers of a table.

    At a soft limit a write waits for at most ``soft_wait`` seconds and then goes on; at a hard limit it fails. Of the
    records of another lane, a writer counts a quarter of the limit at most, so that a single lane that is stuck does
    not stop the writers of the others.

    Attributes:
        soft_records: Records from which writes wait.
        hard_records: Records from which writes fail.
        soft_bytes: Bytes of records from which writes wait.
        hard_bytes: Bytes of records from which writes fail.
        soft_wait: Longest wait of one write, in seconds.
        listing_interval: The spool is listed at most this often while few records wait, in seconds.

    Raises:
        InvalidArgumentError: a number is not above 0, or a soft limit is above its hard limit.
    """

    soft_records: int = 1_000
    hard_records: int = 10_000
    soft_bytes: int = 64 * 1024 * 1024
    hard_bytes: int = 512 * 1024 * 1024
    soft_wait: float = 10.0
    listing_interval: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            checked.positive(name, value, "records, bytes or seconds")
        for kind in ("records", "bytes"):
            soft, hard = getattr(self, f"soft_{kind}"), getattr(self, f"hard_{kind}")
            if soft > hard:
                raise InvalidArgumentError(f"Cannot use soft_{kind}={soft}: it is above hard_{kind}={hard}. Lower it.")


class Gate:
    """Admits writes of one writer; estimates the backlog between listings from the writer's own records."""

    def __init__(
        self,
        spool: Spool,
        limits: BackPressure,
        *,
        lane: str,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.use(lane)
        self._spool = spool
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._backlog: Backlog | None = None
        self._listed_at = 0.0
        self._own = 0
        self._own_bytes = 0

    def use(self, lane: str) -> None:
        """Sets the lane of the writer."""
        self._folder = lanes.folder(lane)

    def admit(self) -> None:
        """Returns when the next record may be written.

        Raises:
            BackPressureError: a hard limit is reached.
        """
        backlog = self._current()
        until = self._clock() + self._limits.soft_wait
        pause = 0.01
        while True:
            self._refuse(backlog)
            if not self._over_soft(backlog) or self._clock() >= until:
                return
            self._sleep(min(pause, max(0.0, until - self._clock())))
            pause = min(_LONGEST_PAUSE, pause * 2)
            backlog = self._list()

    def added(self, size: int) -> None:
        """Counts a record that this writer has stored."""
        self._own += 1
        self._own_bytes += size

    def _current(self) -> Backlog:
        found = self._backlog
        if found is None or self._clock() - self._listed_at >= self._limits.listing_interval:
            return self._list()
        records = self._counted(found, "records", self._limits.soft_records)
        size = self._counted(found, "bytes", self._limits.soft_bytes)
        room = min(1 - records / self._limits.soft_records, 1 - size / self._limits.soft_bytes)
        own = max(self._own / self._limits.soft_records, self._own_bytes / self._limits.soft_bytes)
        return self._list() if own * _SHARE >= room else found

    def _list(self) -> Backlog:
        self._backlog = self._spool.backlog()
        self._listed_at = self._clock()
        self._own = self._own_bytes = 0
        return self._backlog

    def _counted(self, backlog: Backlog, kind: Literal["records", "bytes"], limit: int) -> int:
        """Returns the records or bytes that count against a limit for a writer of this lane."""
        if not backlog.lanes:
            return backlog.records if kind == "records" else backlog.bytes
        share = max(1, limit // _LANES_TO_FILL)
        sizes = {folder: found[0 if kind == "records" else 1] for folder, found in backlog.lanes.items()}
        return sum(size if folder == self._folder else min(size, share) for folder, size in sizes.items())

    def _over_soft(self, backlog: Backlog) -> bool:
        return (
            self._counted(backlog, "records", self._limits.soft_records) >= self._limits.soft_records
            or self._counted(backlog, "bytes", self._limits.soft_bytes) >= self._limits.soft_bytes
        )

    def _refuse(self, backlog: Backlog) -> None:
        limits: tuple[tuple[Literal["records", "bytes"], int, int], ...] = (
            ("records", backlog.records, self._limits.hard_records),
            ("bytes", backlog.bytes, self._limits.hard_bytes),
        )
        for kind, found, limit in limits:
            if self._counted(backlog, kind, limit) >= limit:
                raise BackPressureError(
                    f"Cannot write to the spool '{self._spool.location}': {found:,} {kind} wait for the committer, and "
                    f"the limit is {limit:,}. Start a committer (zonemap commit-loop), or raise hard_{kind}."
                )
