# SPDX-License-Identifier: Apache-2.0
"""The exact bounds of rows of a column (docs/design/FORMAT.md, "Packed exact bounds" and "Exact frames")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from zonemap.pyiceberg.container import Batch, Blocks
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.dictionary import Dictionary, LongDictionary, Value
from zonemap.pyiceberg.wire import items_at

_BLOCK_ROWS = 1024
_ENTRY = np.dtype([("base", "<i8"), ("width", "u1"), ("origin", "u1")])
_PADDING = 8
_MOST_PARTIAL_BITS = 56

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
        self._longs: list[tuple[Longs, Longs]] = []
        self._bytes: dict[int, bytes] = {}
        # Where the numbers of each block are: in which item of `_longs`, or nowhere, and at which place of it.
        self._held = np.full(len(blocks), -1, dtype=np.intp)
        self._place = np.zeros(len(blocks), dtype=np.intp)

    def of(self, rows: npt.NDArray[np.intp], lower: npt.NDArray[Any], upper: npt.NDArray[Any]) -> Bounds:
        """Returns the bounds of rows; their codes are not used."""
        return self._longs_of(rows) if self._is_long else self._bytes_of(rows)

    def _longs_of(self, rows: npt.NDArray[np.intp]) -> Bounds:
        blocks = rows // _BLOCK_ROWS
        is_used = np.zeros(len(self._held), dtype=bool)
        is_used[blocks] = True
        for batch in self._blocks.read(np.flatnonzero(is_used & (self._held < 0)).tolist()):
            self._decode(batch)
        lowers, uppers = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        of_rows, places = self._held[blocks], self._place[blocks]
        for held in np.unique(of_rows).tolist():
            mine = np.flatnonzero(of_rows == held)
            at = places[mine], rows[mine] % _BLOCK_ROWS
            lower, width = (side[at] for side in self._longs[held])
            lowers[mine], uppers[mine] = lower, lower + width
        return Bounds(lowers, uppers)

    def _decode(self, batch: Batch) -> None:
        """Decodes frames of numbers, those of one length together."""
        for ordinal, start, end in batch.blocks():
            if end - start != 16 * self._count(ordinal):
                raise DamagedError(f"an exact frame of {end - start} bytes for {self._count(ordinal)} rows")
        # Only the last frame of the segment may be shorter than others.
        whole = sum(self._count(ordinal) == _BLOCK_ROWS for ordinal in batch.ordinals)
        numbers = np.frombuffer(batch.data, dtype="<i8")
        split = 2 * whole * _BLOCK_ROWS
        for ordinals, part in ((batch.ordinals[:whole], numbers[:split]), (batch.ordinals[whole:], numbers[split:])):
            if len(part):
                stored = part.reshape(len(ordinals), 2, -1)
                self._held[list(ordinals)] = len(self._longs)
                self._place[list(ordinals)] = np.arange(len(ordinals))
                self._longs.append((np.cumsum(stored[:, 0], axis=1, dtype=np.int64), stored[:, 1]))

    def _bytes_of(self, rows: npt.NDArray[np.intp]) -> Bounds:
        wanted = rows.tolist()
        missing = sorted({row // _BLOCK_ROWS for row in wanted} - self._bytes.keys())
        for batch in self._blocks.read(missing):
            for block, start, end in batch.blocks():
                self._bytes[block] = batch.data[start:end]
        lowers: list[bytes] = []
        uppers: list[bytes] = []
        for block, group in groupby(wanted, lambda row: row // _BLOCK_ROWS):
            places = [row - block * _BLOCK_ROWS for row in group]
            after = [self._count(block) + place for place in places]
            found = items_at(self._bytes[block], 0, len(self._bytes[block]), [*places, *after])
            lowers += found[: len(places)]
            uppers += found[len(places) :]
        return Bounds(lowers, uppers)

    def _count(self, block: int) -> int:
        return min(_BLOCK_ROWS, self._rows - block * _BLOCK_ROWS)
