# SPDX-License-Identifier: Apache-2.0
"""The sorted boundaries of a column, by which codes stand for values (docs/design/FORMAT.md, section 4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.wire import Cursor

_MOST_BOUNDARIES = 32767

#: A value in the encoding of its column: a number, or bytes in unsigned order.
Value: TypeAlias = int | bytes


class LongDictionary:
    """Boundaries of a column of numbers."""

    def __init__(self, head: Cursor) -> None:
        self.size = _size(head, 8)
        self.values = np.frombuffer(head.raw(8 * self.size), dtype="<i8").astype(np.int64)
        if (self.values[1:] <= self.values[:-1]).any():
            raise DamagedError("boundaries that do not ascend")

    def codes(self, values: Sequence[Value]) -> list[int]:
        """Returns the codes of values, which ascend."""
        numbers = np.array(values, dtype=np.int64)
        places = np.searchsorted(self.values, numbers, side="left")
        ends = np.searchsorted(self.values, numbers, side="right")
        codes: list[int] = (places + ends).tolist()
        return codes

    def boundary(self, ordinal: int) -> Value:
        """Returns a boundary."""
        return int(self.values[ordinal])


class BytesDictionary:
    """Boundaries of a column of bytes."""

    def __init__(self, head: Cursor) -> None:
        self.size = _size(head, 4)
        offsets = np.frombuffer(head.raw(4 * (self.size + 1)), dtype="<u4").astype(np.int64)
        if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
            raise DamagedError("offsets of boundaries that do not ascend")
        self._offsets = offsets.tolist()
        self._data = head.raw(self._offsets[-1])

    def codes(self, values: Sequence[Value]) -> list[int]:
        """Returns the codes of values, which ascend."""
        codes = []
        places = range(self.size)
        for value in values:
            place = bisect_left(places, value, key=self.boundary)
            codes.append(2 * place + (place < self.size and self.boundary(place) == value))
        return codes

    def boundary(self, ordinal: int) -> Value:
        """Returns a boundary."""
        return self._data[self._offsets[ordinal] : self._offsets[ordinal + 1]]


Dictionary: TypeAlias = LongDictionary | BytesDictionary


def _size(head: Cursor, item_bytes: int) -> int:
    size = head.u32()
    if size > _MOST_BOUNDARIES or size * item_bytes > head.remaining:
        raise DamagedError(f"{size} boundaries in {head.remaining} bytes")
    return size
