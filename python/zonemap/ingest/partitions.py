# SPDX-License-Identifier: Apache-2.0
"""Divides batches by the values of the table's partition spec."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionFieldValue, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    TimeTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    IcebergType,
    IntegerType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from zonemap.common.errors import ZonemapError

_MICROS = 1_000_000
_HOUR = 3600
_DAY = 24 * _HOUR
_ROW = "row"


@dataclass(frozen=True)
class Tuple(PartitionKey):
    """A partition key for PyIceberg's location providers that also allows two fields of one source column."""

    @cached_property
    def partition(self) -> Record:
        """The values of the partition fields in Iceberg's internal form."""
        return Record(*(item.value for item in self.field_values))

    def to_path(self) -> str:
        """Returns the folder of the partition, such as ``day=2024-01-01``."""
        return self.partition_spec.partition_to_path(self.partition, self.schema)


def identity(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns a key of partition values: 0.0 and -0.0 are two partitions for Iceberg, and equal for Python."""
    return tuple((value, math.copysign(1, value)) if isinstance(value, float) else value for value in values)


class Partitions:
    """Divides batches by the partition spec of a table."""

    def __init__(self, name: str, spec: PartitionSpec, schema: Schema) -> None:
        self._spec = spec
        self._schema = schema
        self._sources = [_Source(name, field, schema) for field in spec.fields]
        #: Names, ids and types of the partition values.
        self.type: StructType = spec.partition_type(schema) if spec.fields else StructType()

    def divide(self, batch: pa.RecordBatch) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
        """Yields the partition values and their rows, in order of the first row of each partition."""
        if not self._sources:
            yield (), batch
            return
        keys = [source.values(batch) for source in self._sources]
        names = [f"k{position}" for position in range(len(keys))]
        rows = pa.array(range(batch.num_rows), pa.int64())
        table = pa.Table.from_arrays([*keys, rows], names=[*names, _ROW])
        groups = table.group_by(names, use_threads=False).aggregate([(_ROW, "min"), (_ROW, "list")])
        groups = groups.sort_by(f"{_ROW}_min")
        for number in range(groups.num_rows):
            values = tuple(
                source.internal(groups.column(name)[number]) for source, name in zip(self._sources, names, strict=True)
            )
            if groups.num_rows == 1:
                yield values, batch
            else:
                yield values, batch.take(groups.column(f"{_ROW}_list")[number].values)

    def key(self, values: tuple[Any, ...]) -> PartitionKey | None:
        """Returns the key for a location provider; None for a table without partitions."""
        if not self._spec.fields:
            return None
        pairs = zip(self._spec.fields, values, strict=True)
        return Tuple([PartitionFieldValue(field, value) for field, value in pairs], self._spec, self._schema)


class _Source:
    """Computes one partition field of a batch."""

    def __init__(self, name: str, field: PartitionField, schema: Schema) -> None:
        if isinstance(field.transform, UnknownTransform):
            raise ZonemapError(
                f"Cannot write to '{name}': the transform of partition field '{field.name}' is unknown. Update "
                "PyIceberg, or write with Spark."
            )
        self._field = field.name
        self._transform = field.transform
        self._path = _path(schema, field.source_id)
        self._type = schema.find_field(field.source_id).field_type

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        """Returns the value of each row as an array of physical values: numbers, texts, bytes.

        Raises:
            ZonemapError: the transform of a value does not fit into the type of the partition field.
        """
        array: Any = batch.column(self._path[0])
        for position in self._path[1:]:
            array = array.flatten()[position]
        array = _physical(array, self._type)
        transform = self._transform
        if isinstance(transform, IdentityTransform):
            return array
        if isinstance(transform, VoidTransform):
            return pa.nulls(len(array), pa.int32())
        if isinstance(transform, TruncateTransform) and isinstance(self._type, StringType):
            return pc.utf8_slice_codeunits(array, 0, transform.width)
        if isinstance(transform, TimeTransform) and not isinstance(self._type, DateType):
            nanos = isinstance(self._type, TimestampNanoType | TimestamptzNanoType)
            unit = (_HOUR if isinstance(transform, HourTransform) else _DAY) * _MICROS * (1000 if nanos else 1)
            whole = _floor_divided(array, unit).cast(pa.int32())
            if isinstance(transform, DayTransform | HourTransform):
                return whole
            return _by_distinct_value(whole, transform, DateType())
        try:
            return _by_distinct_value(array, transform, self._type)
        except (pa.ArrowInvalid, OverflowError) as error:
            raise ZonemapError(
                f"Cannot write partition field '{self._field}': {transform} of a value does not fit into the type "
                f"{transform.result_type(self._type)} of the field ({error}). Leave the rows with the least values out."
            ) from error

    def internal(self, scalar: pa.Scalar) -> Any:
        """Returns a value of an array of this source in Iceberg's internal form."""
        return scalar.as_py()


def _by_distinct_value(array: pa.Array, transform: Transform[Any, Any], kind: IcebergType) -> pa.Array:
    """Applies PyIceberg's transform of single values to each distinct value."""
    encoded = array.dictionary_encode()
    apply = transform.transform(kind)
    distinct = [apply(value) for value in encoded.dictionary.to_pylist()]
    result = transform.result_type(kind)
    arrow = pa.int32() if isinstance(result, IntegerType | DateType) else array.type
    return pa.array(distinct, arrow).take(encoded.indices)


def _physical(array: pa.Array, kind: IcebergType) -> pa.Array:
    """Returns dates and times as numbers, UUIDs as bytes, all else as it is."""
    if isinstance(kind, UUIDType):
        return array.storage if isinstance(array, pa.ExtensionArray) else array
    if isinstance(kind, DateType):
        return array.cast(pa.int32())
    if isinstance(kind, TimeType | TimestampType | TimestamptzType | TimestampNanoType | TimestamptzNanoType):
        return array.cast(pa.int64())
    return array


def _floor_divided(array: pa.Array, unit: int) -> pa.Array:
    """Returns the quotients, rounded down also for instants before 1970."""
    quotient = pc.divide(array, unit)
    below = pc.less(pc.subtract(array, pc.multiply(quotient, unit)), 0)
    return pc.subtract(quotient, pc.cast(below, pa.int64()))


def _path(schema: Schema, field_id: int) -> tuple[int, ...]:
    """Returns the positions that lead to a column, through structs only."""

    def find(struct: StructType) -> tuple[int, ...] | None:
        for position, field in enumerate(struct.fields):
            if field.field_id == field_id:
                return (position,)
            if isinstance(field.field_type, StructType) and (below := find(field.field_type)) is not None:
                return (position, *below)
        return None

    found = find(schema.as_struct())
    if found is None:
        raise ZonemapError(f"Cannot partition by the field {field_id}: the schema has no such column outside lists.")
    return found
