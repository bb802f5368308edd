"""The delete files of a snapshot (docs/design/FORMAT.md, section 5), in PyIceberg's own look-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.table.delete_file_index import DeleteFileIndex
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

    def add_to(self, index: DeleteFileIndex, live: Iterable[tuple[int, int]]) -> None:
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
            entry = _entry(cursor, partitions)
            if is_live[row]:
                _add(index, entry)
        cursor.end("the delete files")


def _add(index: DeleteFileIndex, entry: ManifestEntry) -> None:
    file = entry.data_file
    if file.content == DataFileContent.EQUALITY_DELETES:
        raise EqualityDeletesError(file.file_path)
    index.add_delete_file(entry, partition_key=file.partition)


def _entry(cursor: Cursor, partitions: Partitions) -> ManifestEntry:
    content = cursor.byte()
    if content not in {_POSITION, _EQUALITY}:
        raise DamagedError(f"a delete file of content {content}")
    path, form = cursor.text(), cursor.text()
    size, records, partition, sequence = cursor.i64(), cursor.i64(), cursor.i32(), cursor.i64()
    cursor.i64()  # the file sequence number
    sort_order = cursor.optional(cursor.i32)
    splits = _numbers(cursor, cursor.i64, 8)
    equality_ids = _numbers(cursor, cursor.i32, 4)
    cursor.optional(cursor.text)  # the referenced data file: PyIceberg takes it from the bounds of the path
    cursor.optional(cursor.i64)
    cursor.optional(cursor.i64)
    sizes, values, nulls, nans = (_by_field(cursor, cursor.i64, 8) for _ in range(4))
    lower, upper = (_by_field(cursor, cursor.bytes, 1) for _ in range(2))
    file = DataFile.from_args(
        content=DataFileContent(content),
        file_path=path,
        file_format=FileFormat(form),
        partition=Record(*partitions.values(partition)),
        record_count=records,
        file_size_in_bytes=size,
        column_sizes=sizes,
        value_counts=values,
        null_value_counts=nulls,
        nan_value_counts=nans,
        lower_bounds=lower,
        upper_bounds=upper,
        split_offsets=splits,
        equality_ids=equality_ids,
        sort_order_id=sort_order,
    )
    file.spec_id = partitions.spec_id(partition)
    return ManifestEntry.from_args(status=ManifestEntryStatus.EXISTING, sequence_number=sequence, data_file=file)


def _numbers(cursor: Cursor, read: Callable[[], int], length: int) -> list[int] | None:
    return cursor.optional(lambda: [read() for _ in range(cursor.count(length))])


def _by_field(cursor: Cursor, read: Callable[[], T], length: int) -> dict[int, T] | None:
    def items() -> dict[int, T]:
        return {cursor.i32(): read() for _ in range(cursor.count(4 + length))}

    return cursor.optional(items)
