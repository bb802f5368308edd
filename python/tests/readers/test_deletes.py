# SPDX-License-Identifier: Apache-2.0
"""The delete files of a segment, in PyIceberg's look-up, against the look-up of the same manifest entries."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.table.delete_file_index import PATH_FIELD_ID, DeleteFileIndex
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from readers import writer
from zonemap.pyiceberg.container import DELETES, Container
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.deletes import DeleteSegment
from zonemap.pyiceberg.store import File

SPECS = {0: PartitionSpec(PartitionField(1, PARTITION_FIELD_ID_START, IdentityTransform(), "p"), spec_id=0)}
PATHS = ["s3://b/a.parquet", "s3://b/m.parquet", "s3://b/z.parquet"]


def entry(name: str, sequence: int, partition: int = 1, bounds: tuple[str, str] | None = None, **more: Any) -> Any:
    low, high = ({PATH_FIELD_ID: path.encode(), 7: b"seven"} for path in bounds) if bounds else (None, None)
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=name,
        file_format=FileFormat.PARQUET,
        partition=Record(partition),
        record_count=3,
        file_size_in_bytes=100,
        lower_bounds=low,
        upper_bounds=high,
        **more,
    )
    file.spec_id = 0
    found = ManifestEntry.from_args(status=ManifestEntryStatus.EXISTING, sequence_number=sequence, data_file=file)
    found.file_sequence_number = sequence
    return found


ENTRIES = [
    entry("everywhere", 5),
    entry("old", 1, split_offsets=[4, 9], column_sizes={7: 1, PATH_FIELD_ID: 2}),
    entry("elsewhere", 5, partition=2),
    entry("one", 5, bounds=(PATHS[1], PATHS[1])),
    entry("a range", 5, bounds=(PATHS[0], PATHS[1])),
    entry(
        "nulls",
        5,
        bounds=(PATHS[0], PATHS[2]),
        value_counts={7: 1, PATH_FIELD_ID: 3},
        null_value_counts={7: 1, PATH_FIELD_ID: 3},
    ),
]


def segment(entries: list[Any]) -> DeleteSegment:
    manifest = SimpleNamespace(
        manifest_path="m",
        manifest_length=1,
        content=ManifestContent.DELETES,
        partition_spec_id=0,
        sequence_number=1,
        min_sequence_number=1,
        **dict.fromkeys(
            (
                "added_snapshot_id",
                "added_files_count",
                "existing_files_count",
                "deleted_files_count",
                "added_rows_count",
                "existing_rows_count",
                "deleted_rows_count",
            )
        ),
    )
    made = writer.delete_segment([(manifest, entries), (manifest, entries)], writer.Options(compressed=True))
    return DeleteSegment(Container(File(lambda: io.BytesIO(made), "deletes", len(made)), DELETES))


def test_each_data_file_has_the_deletes_of_pyiceberg() -> None:
    stock, ours = DeleteFileIndex(), DeleteFileIndex()
    for each in ENTRIES:
        stock.add_delete_file(each, partition_key=each.data_file.partition)
    segment(ENTRIES).add_to(ours, [(1, 2)], SPECS)
    sizes = set()
    for path in PATHS:
        for sequence in (0, 1, 3, 6):
            data = DataFile.from_args(content=DataFileContent.DATA, file_path=path, file_format=FileFormat.PARQUET)
            data.spec_id = 0
            theirs, found = (
                {file.file_path for file in index.for_data_file(sequence, data, partition_key=Record(1))}
                for index in (stock, ours)
            )
            assert theirs == found
            sizes.add(len(found))
    assert {0, 2, 4} <= sizes


def test_tuples_of_another_spec() -> None:
    for specs, reason in (({}, "unknown spec"), ({0: PartitionSpec()}, "for a spec of 0 fields")):
        with pytest.raises(DamagedError, match=reason):
            segment(ENTRIES).add_to(DeleteFileIndex(), [(0, 1)], specs)
