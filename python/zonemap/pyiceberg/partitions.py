# SPDX-License-Identifier: Apache-2.0
"""The partition tuples of a segment (docs/design/FORMAT.md, "Partitions")."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.wire import Cursor

_LEAST_BYTES = 5
_MOST_SCALE, _MOST_DECIMAL_BYTES = 1000, 64
_I32 = struct.Struct("<i")

#: The payload lengths of tags; tags 6, 7 and 8 have a length of their own.
_FIXED_BYTES = {0: 0, 1: 1, 2: 4, 3: 8, 4: 4, 5: 8, 9: 16}
_TEXT, _BINARY, _DECIMAL = 6, 7, 8


class Partitions:
    """Finds where each tuple begins, and decodes only the tuples that are used.

    Args:
        data: the section.
        most: the largest number of tuples that the section may state.
    """

    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        cursor = Cursor(data)
        count = cursor.count(_LEAST_BYTES, most)
        self._starts: Sequence[int] = _alike(data, cursor.position, count) or _different(data, cursor.position, count)

    def __len__(self) -> int:
        return len(self._starts)

    def spec_id(self, ordinal: int) -> int:
        """The spec of a tuple."""
        found: int = _I32.unpack_from(self._data, self._start(ordinal))[0]
        return found

    def values(self, ordinal: int, count: int) -> list[Any]:
        """Returns the values of a tuple, as PyIceberg has them in a record of a manifest.

        Args:
            ordinal: the place of the tuple.
            count: the number of fields of its spec.
        """
        cursor = Cursor(self._data)
        cursor.position = self._start(ordinal) + 4
        found = cursor.count(1)
        if found != count:
            raise DamagedError(f"a partition tuple of {found} values for a spec of {count} fields")
        return [_value(cursor) for _ in range(count)]

    def _start(self, ordinal: int) -> int:
        if not 0 <= ordinal < len(self._starts):
            raise DamagedError(f"partition {ordinal} of {len(self._starts)}")
        return self._starts[ordinal]


def _alike(data: bytes, first: int, count: int) -> range | None:
    """Returns where each tuple begins if all have one layout, as most tuples without texts do; None otherwise."""
    length, rest = divmod(len(data) - first, count or 1)
    if rest or length < _LEAST_BYTES:
        return None
    layout: list[int] = []
    try:
        if _end(data, first, layout) != first + length:
            return None
    except IndexError:
        return None
    tuples = np.frombuffer(data, dtype=np.uint8, offset=first).reshape(count, length)
    marks = tuples[:, [place - first for place in layout]]
    return range(first, len(data), length) if (marks == marks[0]).all() else None


def _different(data: bytes, first: int, count: int) -> list[int]:
    """Returns where each tuple begins. This loop sees each value of all tuples."""
    starts, position = [], first
    try:
        for _ in range(count):
            starts.append(position)
            position = _end(data, position)
    except IndexError as error:
        raise DamagedError("cut partition tuples") from error
    if position != len(data):
        raise DamagedError("partition tuples that do not fill their section")
    return starts


def _end(data: bytes, position: int, marks: list[int] | None = None) -> int:
    """Returns where a tuple ends; adds to `marks` the places of all bytes that tell this."""
    start, position = position + 4, position + 4
    values, position = _length(data, position)
    if marks is not None:
        marks += range(start, position)
    for _ in range(values):
        start = position
        tag = data[position]
        position += 1
        length = _FIXED_BYTES.get(tag)
        if length is None:
            if tag not in {_TEXT, _BINARY, _DECIMAL}:
                raise DamagedError(f"a partition value of kind {tag}")
            length, position = _length(data, position + 4 if tag == _DECIMAL else position)
        if marks is not None:
            marks += range(start, position)
        position += length
    return position


def _length(data: bytes, position: int) -> tuple[int, int]:
    """Reads a varint; returns it and where it ends."""
    if data[position] < 0x80:
        return data[position], position + 1
    return _varint(data, position)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    cursor = Cursor(data)
    cursor.position = position
    return cursor.varint(), cursor.position


def _value(cursor: Cursor) -> Any:
    return _READERS[cursor.byte()](cursor)


def _number(cursor: Cursor, form: struct.Struct) -> float:
    number: float = form.unpack(cursor.raw(form.size))[0]
    # One object stands for NaN, so that partitions of NaN are equal and have their deletes.
    return math.nan if math.isnan(number) else number


def _uuid(cursor: Cursor) -> UUID:
    # The two halves are numbers, so that their bytes are little-endian.
    return UUID(bytes=cursor.raw(8)[::-1] + cursor.raw(8)[::-1])


def _decimal(cursor: Cursor) -> Decimal:
    scale, unscaled = cursor.i32(), cursor.bytes()
    if abs(scale) > _MOST_SCALE or len(unscaled) > _MOST_DECIMAL_BYTES:
        raise DamagedError("a decimal that is too large")
    number = int.from_bytes(unscaled, "big", signed=True)
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


#: Reads the payload of each tag. Tags are checked before.
_READERS: dict[int, Callable[[Cursor], Any]] = {
    0: lambda cursor: None,
    1: lambda cursor: cursor.byte() != 0,
    2: Cursor.i32,
    3: Cursor.i64,
    4: lambda cursor: _number(cursor, struct.Struct("<f")),
    5: lambda cursor: _number(cursor, struct.Struct("<d")),
    _TEXT: Cursor.text,
    _BINARY: Cursor.bytes,
    _DECIMAL: _decimal,
    9: _uuid,
}
