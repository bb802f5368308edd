# SPDX-License-Identifier: Apache-2.0
"""Opens segment files: the container of sections (docs/design/FORMAT.md, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from google_crc32c import value as crc32c

from zonemap.pyiceberg.damage import DamagedError, UnsupportedFormatError
from zonemap.pyiceberg.store import TAIL_BYTES, File
from zonemap.pyiceberg.wire import FREE_BLOCK_BYTES, Cursor, decompressed, decompressed_all, most_items

_MAGIC = b"ZMSEGMNT"
_HEADER_BYTES, _TAIL_BYTES = 64, 16
_FORMAT = 1
_ENTRY = np.dtype(
    [
        ("kind", "<u2"),
        ("encoding", "<u2"),
        ("id", "<i4"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("raw", "<i8"),
        ("crc", "<u4"),
    ]
)
_BLOCK = np.dtype([("offset", "<u4"), ("length", "<u4"), ("raw", "<u4"), ("crc", "<u4")])
_MOST_LENGTH = (1 << 31) - 1

#: The largest number of bytes that are read, and that are decompressed, at once, if they are for more than one block.
#: Memory for the contents of few blocks is used again for those of the next.
_MOST_READ, _MOST_BATCH = 4 << 20, 256 << 10

#: The largest number of bytes between two blocks that one request reads.
_MOST_GAP = 32 << 10

#: The offset, the length, the raw length and the CRC of a block.
_Row: TypeAlias = tuple[int, int, int, int]

DATA, DELETES = 1, 2


class Kind(IntEnum):
    """The kinds of sections."""

    META = 1
    MANIFESTS = 2
    PARTITIONS = 3
    FIXED = 4
    PATH_INDEX = 5
    PATH_DATA = 6
    HEAD = 7
    CODES = 8
    FLAGS = 9
    EXACT_INDEX = 10
    EXACT_DATA = 11
    PACKED_CODES = 12
    PACKED_EXACT = 13
    PROVENANCES = 14
    EVIDENCE = 15
    DELETE_FILES = 20


#: The kinds that are never compressed: they are read in place, or compressed block by block.
_PLAIN = {
    Kind.FIXED,
    Kind.PATH_DATA,
    Kind.CODES,
    Kind.FLAGS,
    Kind.EXACT_DATA,
    Kind.PACKED_CODES,
    Kind.PACKED_EXACT,
}


@dataclass(frozen=True)
class _Entry:
    compressed: bool
    offset: int
    length: int
    raw: int
    crc: int


class Container:
    """The sections of an open file by kind and id.

    Args:
        file: the file.
        kind: `DATA` or `DELETES`.
    """

    def __init__(self, file: File, kind: int) -> None:
        self._file = file
        if file.size < _HEADER_BYTES + _TAIL_BYTES:
            raise DamagedError(f"{file.name}: {file.size} bytes are too few for a segment")
        self._check_header(kind)
        end = file.read(max(0, file.size - TAIL_BYTES), min(file.size, TAIL_BYTES))
        tail = Cursor(end[-_TAIL_BYTES:])
        length, crc = tail.u32(), tail.u32()
        if tail.raw(8) != _MAGIC:
            raise DamagedError(f"{file.name}: the file is cut off")
        start = file.size - _TAIL_BYTES - length
        if length % _ENTRY.itemsize or start < _HEADER_BYTES:
            raise DamagedError(f"{file.name}: a section table of {length} bytes")
        table = (
            end[-_TAIL_BYTES - length : -_TAIL_BYTES] if length + _TAIL_BYTES <= len(end) else file.read(start, length)
        )
        if crc32c(table) != crc:
            raise DamagedError(f"{file.name}: the checksum of the section table does not match")
        self._entries = self._decode(np.frombuffer(table, dtype=_ENTRY), start)

    def has(self, kind: Kind, item: int = 0) -> bool:
        """Whether the section exists."""
        return (kind, item) in self._entries

    def section(self, kind: Kind, item: int = 0) -> bytes:
        """Reads a section and checks its CRC."""
        entry = self._entry(kind, item)
        stored = self._file.read(entry.offset, entry.length)
        if crc32c(stored) != entry.crc:
            raise DamagedError(f"{self._file.name}: the checksum of section {kind.name} {item} does not match")
        return decompressed(stored, entry.raw) if entry.compressed else stored

    def most_items(self, kind: Kind, item: int = 0) -> int:
        """Returns the largest number of items of a section that holds a list."""
        return most_items(self._entry(kind, item).length)

    def blocks(self, index: Kind, data: Kind, item: int = 0) -> Blocks:
        """Returns the blocks of a section that is checked block by block."""
        rows = self.section(index, item)
        if len(rows) % _BLOCK.itemsize:
            raise DamagedError(f"{self._file.name}: section {index.name} {item} of {len(rows)} bytes")
        entry = self._entry(data, item)
        return Blocks(self._file, np.frombuffer(rows, dtype=_BLOCK), entry.offset, entry.length)

    def _entry(self, kind: Kind, item: int) -> _Entry:
        found = self._entries.get((kind, item))
        if found is None:
            raise DamagedError(f"{self._file.name}: section {kind.name} {item} is missing")
        return found

    def _check_header(self, kind: int) -> None:
        data = self._file.read(0, _HEADER_BYTES)
        header = Cursor(data)
        if header.raw(8) != _MAGIC:
            raise DamagedError(f"{self._file.name}: not a segment")
        form, found = header.u16(), header.u16()
        if form != _FORMAT:
            raise UnsupportedFormatError(f"{self._file.name}: unsupported format version {form}")
        if header.u32() != crc32c(data[:12]):
            raise DamagedError(f"{self._file.name}: the checksum of the header does not match")
        if found != kind:
            raise DamagedError(f"{self._file.name}: a segment of kind {found}, not {kind}")

    def _decode(self, rows: np.ndarray, limit: int) -> dict[tuple[int, int], _Entry]:
        known = set(Kind)
        entries = {}
        for kind, encoding, item, offset, length, raw, crc in rows.tolist():
            if encoding > 1:
                raise DamagedError(f"{self._file.name}: a section of encoding {encoding}")
            if min(offset, length, raw) < 0 or raw > _MOST_LENGTH or offset + length > limit:
                raise DamagedError(f"{self._file.name}: a section outside the file")
            if not encoding and raw != length:
                raise DamagedError(f"{self._file.name}: a section of {length} bytes for {raw} bytes")
            if encoding and kind in _PLAIN:
                raise DamagedError(f"{self._file.name}: a compressed section of kind {kind}")
            if (kind, item) in entries:
                raise DamagedError(f"{self._file.name}: two sections of kind {kind} and id {item}")
            if kind in known:
                entries[kind, item] = _Entry(bool(encoding), offset, length, raw, crc)
        return entries


@dataclass(frozen=True)
class Batch:
    """The contents of some blocks, one behind the other.

    Attributes:
        starts: where each block begins in `data`, and where the last ends.
    """

    ordinals: Sequence[int]
    data: bytes
    starts: list[int]

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Returns the ordinal of each block, and where it begins and ends in `data`."""
        return zip(self.ordinals, self.starts, self.starts[1:], strict=False)


