# SPDX-License-Identifier: Apache-2.0
"""Data segments: one row for each data file (docs/design/FORMAT.md, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zonemap.pyiceberg.column import Column, Rows
from zonemap.pyiceberg.container import Blocks, Container, Kind
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.manifests import SegmentManifests
from zonemap.pyiceberg.partitions import Partitions
from zonemap.pyiceberg.wire import Cursor, items_at, texts

_ZONE_ROWS, _PATH_ROWS = 1024, 256
_SLOTS = 10
_WIDTHS = {0: None, 1: "u1", 2: "<u2", 4: "<u4", 8: "<u8"}
_LEAST_FRAME_BYTES = 8
_MOST_ALIKE_OFFSETS = 65536
_MOST_ALIKE_LISTS = 1 << 20
_MOST_FORMATS = 256
#: For so many rows at once, arrays of numbers are made of codes of rows that may not be live.
_ROWS_AT_ONCE = 1 << 16

FORMAT, FILE_SIZE, RECORD_COUNT, PARTITION, DATA_SEQUENCE = 1, 2, 3, 4, 5
_SORT_ORDER, _SPLIT_COUNT, _SPLIT_OFFSETS = 8, 9, 10

#: Provenances: an engine's files, valid ones, and those with field ids whose footers agree. The evidence of files
#: without field ids depends on the names of columns, which this reader does not compare.
_PROVEN = (1, 3, 4)
_MOST_PROVENANCE = 7


@dataclass(frozen=True)
class _Shape:
    nullable: bool
    width: int
    least: int


@dataclass(frozen=True)
class _Numbers:
    """A fixed array, as it is stored. Without codes every code is 0."""

    shape: _Shape
    codes: npt.NDArray[Any] | None

    def at(self, items: Rows | slice) -> npt.NDArray[np.int64]:
        """The numbers of items. That of a null has no meaning."""
        codes = self._codes_at(items).astype(np.uint64)
        origin = np.uint64((self.shape.least - self.shape.nullable) % (1 << 64))
        return (codes + origin).view(np.int64)

    def optional_at(self, rows: Rows) -> list[int | None]:
        numbers: list[int | None] = self.at(rows).tolist()
        if not self.shape.nullable:
            return numbers
        return [n if code else None for n, code in zip(numbers, self._codes_at(rows).tolist(), strict=True)]

    def _codes_at(self, items: Rows | slice) -> npt.NDArray[Any]:
        if self.codes is not None:
            return self.codes[items]
        count = items.stop - items.start if isinstance(items, slice) else len(items)
        return np.zeros(count, dtype=np.uint8)


class Segment:
    """An open data segment. Each section is read at most once, when it is first used."""

    def __init__(self, container: Container) -> None:
        self._container = container
        meta = Cursor(container.section(Kind.META))
        self.rows, zone, path, frame = meta.u32(), meta.u32(), meta.u32(), meta.u32()
        if (zone, path, frame) != (_ZONE_ROWS, _PATH_ROWS, _ZONE_ROWS):
            raise DamagedError(f"zones of {zone} rows, paths of {path}, frames of {frame}")
        self.formats = [meta.text() for _ in range(meta.count(1, _MOST_FORMATS))]
        self._split_total = meta.u32()
        self._shapes = [_shape(meta) for _ in range(_SLOTS)]
        meta.end("the meta section")
        self._paths = self._open_paths()
        self._columns: dict[int, Column | None] = {}
        self._numbers: dict[int, _Numbers] = {}

    @cached_property
    def manifests(self) -> SegmentManifests:
        """The manifests whose entries are the rows."""
        section = self._container.section(Kind.MANIFESTS)
        found = SegmentManifests(section, self._container.most_items(Kind.MANIFESTS))
        if found.rows != self.rows:
            raise DamagedError(f"manifests of {found.rows} rows in a segment of {self.rows}")
        return found

    @cached_property
    def partitions(self) -> Partitions:
        """The partition tuples of the rows."""
        return Partitions(self._container.section(Kind.PARTITIONS), self._container.most_items(Kind.PARTITIONS))

    def column(self, field_id: int) -> Column | None:
        """The bounds of a column; None if the segment has none."""
        if field_id not in self._columns:
            is_there = self._container.has(Kind.HEAD, field_id)
            self._columns[field_id] = Column(self._container, field_id, self.rows) if is_there else None
        return self._columns[field_id]

    def numbers(self, slot: int, rows: Rows) -> npt.NDArray[np.int64]:
        """Returns the numbers of rows in a fixed array without nulls."""
        return self._array(slot).at(rows)

    @property
    def may_have_unknown_counts(self) -> bool:
        """Whether the number of rows of some file may not be known. This reads no array."""
        shape = self._shapes[RECORD_COUNT - 1]
        least = shape.least - shape.nullable
        return least < 0 or shape.width == 8 or least + (1 << 8 * shape.width) > 1 << 63

    def sort_orders(self, rows: Rows) -> list[int | None]:
        """The sort order ids of files."""
        return self._array(_SORT_ORDER).optional_at(rows)

    def split_offsets(self, rows: Rows) -> list[list[int] | None]:
        """The split offsets of files; None for a file that has none. Files may share a list."""
        counts = self._array(_SPLIT_COUNT).optional_at(rows)
        starts = self._split_starts(rows).tolist()
        if self._shapes[_SPLIT_OFFSETS - 1].width == 0:
            return self._alike_offsets(counts)
        return [
            None if count is None else self._offsets(start, count) for start, count in zip(starts, counts, strict=True)
        ]

    def may_be_unproven(self) -> bool:
        """Whether `are_unproven` may be true for any row."""
        return not np.isin(self._provenances, _PROVEN).all()

    def are_unproven(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Whether nothing proves that the statistics of these rows are those that readers return (S7)."""
        codes = self._provenances
        found = codes[rows] if len(codes) != 1 else np.full(len(rows), codes[0])
        return ~np.isin(found, _PROVEN)

    @cached_property
    def doubted(self) -> dict[int, npt.NDArray[np.int64]]:
        """By field id, the rows of which the column's statistics are not proven although the file's are."""
        found: dict[int, npt.NDArray[np.int64]] = {}
        if not self._container.has(Kind.EVIDENCE):
            return found
        cursor = Cursor(self._container.section(Kind.EVIDENCE))
        for _ in range(cursor.count(2)):
            field_id = cursor.varint()
            rows = np.cumsum([cursor.varint() for _ in range(cursor.count(1))], dtype=np.int64)
            if len(rows) and int(rows[-1]) >= self.rows:
                raise DamagedError(f"evidence of row {rows[-1]} of {self.rows}")
            found[field_id] = rows
        for _ in range(cursor.count(2)):
            cursor.varint()
            cursor.text()
        cursor.end("the evidence")
        return found

    def paths(self, rows: Rows) -> list[str]:
        """The paths of files, whose rows ascend."""
        blocks = np.unique(rows // _PATH_ROWS).tolist()
        found = []
        wanted = rows.tolist()
        place = 0
        for batch in self._paths.read(blocks):
            for block, start, end in batch.blocks():
                first = place
                while place < len(wanted) and wanted[place] < (block + 1) * _PATH_ROWS:
                    place += 1
                found += items_at(batch.data, start, end, [row - block * _PATH_ROWS for row in wanted[first:place]])
        return texts(found)

    def _open_paths(self) -> Blocks:
        blocks = self._container.blocks(Kind.PATH_INDEX, Kind.PATH_DATA)
        expected = -(-self.rows // _PATH_ROWS)
        # The bytes of paths bound the number of rows for which memory is taken.
        if len(blocks) != expected or blocks.length < expected * _LEAST_FRAME_BYTES:
            raise DamagedError(f"{len(blocks)} blocks of paths for {self.rows} rows")
        return blocks

    @cached_property
    def _provenances(self) -> npt.NDArray[np.uint8]:
        if not self._container.has(Kind.PROVENANCES):
            return np.zeros(1, dtype=np.uint8)
        codes = np.frombuffer(self._container.section(Kind.PROVENANCES), dtype=np.uint8)
        if len(codes) not in {1, self.rows} or (codes > _MOST_PROVENANCE).any():
            raise DamagedError(f"{len(codes)} provenances of {self.rows} rows")
        return codes

    def _array(self, slot: int) -> _Numbers:
        if slot not in self._numbers:
            self._numbers[slot] = self._load(slot)
        return self._numbers[slot]

    def _load(self, slot: int) -> _Numbers:
        items = self._split_total if slot == _SPLIT_OFFSETS else self.rows
        shape = self._shapes[slot - 1]
        form = _WIDTHS[shape.width]
        if form is None or not items:
            return _Numbers(shape, None)
        section = self._container.section(Kind.FIXED, slot)
        if len(section) != items * shape.width:
            raise DamagedError(f"{len(section)} bytes in slot {slot} for {items} items")
        return _Numbers(shape, np.frombuffer(section, dtype=form))

    def _offsets(self, start: int, count: int) -> list[int]:
        found: list[int] = self._array(_SPLIT_OFFSETS).at(slice(start, start + count)).tolist()
        return found

    def _alike_offsets(self, counts: list[int | None]) -> list[list[int] | None]:
        """Returns one list for all files of one count, because no stored bytes bound the offsets."""
        lengths = set(counts) - {None}
        if sum(length or 0 for length in lengths) > _MOST_ALIKE_LISTS:
            raise DamagedError(f"lists of split offsets of {len(lengths)} lengths that are not stored")
        lists = {length: self._offsets(0, length or 0) for length in lengths}
        return [None if count is None else lists[count] for count in counts]

    def _split_starts(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Where the split offsets of files begin. All counts are checked first."""
        array = self._array(_SPLIT_COUNT)
        if array.codes is None and array.shape.nullable and not self._split_total:
            return np.zeros(len(rows), dtype=np.int64)
        most = _MOST_ALIKE_OFFSETS if self._shapes[_SPLIT_OFFSETS - 1].width == 0 else self._split_total
        starts = np.zeros(len(rows), dtype=np.int64)
        total = 0
        for first in range(0, self.rows, _ROWS_AT_ONCE):
            part = slice(first, min(first + _ROWS_AT_ONCE, self.rows))
            counts = self._split_counts(part)
            if counts.min() < 0 or counts.max() > most:
                raise DamagedError(f"{counts.min()} to {counts.max()} split offsets of a file, of at most {most}")
            ends = total + np.cumsum(counts)
            left, right = np.searchsorted(rows, (part.start, part.stop)).tolist()
            starts[left:right] = (ends - counts)[rows[left:right] - first]
            total = int(ends[-1])
        if total != self._split_total:
            raise DamagedError(f"{total} split offsets, but {self._split_total} are stored")
        return starts

    def _split_counts(self, part: slice) -> npt.NDArray[np.int64]:
        array = self._array(_SPLIT_COUNT)
        counts = array.at(part)
        if not array.shape.nullable:
            return counts
        is_null: Any = True if array.codes is None else array.codes[part] == 0
        return np.where(is_null, 0, counts)


def _shape(meta: Cursor) -> _Shape:
    nullable, width = meta.byte(), meta.byte()
    if nullable > 1 or width not in _WIDTHS:
        raise DamagedError(f"a fixed array of {width} bytes an item")
    return _Shape(bool(nullable), width, meta.i64())


def rows_in(ranges: Sequence[tuple[int, int]], blocks: npt.NDArray[np.bool_] | None = None) -> Rows:
    """Returns the rows of ascending ranges as one array.

    Args:
        ranges: the ranges.
        blocks: whether rows of each block of 1,024 are returned; without it, those of all blocks.
    """
    if blocks is None or blocks.all():
        parts: list[Any] = [np.arange(first, end, dtype=np.intp) for first, end in ranges]
        found: Rows = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype=np.intp), *parts])
        return found
    if not ranges:
        return np.zeros(0, dtype=np.intp)
    starts = np.flatnonzero(blocks) * _ZONE_ROWS
    rows: Rows = (starts[:, None] + np.arange(_ZONE_ROWS)).reshape(-1)
    firsts, ends = np.array(ranges, dtype=np.intp).T
    if len(ranges) == 1:
        return rows[slice(*np.searchsorted(rows, (firsts[0], ends[0])).tolist())]
    places = np.searchsorted(firsts, rows, side="right") - 1
    live: Rows = rows[(places >= 0) & (rows < ends[places])]
    return live


def ranges_of(rows: Rows) -> list[tuple[int, int]]:
    """Returns ascending rows as ranges."""
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    firsts, lasts = rows[[0, *breaks.tolist()]].tolist(), rows[[*(breaks - 1).tolist(), -1]].tolist()
    return [(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]
