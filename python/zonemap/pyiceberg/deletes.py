# SPDX-License-Identifier: Apache-2.0
"""The delete files of a snapshot (docs/design/FORMAT.md, section 5), in PyIceberg's own look-up."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.delete_file_index import PATH_FIELD_ID, DeleteFileIndex
from pyiceberg.typedef import Record

from zonemap.pyiceberg.container import Container, Kind
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.manifests import SegmentManifests
from zonemap.pyiceberg.partitions import Partitions
from zonemap.pyiceberg.wire import Cursor

T = TypeVar("T")

_POSITION, _EQUALITY = 1, 2
_LEAST_BYTES = 48


class EqualityDeletesError(Exception):
    """The snapshot has equality deletes, which PyIceberg does not support."""


class DeleteSegment:
    """An open delete segment: one row for each delete file."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self.manifests = SegmentManifests(container.section(Kind.MANIFESTS), container.most_items(Kind.MANIFESTS))

    def add_to(
        self, index: DeleteFileIndex, live: Iterable[tuple[int, int]], specs: Mapping[int, PartitionSpec]
    ) -> None:
        """Adds the delete files of ranges of manifests to PyIceberg's look-up."""
        partitions = Partitions(self._container.section(Kind.PARTITIONS), self._container.most_items(Kind.PARTITIONS))
        cursor = Cursor(self._container.section(Kind.DELETE_FILES))
        count = cursor.count(_LEAST_BYTES, self._container.most_items(Kind.DELETE_FILES))
        if count != self.manifests.rows:
            raise DamagedError(f"{count} delete files in manifests of {self.manifests.rows}")
        is_live = [False] * count
        for first, end in self.manifests.row_ranges(live):
            is_live[first:end] = [True] * (end - first)
        for row in range(count):
            stored = _read(cursor)
            if is_live[row]:
                entry = _entry(stored, partitions, specs)
                index.add_delete_file(entry, partition_key=entry.data_file.partition)
        cursor.end("the delete files")


@dataclass(frozen=True)
class _Stored:
    """The fields of a delete file that a plan uses. Of its statistics these are only those of the path column."""

    content: int
    path: str
    form: str
    size: int
    records: int
    partition: int
    sequence: int
    sort_order: int | None
    split_offsets: bytes | None
    counts: list[dict[int, int] | None]
    bounds: list[dict[int, bytes] | None]


def _read(cursor: Cursor) -> _Stored:
    content = cursor.byte()
    if content not in {_POSITION, _EQUALITY}:
        raise DamagedError(f"a delete file of content {content}")
    path, form = cursor.text(), cursor.text()
    size, records, partition, sequence = cursor.i64(), cursor.i64(), cursor.i32(), cursor.i64()
    cursor.i64()  # the file sequence number
    sort_order = cursor.optional(cursor.i32)
    split_offsets = cursor.optional(lambda: cursor.raw(8 * cursor.count(8)))
    cursor.optional(lambda: cursor.raw(4 * cursor.count(4)))  # the equality ids
    cursor.optional(cursor.text)  # the referenced data file: PyIceberg takes it from the bounds of the path
    cursor.optional(cursor.i64)
    cursor.optional(cursor.i64)
    counts = [_of_path(cursor, cursor.i64, 8) for _ in range(4)]
    bounds = [_of_path(cursor, cursor.bytes, 1) for _ in range(2)]
    return _Stored(content, path, form, size, records, partition, sequence, sort_order, split_offsets, counts, bounds)


def _entry(stored: _Stored, partitions: Partitions, specs: Mapping[int, PartitionSpec]) -> ManifestEntry:
    if stored.content == _EQUALITY:
        raise EqualityDeletesError(stored.path)
    spec_id = partitions.spec_id(stored.partition)
    if spec_id not in specs:
        raise DamagedError(f"a delete file of the unknown spec {spec_id}")
    sizes, values, nulls, nans = stored.counts
    lower, upper = stored.bounds
    file = DataFile.from_args(
        content=DataFileContent(stored.content),
        file_path=stored.path,
        file_format=FileFormat(stored.form),
        partition=Record(*partitions.values(stored.partition, len(specs[spec_id].fields))),
        record_count=stored.records,
        file_size_in_bytes=stored.size,
        column_sizes=sizes,
        value_counts=values,
        null_value_counts=nulls,
        nan_value_counts=nans,
        lower_bounds=lower,
        upper_bounds=upper,
        split_offsets=_longs(stored.split_offsets),
        sort_order_id=stored.sort_order,
    )
    file.spec_id = spec_id
    return ManifestEntry.from_args(status=ManifestEntryStatus.EXISTING, sequence_number=stored.sequence, data_file=file)


def _longs(stored: bytes | None) -> list[int] | None:
    return None if stored is None else list(struct.unpack(f"<{len(stored) // 8}q", stored))


def _of_path(cursor: Cursor, read: Callable[[], T], length: int) -> dict[int, T] | None:
    """Reads a list of (field id, value), and returns the value of the path column."""

    def items() -> dict[int, T]:
        found = {}
        for _ in range(cursor.count(4 + length)):
            field_id, value = cursor.i32(), read()
            if field_id == PATH_FIELD_ID:
                found[field_id] = value
        return found

    return cursor.optional(items)
