# SPDX-License-Identifier: Apache-2.0
"""The columns of a table that its data files have.

Iceberg stores no column of the type unknown, and its readers fail at a file that has one. The values of a geometry or a
geography have a form in Parquet that PyArrow does not write. A file without such a column has nulls in it.
"""

from __future__ import annotations

from pyiceberg.schema import Schema
from pyiceberg.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
)

_LEFT_OUT = (UnknownType, GeometryType, GeographyType)


def written_schema(schema: Schema) -> Schema:
    """Returns the schema without the columns and the fields of structs that data files do not have."""
    return Schema(*_fields(schema.as_struct()))


def written_type(kind: IcebergType) -> IcebergType | None:
    """Returns the type without the fields of structs that data files do not have; None if nothing is left."""
    if isinstance(kind, _LEFT_OUT):
        return None
    if isinstance(kind, StructType):
        fields = _fields(kind)
        is_whole = all(not field.required or written_type(field.field_type) is not None for field in kind.fields)
        return StructType(*fields) if fields and is_whole else None
    if isinstance(kind, ListType):
        element = written_type(kind.element_type)
        return None if element is None else kind.model_copy(update={"element_type": element})
    if isinstance(kind, MapType):
        key, value = written_type(kind.key_type), written_type(kind.value_type)
        return None if key is None or value is None else kind.model_copy(update={"key_type": key, "value_type": value})
    return kind


def _fields(struct: StructType) -> list[NestedField]:
    found = [(field, written_type(field.field_type)) for field in struct.fields]
    return [field.model_copy(update={"field_type": kind}) for field, kind in found if kind is not None]
