# SPDX-License-Identifier: Apache-2.0
"""Which counts and bounds Iceberg wants of each column: its metrics modes, from the properties of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pyiceberg.io.pyarrow import MetricModeTypes, match_metrics_mode
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import DoubleType, FloatType, IcebergType, ListType, MapType, StructType

from zonemap.ingest.table_properties import whole_number

Mode = Literal["none", "counts", "full"]

_DEFAULT_KEY = "write.metadata.metrics.default"
_DEFAULT = "truncate(16)"
_COLUMN_KEY = "write.metadata.metrics.column."
_INFERRED_KEY = "write.metadata.metrics.max-inferred-column-defaults"
_INFERRED = 100


@dataclass(frozen=True)
class ColumnMetrics:
    """The metrics of one column of primitive values.

    Attributes:
        mode: "none", "counts", or "full" for counts and bounds.
        length: The length of the bounds of texts and binaries, in characters or bytes; None for all of them.
        is_float: The column can hold NaN.
        repeated: The column lies in a list or a map; it has no bounds and no count of NaNs.
    """

    mode: Mode
    length: int | None
    is_float: bool
    repeated: bool

    @property
    def has_bounds(self) -> bool:
        """True if the column has bounds."""
        return self.mode == "full" and not self.repeated

    @property
    def counts_nans(self) -> bool:
        """True if the NaNs of the column are counted."""
        return self.is_float and self.mode != "none" and not self.repeated


def columns_of(metadata: TableMetadata) -> dict[int, ColumnMetrics]:
    """Returns the metrics of each column of primitive values in the table's current schema, by field id."""
    schema = metadata.schema()
    modes = _modes(metadata, schema)
    found = {}
    for field_id, kind, repeated in _leaves(schema.as_struct(), repeated=False):
        mode = match_metrics_mode(modes[field_id])
        if mode.type in {MetricModeTypes.TRUNCATE, MetricModeTypes.FULL}:
            name: Mode = "full"
        else:
            name = "none" if mode.type == MetricModeTypes.NONE else "counts"
        is_float = isinstance(kind, FloatType | DoubleType)
        found[field_id] = ColumnMetrics(name, mode.length, is_float, repeated)
    return found


def _modes(metadata: TableMetadata, schema: Schema) -> dict[int, str]:
    """Returns the mode of each column as text: the default, the sorted columns, then the properties of columns."""
    properties = metadata.properties
    default = properties.get(_DEFAULT_KEY)
    most = whole_number(properties, _INFERRED_KEY, _INFERRED)
    inferred = schema.fields if default is not None or len(schema.fields) <= most else schema.fields[:most]
    within = {field_id for field in inferred for field_id in _ids(field.field_id, field.field_type)}
    default = _valid(default, _DEFAULT) if default is not None else _DEFAULT
    modes = {key: default if key in within else "none" for key in schema._lazy_id_to_field}
    for field in metadata.sort_order().fields:
        if field.source_id in modes and field.transform.preserves_order and default in {"none", "counts"}:
            modes[field.source_id] = _DEFAULT
    names = {schema.find_column_name(key): key for key in modes}
    for key, value in properties.items():
        if key.startswith(_COLUMN_KEY) and (found := names.get(key.removeprefix(_COLUMN_KEY))) is not None:
            modes[found] = _valid(value, default)
    return modes


def _valid(mode: str, otherwise: str) -> str:
    """Returns the mode, or the other one if it is malformed, as Iceberg does."""
    try:
        match_metrics_mode(mode)
    except ValueError:
        return otherwise
    return mode.strip().lower()


def _ids(field_id: int, kind: IcebergType) -> Iterator[int]:
    yield field_id
    for below_id, below, _ in _below(kind):
        yield from _ids(below_id, below)


def _leaves(struct: StructType, *, repeated: bool) -> Iterator[tuple[int, IcebergType, bool]]:
    pending = [(field.field_id, field.field_type, repeated) for field in struct.fields]
    while pending:
        field_id, kind, inside = pending.pop()
        below = list(_below(kind))
        if below:
            pending += [(below_id, below_kind, inside or many) for below_id, below_kind, many in below]
        elif kind.is_primitive:
            yield field_id, kind, inside


def _below(kind: IcebergType) -> Iterator[tuple[int, IcebergType, bool]]:
    """Yields id and type of the parts of a nested type, and whether a row can have many of them."""
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield field.field_id, field.field_type, False
    elif isinstance(kind, ListType):
        yield kind.element_id, kind.element_type, True
    elif isinstance(kind, MapType):
        yield kind.key_id, kind.key_type, True
        yield kind.value_id, kind.value_type, True


def float_paths(schema: Schema, columns: Mapping[int, ColumnMetrics]) -> dict[int, tuple[int, ...]]:
    """Returns the positions that lead to each column whose NaNs are counted, by field id."""
    found: dict[int, tuple[int, ...]] = {}

    def visit(struct: StructType, above: tuple[int, ...]) -> None:
        for position, field in enumerate(struct.fields):
            path = (*above, position)
            if isinstance(field.field_type, StructType):
                visit(field.field_type, path)
            elif field.field_id in columns and columns[field.field_id].counts_nans:
                found[field.field_id] = path

    visit(schema.as_struct(), ())
    return found
