# SPDX-License-Identifier: Apache-2.0
"""Arrow batches of a caller become batches with the columns, types and field ids of the table.

PyIceberg's own conversion loses nulls of lists and maps whose elements are structs, therefore it is not used here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException, pyarrow_to_schema, schema_to_pyarrow
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    UnknownType,
    UUIDType,
)

from zonemap.common import causes
from zonemap.common.errors import ZonemapError
from zonemap.ingest.written import written_schema, written_type

_UUID_BYTES = 16
#: The first format version with a type for columns of nothing but nulls, which Arrow gives to data without a value.
_WITH_NULL_TYPE = 3


class Conversion:
    """Converts batches of one Arrow schema for one table schema; raises before the first row if it cannot."""

    def __init__(self, name: str, schema: Schema, provided: pa.Schema) -> None:
        self._name = name
        self._wanted = schema
        self._schema = written_schema(schema)
        if not self._schema.fields:
            raise self._refused("it has no column whose values this writer can write", "Write with Spark.")
        #: The schema in the file: the names that Iceberg writes to Parquet, and field ids as metadata.
        self.file_schema: pa.Schema = schema_to_pyarrow(sanitize_column_names(self._schema), include_field_ids=True)
        duplicates = sorted({column for column in provided.names if provided.names.count(column) > 1})
        if duplicates:
            raise self._refused(f"the data has more than one column '{duplicates[0]}'")
        known = {field.name for field in schema.fields}
        extra = [column for column in provided.names if column not in known]
        if extra:
            raise self._refused(
                f"the table has no column {', '.join(repr(column) for column in extra)}",
                "Add the column to the table first, or leave it out of the data.",
            )
        self._provided = set(provided.names)
        self._check(provided)

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the batch with the columns of the file.

        Raises:
            ZonemapError: a value does not fit into the table's type, or a required column has a null.
        """
        arrays = []
        for field, target in zip(self._schema.fields, self.file_schema, strict=True):
            if field.name in self._provided:
                array = self._converted(field, batch.column(field.name), target.type)
            elif field.write_default is None:
                array = self._converted(field, pa.nulls(batch.num_rows), target.type)
            else:
                array = pa.repeat(pa.scalar(field.write_default, target.type), batch.num_rows)
            if field.required and array.null_count:
                raise self._refused(f"the required column '{field.name}' has {array.null_count:,} nulls")
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.file_schema)

    def _converted(self, field: NestedField, array: pa.Array, target: pa.DataType) -> pa.Array:
        try:
            return _array(array, field.field_type, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise self._refused(
                f"a value of column '{field.name}' does not fit into {field.field_type} ({causes.sentence(error)})"
            ) from error

    def _check(self, provided: pa.Schema) -> None:
        for field in self._wanted.fields:
            if field.required and written_type(field.field_type) is None:
                raise self._unwritable(field.name, field.field_type)
            if field.name not in self._provided:
                if field.required and field.write_default is None:
                    raise self._refused(f"the required column '{field.name}' is missing")
                continue
            given = provided.field(field.name)
            one = pa.schema([given.with_type(_plain(given.type))])
            try:
                found = iceberg_schema(one, self._wanted.name_mapping, _WITH_NULL_TYPE)
            except ValueError as error:
                raise self._refused(f"column '{field.name}': {causes.sentence(error)}") from error
            self._compare(field.name, found.fields[0].field_type, field.field_type)

    def _compare(self, path: str, found: IcebergType, wanted: IcebergType) -> None:
        """Raises unless each value of type ``found`` may have a place in ``wanted``."""
        if isinstance(found, UnknownType):
            return  # nothing but nulls
        if written_type(wanted) is None:
            raise self._unwritable(path, wanted)
        if isinstance(wanted, PrimitiveType) and isinstance(found, PrimitiveType):
            if not (fits(found, wanted) or _is_other_unit(found, wanted)):
                raise self._refused(f"column '{path}' has the type {found}, and the table has {wanted}")
        elif isinstance(wanted, StructType) and isinstance(found, StructType):
            self._compare_fields(path, found, wanted)
        elif isinstance(wanted, ListType) and isinstance(found, ListType):
            self._compare(f"{path}.element", found.element_type, wanted.element_type)
        elif isinstance(wanted, MapType) and isinstance(found, MapType):
            self._compare(f"{path}.key", found.key_type, wanted.key_type)
            self._compare(f"{path}.value", found.value_type, wanted.value_type)
        else:
            raise self._refused(f"column '{path}' has the type {found}, and the table has {wanted}")

    def _compare_fields(self, path: str, found: StructType, wanted: StructType) -> None:
        given = {field.name: field for field in found.fields}
        for field in wanted.fields:
            below = given.pop(field.name, None)
            if below is not None:
                self._compare(f"{path}.{field.name}", below.field_type, field.field_type)
            elif field.required or field.write_default is not None or field.initial_default is not None:
                raise self._refused(f"the field '{path}.{field.name}' is missing, which is required or has a default")
        if given:
            raise self._refused(f"the table has no field '{path}.{next(iter(given))}'")

    def _unwritable(self, path: str, kind: IcebergType) -> ZonemapError:
        return self._refused(
            f"column '{path}' has the type {kind}, whose values this writer cannot write",
            "Leave the column out of the data, or write with Spark.",
        )

    def _refused(self, why: str, then: str = "Change the data to the table's schema.") -> ZonemapError:
        return ZonemapError(f"Cannot write to '{self._name}': {why}. {then}")


def iceberg_schema(arrow: pa.Schema, mapping: NameMapping | None, format_version: int) -> Schema:
    """Returns the Iceberg schema of an Arrow schema, with its own field ids or the field ids of the mapping.

    Raises:
        ValueError: Iceberg has no such type, or a column has no field id.
    """
    try:
        return pyarrow_to_schema(arrow, name_mapping=mapping, format_version=cast(Any, format_version))
    except (UnsupportedPyArrowTypeException, TypeError) as error:
        raise ValueError(str(error)) from error


def fits(found: PrimitiveType, wanted: PrimitiveType) -> bool:
    """Returns True if Iceberg promotes the type, or if the data is nothing but nulls or has UUIDs as bytes."""
    if found == wanted or isinstance(found, UnknownType):
        return True
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        return found.scale == wanted.scale and found.precision <= wanted.precision
    return (
        (isinstance(found, IntegerType) and isinstance(wanted, LongType))
        or (isinstance(found, FloatType) and isinstance(wanted, DoubleType))
        or (isinstance(wanted, UUIDType) and found == FixedType(_UUID_BYTES))
    )


def _is_other_unit(found: PrimitiveType, wanted: PrimitiveType) -> bool:
    """Returns True for times in nanoseconds and in microseconds; the conversion refuses to cut a time."""
    kinds = {type(found), type(wanted)}
    return kinds in ({TimestampNanoType, TimestampType}, {TimestamptzNanoType, TimestamptzType})


def _plain(kind: pa.DataType) -> pa.DataType:
    """Returns the type that Iceberg knows: no dictionaries and list views, and UTC as the zone of instants.

    Arrow stores an instant of any zone as the time in UTC.
    """
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(field) for field in kind])
    if pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind):
        return pa.large_list(_plain_field(kind.value_field))
    if pa.types.is_list(kind) or _is_view(kind):
        return pa.list_(_plain_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_plain_field(kind.key_field), _plain_field(kind.item_field))
    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz is not None else kind


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_plain(field.type))


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _array(array: pa.Array, wanted: IcebergType, target: pa.DataType) -> pa.Array:
    if pa.types.is_null(array.type):
        if not isinstance(wanted, StructType):
            return pa.nulls(len(array), target)
        array = pa.nulls(len(array), pa.struct([]))
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(wanted, StructType):
        return _struct(array, wanted, target)
    if isinstance(wanted, ListType):
        offsets, values = _flat(array)
        values = _required(_array(values, wanted.element_type, target.value_type), wanted.element_required, "element")
        make = pa.LargeListArray if pa.types.is_large_list(target) else pa.ListArray
        kind = pa.int64() if pa.types.is_large_list(target) else pa.int32()
        return make.from_arrays(offsets.cast(kind), values, type=target, mask=array.is_null())
    if isinstance(wanted, MapType):
        offsets, entries = _flat(array)
        keys = _array(entries.field(0), wanted.key_type, target.key_type)
        items = _array(entries.field(1), wanted.value_type, target.item_type)
        items = _required(items, wanted.value_required, "value")
        return pa.MapArray.from_arrays(offsets.cast(pa.int32()), keys, items, type=target, mask=array.is_null())
    return _primitive(array, wanted, target)


