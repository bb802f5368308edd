"""The exact bounds of rows of a column (docs/design/FORMAT.md, "Packed exact bounds" and "Exact frames")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from zonemap.pyiceberg.container import Blocks
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.dictionary import Dictionary, LongDictionary, Value
from zonemap.pyiceberg.wire import Cursor

_BLOCK_ROWS = 1024
_ENTRY = np.dtype([("base", "<i8"), ("width", "u1"), ("origin", "u1")])
_PADDING = 8
_MOST_PARTIAL_BITS = 56
_FRAMES_AT_ONCE = 64

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bounds:
    """The bounds of some rows. Where a bound is absent, its value has no meaning."""

    lower: Longs | Sequence[Value]
    upper: Longs | Sequence[Value]


class ExactBounds(Protocol):
    """Reads exact bounds."""

    def of(self, rows: npt.NDArray[np.intp], lower: npt.NDArray[Any], upper: npt.NDArray[Any]) -> Bounds:
        """Returns the bounds of rows, which ascend; `lower` and `upper` are their codes."""


class PackedExact:
    """Bounds as distances from boundaries or from the lower bound of the row."""

    def __init__(self, data: bytes, dictionary: LongDictionary, rows: int) -> None:
        raw = np.frombuffer(data, dtype=np.uint8)
        # The boundary at or below a code is the one with this ordinal + 1; a code below all boundaries has 0.
        self._floors = np.concatenate((np.zeros(1, dtype=np.int64), dictionary.values))
        self._lower = _PackedSide(raw, 0, rows)
        self._upper = _PackedSide(raw, self._lower.end, rows)
        if self._lower.follows.any():
            raise DamagedError("lower bounds that count from lower bounds")
        if self._upper.end + _PADDING != len(data):
            raise DamagedError(f"exact bounds of {len(data)} bytes, not {self._upper.end + _PADDING}")

    def of(self, rows: npt.NDArray[np.intp], lower: npt.NDArray[Any], upper: npt.NDArray[Any]) -> Bounds:
        """Returns the bounds of rows; `lower` and `upper` are their codes."""
        lowers = self._floor(lower) + self._lower.numbers(rows)
        origins = np.where(self._upper.follows[rows // _BLOCK_ROWS], lowers, self._floor(upper))
        return Bounds(lowers, origins + self._upper.numbers(rows))

    def _floor(self, codes: npt.NDArray[Any]) -> Longs:
        return self._floors.take((codes.astype(np.intp) + 1) // 2, mode="clip")


class _PackedSide:
    def __init__(self, data: npt.NDArray[np.uint8], start: int, rows: int) -> None:
        blocks = -(-rows // _BLOCK_ROWS)
        first = start + blocks * _ENTRY.itemsize
        if first > len(data):
            raise DamagedError("a cut table of exact bounds")
        table = np.frombuffer(data[start:first].tobytes(), dtype=_ENTRY)
        self._bases = table["base"].astype(np.int64)
        self._widths = table["width"].astype(np.int64)
        self.follows = table["origin"] == 1
        if (table["origin"] > 1).any() or ((self._widths > _MOST_PARTIAL_BITS) & (self._widths != 64)).any():
            raise DamagedError("a block of exact bounds of an unknown form")
        counts = np.full(blocks, _BLOCK_ROWS, dtype=np.int64)
        if blocks:
            counts[-1] = rows - (blocks - 1) * _BLOCK_ROWS
        self._starts = first + np.concatenate(([0], np.cumsum((counts * self._widths + 7) // 8)))
        self.end = int(self._starts[-1])
        if self.end + _PADDING > len(data):
            raise DamagedError(f"exact bounds of {len(data)} bytes")
        self._data = data

    def numbers(self, rows: npt.NDArray[np.intp]) -> Longs:
        blocks = rows // _BLOCK_ROWS
        widths = self._widths[blocks]
        bits = (rows % _BLOCK_ROWS) * widths
        starts = self._starts[blocks] + bits // 8
        eight = self._data[starts[:, None] + np.arange(8)]
        words = np.ascontiguousarray(eight).view("<u8").reshape(-1).astype(np.uint64)
        masks = np.where(
            widths == 0,
            np.uint64(0),
            np.uint64(0xFFFFFFFFFFFFFFFF) >> (np.uint64(64) - np.maximum(widths, 1).astype(np.uint64)),
        )
        distances = ((words >> (bits % 8).astype(np.uint64)) & masks).view(np.int64)
        return self._bases[blocks] + distances


class ExactFrames:
    """Bounds in a compressed frame for each block of 1,024 rows."""

    def __init__(self, blocks: Blocks, dictionary: Dictionary, rows: int) -> None:
        self._blocks = blocks
        self._is_long = isinstance(dictionary, LongDictionary)
        self._rows = rows
        self._decoded: dict[int, Bounds] = {}

    def of(self, rows: npt.NDArray[np.intp], lower: npt.NDArray[Any], upper: npt.NDArray[Any]) -> Bounds:
        """Returns the bounds of rows; their codes are not used."""
        self._load(np.unique(rows // _BLOCK_ROWS).tolist())
        if not self._is_long:
            return self._bytes_of(rows)
        blocks = rows // _BLOCK_ROWS
        lowers, uppers = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        for block in np.unique(blocks).tolist():
            places = blocks == block
            frame = self._decoded[block]
            lowers[places] = np.asarray(frame.lower)[rows[places] % _BLOCK_ROWS]
            uppers[places] = np.asarray(frame.upper)[rows[places] % _BLOCK_ROWS]
        return Bounds(lowers, uppers)

    def _bytes_of(self, rows: npt.NDArray[np.intp]) -> Bounds:
        lowers, uppers = [], []
        for row in rows.tolist():
            frame = self._decoded[row // _BLOCK_ROWS]
            lowers.append(frame.lower[row % _BLOCK_ROWS])
            uppers.append(frame.upper[row % _BLOCK_ROWS])
        return Bounds(lowers, uppers)

    def _load(self, blocks: list[int]) -> None:
        """Reads the frames of blocks that are not held, a few at once."""
        missing = [block for block in blocks if block not in self._decoded]
        decode = _long_frame if self._is_long else _bytes_frame
        for start in range(0, len(missing), _FRAMES_AT_ONCE):
            some = missing[start : start + _FRAMES_AT_ONCE]
            for block, raw in zip(some, self._blocks.read(some), strict=True):
                self._decoded[block] = decode(raw, min(_BLOCK_ROWS, self._rows - block * _BLOCK_ROWS))


def _long_frame(raw: bytes, count: int) -> Bounds:
    if len(raw) != 16 * count:
        raise DamagedError(f"an exact frame of {len(raw)} bytes for {count} rows")
    stored = np.frombuffer(raw, dtype="<i8").astype(np.int64)
    lower = np.cumsum(stored[:count], dtype=np.int64)
    return Bounds(lower, lower + stored[count:])


def _bytes_frame(raw: bytes, count: int) -> Bounds:
    cursor = Cursor(raw)
    values = [cursor.bytes() for _ in range(2 * count)]
    cursor.end("an exact frame")
    return Bounds(values[:count], values[count:])
