"""Rows of segments become PyIceberg's tasks. Only files that are kept become objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import expression_evaluator, inclusive_projection, residual_evaluator_of
from pyiceberg.manifest import DATA_FILE_TYPE, DEFAULT_READ_VERSION, DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.typedef import Record

from zonemap.pyiceberg.column import Rows
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.segment import DATA_SEQUENCE, FILE_SIZE, FORMAT, PARTITION, RECORD_COUNT, Segment

#: The places of the fields in the record of a data file; `DataFile.from_args` takes ten times as long as the record.
_PLACES = {field.name: place for place, field in enumerate(DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields)}


@dataclass(frozen=True)
class _Partition:
    """A partition of kept files: its record and what is left of the filter in it; None where it has no match."""

    record: Record
    spec_id: int
    residual: BooleanExpression | None


class _Spec:
    """The filter of a scan as PyIceberg evaluates it on the partition tuples of one spec."""

    def __init__(self, scan: DataScan, spec: PartitionSpec, filter_ids: frozenset[int]) -> None:
        self._scan = scan
        self._spec = spec
        self._schema = scan.table_metadata.schema()
        self.field_count = len(spec.fields)
        self.is_constant = not any(field.source_id in filter_ids for field in spec.fields)

    def may_match(self, record: Record) -> bool:
        return self.is_constant or self._evaluator(record)

    def residual(self, record: Record) -> BooleanExpression:
        if not self.is_constant:
            return self._residual_of(record)
        return self._common_residual

    @cached_property
    def _common_residual(self) -> BooleanExpression:
        """The residual of every tuple, where the filter is about no source column of the spec."""
        return self._residual_of(Record(*(None for _ in self._spec.fields)))

    def _residual_of(self, record: Record) -> BooleanExpression:
        scan = self._scan
        evaluator = residual_evaluator_of(
            spec=self._spec, expr=scan.row_filter, case_sensitive=scan.case_sensitive, schema=self._schema
        )
        return evaluator.residual_for(record)

    @cached_property
    def _evaluator(self) -> Callable[[Record], bool]:
        project = inclusive_projection(self._schema, self._spec, self._scan.case_sensitive)
        partition_schema = Schema(*self._spec.partition_type(self._schema).fields)
        return expression_evaluator(partition_schema, project(self._scan.row_filter), self._scan.case_sensitive)


class TaskMaker:
    """Makes the tasks of one scan.

    Args:
        scan: the scan.
        filter_ids: the field ids of its filter.
        deletes: PyIceberg's look-up of all live delete files.
        keeps_empty: whether files without rows are planned.
    """

    def __init__(self, scan: DataScan, filter_ids: frozenset[int], deletes: DeleteFileIndex, keeps_empty: bool) -> None:
        self._deletes = deletes
        self._keeps_empty = keeps_empty
        self._filter_ids = filter_ids
        self._scan = scan
        self._specs: dict[int, _Spec] = {}

    def tasks(self, segment: Segment, rows: Rows) -> list[FileScanTask]:
        """Returns the tasks of rows, without those whose partition has no match."""
        if len(rows) and not self._keeps_empty:
            rows = rows[segment.numbers(RECORD_COUNT, rows) != 0]
        if not len(rows):
            return []
        ordinals = segment.numbers(PARTITION, rows)
        partitions = {ordinal: self._partition(segment, ordinal) for ordinal in np.unique(ordinals).tolist()}
        left = {ordinal for ordinal, found in partitions.items() if found.residual is not None}
        if len(left) < len(partitions):
            rows = rows[np.isin(ordinals, list(left))]
            ordinals = segment.numbers(PARTITION, rows)
        if not len(rows):
            return []
        formats = [FileFormat(name) for name in segment.formats]
        columns = zip(
            segment.paths(rows),
            segment.numbers(FORMAT, rows).tolist(),
            ordinals.tolist(),
            segment.numbers(RECORD_COUNT, rows).tolist(),
            segment.numbers(FILE_SIZE, rows).tolist(),
            segment.split_offsets(rows),
            segment.sort_orders(rows),
            segment.numbers(DATA_SEQUENCE, rows).tolist(),
            strict=True,
        )
        tasks = []
        for path, form, ordinal, records, size, splits, sort_order, sequence in columns:
            partition = partitions[ordinal]
            if not 0 <= form < len(formats):
                raise DamagedError(f"a file of format {form} of {len(formats)}")
            file = _data_file(path, formats[form], partition, records, size, splits, sort_order)
            deletes = self._deletes.for_data_file(sequence, file, partition_key=partition.record)
            residual = AlwaysTrue() if partition.residual is None else partition.residual
            tasks.append(FileScanTask(file, delete_files=deletes, residual=residual))
        return tasks

    def _partition(self, segment: Segment, ordinal: int) -> _Partition:
        spec_id = segment.partitions.spec_id(ordinal)
        if spec_id not in self._specs:
            self._specs[spec_id] = _Spec(self._scan, self._scan.table_metadata.specs()[spec_id], self._filter_ids)
        spec = self._specs[spec_id]
        record = Record(*segment.partitions.values(ordinal, spec.field_count))
        return _Partition(record, spec_id, spec.residual(record) if spec.may_match(record) else None)


def _data_file(
    path: str,
    form: FileFormat,
    partition: _Partition,
    records: int,
    size: int,
    splits: list[int] | None,
    sort_order: int | None,
) -> DataFile:
    values: list[Any] = [None] * len(_PLACES)
    values[_PLACES["content"]] = DataFileContent.DATA
    values[_PLACES["file_path"]] = path
    values[_PLACES["file_format"]] = form
    values[_PLACES["partition"]] = partition.record
    values[_PLACES["record_count"]] = records
    values[_PLACES["file_size_in_bytes"]] = size
    values[_PLACES["split_offsets"]] = splits
    values[_PLACES["sort_order_id"]] = sort_order
    file = DataFile(*values)
    file.spec_id = partition.spec_id
    return file
