# SPDX-License-Identifier: Apache-2.0
"""The bounds of one column of a segment, as codes (docs/design/FORMAT.md, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from zonemap.pyiceberg.container import Container, Kind
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.dictionary import BytesDictionary, Dictionary, LongDictionary, Value
from zonemap.pyiceberg.exact import Bounds, ExactBounds, ExactFrames, PackedExact
from zonemap.pyiceberg.types import StoredType, parse_type
from zonemap.pyiceberg.wire import Cursor

BLOCK_ROWS = 1024
_BLOCK_BITS = 10
NO_LOWER, NO_UPPER = 0, 0xFFFF
_COARSE_ABSENT = 0xFF
_EXACT_CODES, _COARSE = 1, 2
_ALIGNMENT = 64
_PACKED = np.dtype([("base", "<u2"), ("width", "u1"), ("relative", "u1")])
_WIDTHS = (0, 1, 2, 4, 8, 16)

Codes: TypeAlias = npt.NDArray[np.uint16]
Rows: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Zones:
    """The codes and flags of a run of zones: rows, blocks, or a whole segment."""

    lower: Codes
    upper: Codes
    flags: npt.NDArray[np.uint8]


def block_count(rows: int) -> int:
    """Returns the number of blocks of 1,024 rows."""
    return -(-rows // BLOCK_ROWS)


class Column:
    """The bounds of one column. Each section is read at most once, when it is first used."""

    def __init__(self, container: Container, field_id: int, rows: int) -> None:
        self._container = container
        self._id = field_id
        self._rows = rows
        head = Cursor(container.section(Kind.HEAD, field_id))
        self.type: StoredType = parse_type(head.text())
        self._detail = head.byte()
        if self._detail > _COARSE:
            raise DamagedError(f"a column of detail {self._detail}")
        self._same_lower, self._same_upper = head.optional(head.u16), head.optional(head.u16)
        self._same_flags = head.optional(head.u16)
        self.dictionary: Dictionary = (LongDictionary if self.type.is_long else BytesDictionary)(head)
        self.root = _zones(head, 1 if rows else 0)
        self.blocks = _zones(head, block_count(rows))
        head.end("a column head")

    def zones_of(self, rows: Rows) -> Zones:
        """Returns the codes and flags of rows, which ascend."""
        blocks, places = _places(rows, block_count(self._rows))
        lower = self._lower(blocks)
        upper = self._upper(blocks, lower)
        return Zones(lower.reshape(-1)[places], upper.reshape(-1)[places], self._flags_of(rows))

    def bounds_of(self, rows: Rows, zones: Zones) -> Bounds:
        """Returns the bounds of rows, which ascend; `zones` has their codes."""
        if self._detail == 0:
            return self._exact.of(rows, zones.lower, zones.upper)
        return Bounds(self._boundaries(zones.lower, NO_LOWER), self._boundaries(zones.upper, NO_UPPER))

    def _boundaries(self, codes: Codes, absent: int) -> npt.NDArray[np.int64] | Sequence[Value]:
        """Returns the boundaries of exact codes; any value where the bound is absent."""
        is_there = codes != absent
        if (codes[is_there] % 2 == 0).any():
            raise DamagedError(f"codes of column {self._id} that are not exact")
        if isinstance(self.dictionary, LongDictionary):
            if not self.dictionary.size:
                return np.zeros(len(codes), dtype=np.int64)
            return self.dictionary.values.take(codes // 2, mode="clip")
        return [self.dictionary.boundary(code // 2) if code != absent else b"" for code in codes.tolist()]

    @cached_property
    def _exact(self) -> ExactBounds:
        if self._container.has(Kind.PACKED_EXACT, self._id):
            if not isinstance(self.dictionary, LongDictionary):
                raise DamagedError(f"exact bounds of column {self._id} as numbers")
            return PackedExact(self._container.section(Kind.PACKED_EXACT, self._id), self.dictionary, self._rows)
        frames = self._container.blocks(Kind.EXACT_INDEX, Kind.EXACT_DATA, self._id)
        if len(frames) != block_count(self._rows):
            raise DamagedError(f"{len(frames)} exact frames, not {block_count(self._rows)}")
        return ExactFrames(frames, self.dictionary, self._rows)

    def _lower(self, blocks: Rows) -> Codes:
        """Returns the lower codes of whole blocks, each filled up to 1,024 rows."""
        if self._same_lower is not None:
            return np.full((len(blocks), BLOCK_ROWS), self._same_lower, dtype=np.uint16)
        if self._packed is not None:
            return self._packed[0].unpack(blocks, None)
        return self._plain(0, blocks, NO_LOWER)

    def _upper(self, blocks: Rows, lower: Codes) -> Codes:
        if self._same_upper is not None:
            return np.full((len(blocks), BLOCK_ROWS), self._same_upper, dtype=np.uint16)
        if self._packed is not None:
            return self._packed[1].unpack(blocks, lower)
        width = 1 if self._detail == _COARSE else 2
        start = 0
        if self._same_lower is None:
            start = -(-self._rows * width // _ALIGNMENT) * _ALIGNMENT
        return self._plain(start, blocks, NO_UPPER)

    def _plain(self, start: int, blocks: Rows, absent: int) -> Codes:
        form: type[np.uint8] | str = np.uint8 if self._detail == _COARSE else "<u2"
        end = start + self._rows * np.dtype(form).itemsize
        if end > len(self._codes):
            raise DamagedError(f"codes of {len(self._codes)} bytes, not {end}")
        all_codes = np.frombuffer(self._codes, dtype=form, count=self._rows, offset=start)
        found = np.full((len(blocks), BLOCK_ROWS), absent, dtype=np.uint16)
        for place, block in enumerate(blocks):
            codes = all_codes[block * BLOCK_ROWS : (block + 1) * BLOCK_ROWS]
            found[place, : len(codes)] = codes
        if self._detail == _COARSE:
            found[found == _COARSE_ABSENT] = NO_UPPER
        return found

    @cached_property
    def _codes(self) -> bytes:
        return self._container.section(Kind.CODES, self._id)

    @cached_property
    def _packed(self) -> tuple[_PackedSide, _PackedSide] | None:
        if not self._container.has(Kind.PACKED_CODES, self._id):
            return None
        data = np.frombuffer(self._container.section(Kind.PACKED_CODES, self._id), dtype=np.uint8)
        lower = _PackedSide(data, self._rows if self._same_lower is None else 0)
        upper = _PackedSide(data[lower.length :], self._rows if self._same_upper is None else 0)
        if lower.is_relative.any() or lower.length + upper.length != len(data):
            raise DamagedError(f"packed codes of {len(data)} bytes")
        return lower, upper

    def _flags_of(self, rows: Rows) -> npt.NDArray[np.uint8]:
        if self._same_flags is not None:
            return np.full(len(rows), self._same_flags & 0xFF, dtype=np.uint8)
        if len(self._flags) != self._rows:
            raise DamagedError(f"flags of {len(self._flags)} rows, not {self._rows}")
        return np.frombuffer(self._flags, dtype=np.uint8)[rows]

    @cached_property
    def _flags(self) -> bytes:
        return self._container.section(Kind.FLAGS, self._id)


class _PackedSide:
    """The codes of one side, block by block in as few bits as the block needs."""

    def __init__(self, data: npt.NDArray[np.uint8], rows: int) -> None:
        blocks = block_count(rows)
        if blocks * _PACKED.itemsize > len(data):
            raise DamagedError("a cut table of packed codes")
        table = np.frombuffer(data[: blocks * _PACKED.itemsize].tobytes(), dtype=_PACKED)
        self._bases, self._widths = table["base"], table["width"].astype(np.int64)
        self.is_relative = table["relative"] == 1
        if not np.isin(self._widths, _WIDTHS).all() or (table["relative"] > 1).any():
            raise DamagedError("a block of packed codes of an unknown width")
        counts = np.full(blocks, BLOCK_ROWS, dtype=np.int64)
        if blocks:
            counts[-1] = rows - (blocks - 1) * BLOCK_ROWS
        sizes = (counts * self._widths + 7) // 8
        self._starts = blocks * _PACKED.itemsize + np.concatenate(([0], np.cumsum(sizes)))
        self.length = int(self._starts[-1])
        if self.length > len(data):
            raise DamagedError(f"packed codes of {self.length} bytes in {len(data)}")
        self._data = data

    def unpack(self, blocks: Rows, lower: Codes | None) -> Codes:
        """Returns the codes of whole blocks, each filled up to 1,024 rows; `lower` has their lower codes."""
        is_relative = self.is_relative[blocks]
        if lower is None and is_relative.any():
            raise DamagedError("lower codes that count from lower codes")
        widths = self._widths[blocks]
        found = np.empty((len(blocks), BLOCK_ROWS), dtype=np.uint16)
        for width in set(widths.tolist()):
            places = np.flatnonzero(widths == width)
            found[places] = _numbers(self._stored(blocks[places], width), width)
        found += self._bases[blocks][:, None]
        if lower is not None and is_relative.any():
            found += lower * is_relative[:, None]
        return found

    def _stored(self, blocks: Rows, width: int) -> npt.NDArray[np.uint8]:
        """Returns the bytes of blocks of one width, each filled up to 1,024 numbers."""
        size = BLOCK_ROWS * width // 8
        starts, ends = self._starts[blocks], self._starts[blocks + 1]
        found = np.zeros((len(blocks), size), dtype=np.uint8)
        if int(ends[-1] - starts[0]) == int((ends - starts).sum()):
            # One behind the other; only the last block of the segment may be shorter than others.
            found.reshape(-1)[: int(ends[-1] - starts[0])] = self._data[starts[0] : ends[-1]]
            return found
        for row, start, end in zip(found, starts.tolist(), ends.tolist(), strict=True):
            row[: end - start] = self._data[start:end]
        return found


def _numbers(stored: npt.NDArray[np.uint8], width: int) -> npt.NDArray[Any]:
    """Returns the numbers of blocks of one width."""
    if width == 16:
        return stored.view("<u2")
    if width == 8:
        return stored
    if width == 0:
        return np.zeros((len(stored), BLOCK_ROWS), dtype=np.uint8)
    shifts = np.arange(0, 8, width, dtype=np.uint8)
    return ((stored[:, :, None] >> shifts) & np.uint8((1 << width) - 1)).reshape(len(stored), BLOCK_ROWS)


def _places(rows: Rows, block_total: int) -> tuple[Rows, Rows | slice]:
    """Returns the blocks of rows, which ascend, and the place of each row in the codes of these whole blocks."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == len(rows):
        # Rows without a gap are in blocks without a gap.
        start = first % BLOCK_ROWS
        return np.arange(first // BLOCK_ROWS, last // BLOCK_ROWS + 1), slice(start, start + len(rows))
    of_rows = rows >> _BLOCK_BITS
    is_used = np.zeros(block_total, dtype=bool)
    is_used[of_rows] = True
    before = (np.cumsum(is_used) - 1) << _BLOCK_BITS
    return np.flatnonzero(is_used), before[of_rows] + (rows & (BLOCK_ROWS - 1))


def _zones(head: Cursor, count: int) -> Zones:
    lower = np.frombuffer(head.raw(2 * count), dtype="<u2")
    upper = np.frombuffer(head.raw(2 * count), dtype="<u2")
    return Zones(lower, upper, np.frombuffer(head.raw(count), dtype=np.uint8))