class Blocks:
    """Blocks that are compressed and checked one by one."""

    def __init__(self, file: File, rows: np.ndarray, offset: int, length: int) -> None:
        self._file = file
        self._rows = rows
        self._offset = offset
        self.length = length

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, ordinals: Sequence[int]) -> Iterator[Batch]:
        """Reads blocks, a few at once. Neighbours share a request."""
        rows = self._rows[list(ordinals)].tolist()
        if any(offset + length > self.length for offset, length, _, _ in rows):
            raise DamagedError(f"{self._file.name}: a block outside its section")
        for first, end in _parts([length for _, length, _, _ in rows], _MOST_READ):
            frames = [frame for run in _runs(rows[first:end]) for frame in self._frames(run)]
            for start, stop in _parts([raw for _, _, raw, _ in rows[first:end]], _MOST_BATCH):
                part = slice(first + start, first + stop)
                yield self._batch(ordinals[part], rows[part], frames[start:stop])

    def _batch(self, ordinals: Sequence[int], rows: list[_Row], frames: list[bytes]) -> Batch:
        if any(crc32c(frame) != row[3] for frame, row in zip(frames, rows, strict=True)):
            raise DamagedError(f"{self._file.name}: the checksum of a block does not match")
        lengths = [row[2] for row in rows]
        return Batch(ordinals, decompressed_all(frames, lengths, FREE_BLOCK_BYTES), [0, *accumulate(lengths)])

    def _frames(self, run: list[_Row]) -> list[bytes]:
        """Reads the frames of a run in one request."""
        first, (last, length, _, _) = run[0][0], run[-1]
        stored = self._file.read(self._offset + first, last + length - first)
        return [stored[offset - first : offset - first + length] for offset, length, _, _ in run]


def _parts(lengths: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Divides blocks into parts of a limited length, as ranges. A block that is longer is a part of its own."""
    start = size = 0
    for place, length in enumerate(lengths):
        if place > start and size + length > most:
            yield start, place
            start, size = place, 0
        size += length
    if lengths:
        yield start, len(lengths)


def _runs(rows: list[_Row]) -> Iterator[list[_Row]]:
    """Divides blocks into runs that ascend in the file, with small gaps between the blocks of a run."""
    run: list[_Row] = []
    end = 0
    for row in rows:
        offset, length, _, _ = row
        if run and not (end <= offset <= end + _MOST_GAP and offset + length - run[0][0] <= _MOST_READ):
            yield run
            run = []
        run.append(row)
        end = offset + length
    if run:
        yield run
