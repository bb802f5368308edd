# SPDX-License-Identifier: Apache-2.0
"""The end of a lane, as its pending records and its watermark show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Stored:
    """A record in the spool, as its file name and size show it."""

    seq: int
    nonce: str
    location: str
    size: int


@dataclass(frozen=True)
class Pending:
    """A record that waits; ``prev_seq`` is None if it cannot be read."""

    stored: Stored
    prev_seq: int | None


@dataclass(frozen=True)
class LaneTail:
    """Where a lane goes on.

    Attributes:
        last: The newest number of the lane.
        open: The numbers up to ``last`` of which no record can be read, each with the number before it. A producer
            that repeats one of them appends it again.
        watermark: The newest number that is committed or quarantined.
        readable: A record of each number that has one that can be read.
        gaps: The numbers that the lane has left out: those between the two numbers of a gap.
        forgotten: The last number of the gaps that are no longer listed; -1 without one.
    """

    last: int
    open: Mapping[int, int]
    watermark: int
    readable: Mapping[int, Stored]
    gaps: Sequence[tuple[int, int]] = ()
    forgotten: int = -1

    @classmethod
    def of(
        cls,
        pending: Iterable[Pending],
        watermark: int,
        holes: Iterable[int],
        gaps: Sequence[tuple[int, int]] = (),
        forgotten: int = -1,
    ) -> LaneTail:
        """Follows the chain from the watermark.

        A record that names an older predecessor lies beside the chain, as after two processes wrote to the lane; the
        committer refuses it, and it does not count. A record that cannot be read counts.
        """
        last = watermark
        unreadable: dict[int, int] = {}
        readable: dict[int, Stored] = {}
        for seq, same in groupby(
            sorted(pending, key=lambda record: record.stored.seq), lambda record: record.stored.seq
        ):
            group = list(same)
            found = [record for record in group if record.prev_seq is not None]
            if found:
                readable[seq] = found[0].stored
            elif seq > watermark:
                unreadable[seq] = last
            if seq > last and any(record.prev_seq is None or record.prev_seq >= last for record in group):
                last = seq
        # The committer does not look at the number before that of a hole.
        filled = {seq: seq - 1 for seq in holes if seq not in readable}
        return cls(last, filled | unreadable, watermark, readable, gaps, forgotten)

    def had(self, seq: int) -> bool:
        """Returns False if the lane is past the number and had no record of it."""
        return seq <= self.watermark and not any(after < seq < before for after, before in self.gaps)
