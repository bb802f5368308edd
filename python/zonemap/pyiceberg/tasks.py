# SPDX-License-Identifier: Apache-2.0
"""Rows of segments become PyIceberg's tasks. Only files that are kept become objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, BoundPredicate, Or, UnboundPredicate
from pyiceberg.expressions.visitors import (
    expression_evaluator,
    extract_field_ids,
    inclusive_projection,
    residual_evaluator_of,
)
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
_CONTENT, _PATH, _FORMAT, _PARTITION, _RECORDS, _SIZE, _SPLITS, _SORT_ORDER = (
    [field.name for field in DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields].index(name)
    for name in (
        "content",
        "file_path",
        "file_format",
        "partition",
        "record_count",
        "file_size_in_bytes",
        "split_offsets",
        "sort_order_id",
    )
)
_NOTHING: list[Any] = [None] * len(DATA_FILE_TYPE[DEFAULT_READ_VERSION].fields)


class _Partition(NamedTuple):
    """A partition of kept files: its record and what is left of the filter in it; None where it has no match."""

    record: Record
    spec_id: int
    residual: BooleanExpression | None


class _Spec:
    """The filter of a scan as PyIceberg evaluates it on the partition tuples of one spec.

    Args:
        scan: the scan.
        spec: the spec.
        bound: the filter of the scan, bound to the table's schema.
    """

    def __init__(self, scan: DataScan, spec: PartitionSpec, bound: BooleanExpression) -> None:
        self._scan = scan
        self._spec = spec
        self._schema = scan.table_metadata.schema()
        self._bound = bound
        self.field_count = len(spec.fields)
        filter_ids = extract_field_ids(bound)
        self.is_constant = not any(field.source_id in filter_ids for field in spec.fields)

    def may_match(self, record: Record) -> bool:
        return self.is_constant or self._evaluator(record)

    def residual(self, record: Record) -> BooleanExpression:
        if self.is_constant:
            return self._common_residual
        try:
            return self._residual_of(record)
        except TypeError:
            # PyIceberg compares the null of a tuple with a literal here. The whole filter is always right.
            return self._scan.row_filter

    @cached_property
    def _common_residual(self) -> BooleanExpression:
        """The residual of every tuple, where the filter is about no source column of the spec."""
        predicates = _predicates(self._scan.row_filter)
        if predicates is not None and predicates == _predicates(self._bound):
            # To bind the filter made no predicate a constant, so that all of it is left.
            return self._scan.row_filter
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


def _predicates(expression: BooleanExpression) -> int | None:
    """Returns the number of predicates of an expression of AND and OR; None for others."""
    if isinstance(expression, UnboundPredicate | BoundPredicate):
        return 1
    if not isinstance(expression, And | Or):
        return None
    left, right = _predicates(expression.left), _predicates(expression.right)
    return None if left is None or right is None else left + right


class TaskMaker:
    """Makes the tasks of one scan.

    Args:
        scan: the scan.
        bound: its filter, bound to the table's schema.
        deletes: PyIceberg's look-up of all live delete files.
        keeps_empty: whether files without rows are planned.
    """

    def __init__(self, scan: DataScan, bound: BooleanExpression, deletes: DeleteFileIndex, keeps_empty: bool) -> None:
        self._deletes = None if deletes.is_empty() else deletes
        self._keeps_empty = keeps_empty
        self._bound = bound
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
            deletes = None
            if self._deletes is not None:
                deletes = self._deletes.for_data_file(sequence, file, partition_key=partition.record)
            residual = AlwaysTrue() if partition.residual is None else partition.residual
            tasks.append(FileScanTask(file, delete_files=deletes, residual=residual))
        return tasks

    def _partition(self, segment: Segment, ordinal: int) -> _Partition:
        spec_id = segment.partitions.spec_id(ordinal)
        if spec_id not in self._specs:
            self._specs[spec_id] = _Spec(self._scan, self._scan.table_metadata.specs()[spec_id], self._bound)
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
    values = _NOTHING.copy()
    values[_CONTENT] = DataFileContent.DATA
    values[_PATH] = path
    values[_FORMAT] = form
    values[_PARTITION] = partition.record
    values[_RECORDS] = records
    values[_SIZE] = size
    values[_SPLITS] = splits
    values[_SORT_ORDER] = sort_order
    # What `DataFile(*values)` and its setter of the spec id do, in a quarter of the time.
    file = object.__new__(DataFile)
    object.__setattr__(file, "_data", values)
    object.__setattr__(file, "_spec_id", partition.spec_id)
    return file