def _struct(array: pa.Array, wanted: StructType, target: pa.DataType) -> pa.Array:
    names = [field.name for field in array.type]
    mask = array.is_null()
    arrays = []
    for field, child in zip(wanted.fields, target, strict=True):
        if field.name in names:
            below = _array(array.field(names.index(field.name)), field.field_type, child.type)
        else:
            below = pa.nulls(len(array), child.type)
        if field.required and below.null_count:
            below = _required(pc.if_else(mask, _filler(child.type), below), True, field.name)
        arrays.append(below)
    return pa.StructArray.from_arrays(arrays, fields=list(target), mask=mask)


def _filler(kind: pa.DataType) -> pa.Scalar:
    """Returns a value for a required field below a null struct; Parquet does not store it."""
    if pa.types.is_nested(kind):
        raise pa.ArrowInvalid("a required nested field lies in a struct that is null")
    if isinstance(kind, pa.BaseExtensionType):
        return pa.scalar(bytes(_UUID_BYTES), kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.scalar(bytes(kind.byte_width), kind)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return pa.scalar("", kind)
    if pa.types.is_large_binary(kind) or pa.types.is_binary(kind):
        return pa.scalar(b"", kind)
    return pa.scalar(False, kind) if pa.types.is_boolean(kind) else pa.scalar(0, pa.int32()).cast(kind)


def _required(array: pa.Array, required: bool, name: str) -> pa.Array:
    if required and array.null_count:
        raise pa.ArrowInvalid(f"the required field '{name}' has {array.null_count:,} nulls")
    return array


def _flat(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Returns new offsets from 0 and the elements of lists or the entries of maps, and leaves out null rows."""
    # A cast of a list view takes the values of other rows if the views are not in the order of the rows.
    if pa.types.is_fixed_size_list(array.type) or _is_view(array.type):
        lengths = pc.list_value_length(array).cast(pa.int64())
    else:
        ends = array.offsets.cast(pa.int64())
        lengths = pc.subtract(ends.slice(1), ends.slice(0, len(array)))
    lengths = pc.if_else(array.is_null(), 0, lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    if pa.types.is_map(array.type):
        entries = pa.StructArray.from_arrays([array.keys, array.items], names=["key", "value"])
        array = pa.ListArray.from_arrays(array.offsets, entries).filter(array.is_valid())
    return offsets, array.flatten()


def _primitive(array: pa.Array, wanted: IcebergType, target: pa.DataType) -> pa.Array:
    if isinstance(array, pa.ExtensionArray) and not isinstance(target, pa.BaseExtensionType):
        array = array.storage
    if isinstance(wanted, UUIDType) and not isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(target, array.cast(target.storage_type))
    return array if array.type == target else array.cast(target)


def batches_of(data: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]] | None:
    """Returns schema and batches of a table, a batch, a reader or an iterable of batches; None for an empty iterable.

    Raises:
        ZonemapError: ``data`` is something else.
    """
    if isinstance(data, pa.Table):
        return data.schema, data.to_batches()
    if isinstance(data, pa.RecordBatch):
        return data.schema, [data]
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, data
    if isinstance(data, str | bytes | Mapping) or hasattr(data, "columns") or not hasattr(data, "__iter__"):
        raise ZonemapError(
            f"Cannot write a {type(data).__name__}: give a pyarrow Table, a RecordBatch, a RecordBatchReader, or an "
            "iterable of RecordBatches."
        )
    return _of_iterable(iter(data))


def _of_iterable(items: Iterator[Any]) -> tuple[pa.Schema, Iterable[pa.RecordBatch]] | None:
    first = next(items, None)
    if first is None:
        return None
    schema = _batch(first).schema

    def following() -> Iterator[pa.RecordBatch]:
        for item in itertools.chain([first], items):
            if _batch(item).schema.remove_metadata() != schema.remove_metadata():
                raise ZonemapError("Cannot write batches of different schemas at once: write them one after another.")
            yield from item.to_batches() if isinstance(item, pa.Table) else [item]

    return schema, following()


def _batch(item: Any) -> Any:
    if isinstance(item, pa.RecordBatch | pa.Table):
        return item
    raise ZonemapError(f"Cannot write a {type(item).__name__} in an iterable: give RecordBatches.")
