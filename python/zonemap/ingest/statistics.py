# SPDX-License-Identifier: Apache-2.0
"""Counts and bounds of the columns of a Parquet file, from its footer.

A bound is left out whenever a row group has values without a bound, for example because a text is longer than Parquet
keeps in a footer. PyIceberg's own statistics ignore such a row group, so that its values lie outside the bounds. A
column whose nulls or NaNs are not counted has no bounds either: Iceberg takes an unknown count for zero when it proves
that each row of a file matches, for example before it deletes whole files. Footers do not count NaNs, so the writer
counts and bounds columns of floats itself. A column of UUIDs has no bounds: Parquet orders them as unsigned bytes, and
Iceberg's evaluators compare them as two signed numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    StringType,
    UUIDType,
)

from zonemap.ingest.metrics import ColumnMetrics

_GREATEST_CHAR = 0x10FFFF
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000
_GREATEST_BYTE = 0xFF
_INT96 = "INT96"


@dataclass(frozen=True)
class FileStatistics:
    """Counts and bounds by field id; ``nan_counts`` is None if NaNs were not counted."""

    rows: int
    column_sizes: Mapping[int, int]
    value_counts: Mapping[int, int]
    null_counts: Mapping[int, int]
    nan_counts: Mapping[int, int] | None
    lower_bounds: Mapping[int, bytes]
    upper_bounds: Mapping[int, bytes]
    split_offsets: tuple[int, ...]


@dataclass
class FloatColumn:
    """Counts and bounds of a column of floats in one file; the bounds leave NaNs out."""

    nulls: int = 0
    nans: int = 0
    low: float | None = None
    high: float | None = None

    def add(self, array: pa.Array) -> None:
        """Adds values."""
        is_nan = pc.fill_null(pc.is_nan(array), False)
        self.nulls += array.null_count
        self.nans += pc.sum(is_nan).as_py() or 0
        found = pc.min_max(pc.if_else(is_nan, None, array)).as_py()
        if found["min"] is not None:
            self.low = found["min"] if self.low is None else min(self.low, found["min"])
            self.high = found["max"] if self.high is None else max(self.high, found["max"])


@dataclass
class _Column:
    """Sums over the row groups read so far of one column; ``nulls`` is None if one of them does not count nulls."""

    size: int = 0
    values: int = 0
    nulls: int | None = 0
    low: Any = None
    high: Any = None
    bounded: bool = True


class FooterReader:
    """Reads statistics from footers of files of one schema.

    Args:
        schema: The table's schema.
        columns: The metrics of each column, by field id.
        paths: The field id of each column of the files, by its path in the file.
    """

    def __init__(self, schema: Schema, columns: Mapping[int, ColumnMetrics], paths: Mapping[str, int]) -> None:
        self._columns = columns
        self._paths = paths
        self._types = {key: schema.find_field(key).field_type for key in columns}

    def read(self, footer: pq.FileMetaData, floats: Mapping[int, FloatColumn] | None) -> FileStatistics:
        """Returns the statistics of a file.

        Args:
            footer: The footer of the file.
            floats: Counts and bounds of each float column outside of lists and maps; None if they are unknown.
        """
        found: dict[int, _Column] = {}
        offsets = []
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            offsets.append(_offset(group))
            for position in range(group.num_columns):
                chunk = group.column(position)
                if (key := self._paths.get(chunk.path_in_schema)) is not None and key in self._columns:
                    self._add(found.setdefault(key, _Column()), chunk, self._columns[key])
        for key, values in (floats or {}).items():
            column = found.setdefault(key, _Column())
            column.nulls, column.low, column.high, column.bounded = values.nulls, values.low, values.high, True
        counted = {key: column for key, column in found.items() if self._columns[key].mode != "none"}
        bounds = {
            key: _bounds(column, self._columns[key], self._types[key])
            for key, column in counted.items()
            if self._columns[key].has_bounds and column.bounded and column.low is not None
        }
        return FileStatistics(
            rows=footer.num_rows,
            column_sizes={key: column.size for key, column in found.items()},
            value_counts={key: column.values for key, column in counted.items()},
            null_counts={key: column.nulls for key, column in counted.items() if column.nulls is not None},
            nan_counts=None if floats is None else {key: values.nans for key, values in floats.items()},
            lower_bounds={key: low for key, (low, _) in bounds.items() if low is not None},
            upper_bounds={key: high for key, (_, high) in bounds.items() if high is not None},
            split_offsets=tuple(sorted(offsets)),
        )

    @staticmethod
    def _add(column: _Column, chunk: Any, metrics: ColumnMetrics) -> None:
        column.size += chunk.total_compressed_size
        column.values += chunk.num_values
        found = chunk.statistics if chunk.is_stats_set else None
        nulls = found.null_count if found is not None and found.has_null_count else None
        column.nulls = None if nulls is None or column.nulls is None else column.nulls + nulls
        if not metrics.has_bounds or not column.bounded:
            return
        logical = found.logical_type.type if found is not None else ""
        if found is None or nulls is None or metrics.is_float or chunk.physical_type == _INT96 or logical == "UUID":
            column.bounded = False
            return
        if not found.has_min_max:
            # A row group of nulls has no value to bound.
            column.bounded = nulls == chunk.num_values
            return
        low, high = _comparable(chunk, found.min_raw), _comparable(chunk, found.max_raw)
        column.low = low if column.low is None else min(column.low, low)
        column.high = high if column.high is None else max(column.high, high)


def _offset(group: Any) -> int:
    column = group.column(0)
    dictionary = column.dictionary_page_offset if column.has_dictionary_page else None
    return int(column.data_page_offset if dictionary is None else min(dictionary, column.data_page_offset))


def _comparable(chunk: Any, raw: Any) -> Any:
    """Returns a value that Python orders as Parquet does: decimals in bytes as unscaled numbers, all else as it is."""
    logical = chunk.statistics.logical_type.type
    if logical == "DECIMAL" and isinstance(raw, bytes):
        return int.from_bytes(raw, "big", signed=True)
    return raw


def _bounds(column: _Column, metrics: ColumnMetrics, kind: IcebergType) -> tuple[bytes | None, bytes | None]:
    low, high = column.low, column.high
    if isinstance(kind, StringType):
        try:
            return _lower_text(low.decode(), metrics.length), _upper_text(high.decode(), metrics.length)
        except UnicodeDecodeError:
            return None, None
    if isinstance(kind, BinaryType):
        return low[: metrics.length], _upper_bytes(high, metrics.length)
    if isinstance(kind, FloatType | DoubleType):
        # Iceberg orders -0.0 before 0.0, and Arrow does not distinguish them.
        low, high = -0.0 if low == 0 else low, 0.0 if high == 0 else high
    return serialized(kind, low), serialized(kind, high)


def serialized(kind: IcebergType, value: Any) -> bytes:
    """Returns the binary single-value form of a value as Parquet stores it; decimals as unscaled numbers."""
    if isinstance(kind, BooleanType):
        return b"\x01" if value else b"\x00"
    if isinstance(kind, FloatType | DoubleType):
        return struct.pack("<f" if isinstance(kind, FloatType) else "<d", value)
    if isinstance(kind, DecimalType):
        # As Java's BigInteger: as few bytes as hold the sign.
        return int(value).to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True)
    if isinstance(kind, UUIDType | FixedType):
        return bytes(value)
    return struct.pack("<i" if isinstance(kind, IntegerType | DateType) else "<q", value)


def _lower_text(value: str, length: int | None) -> bytes:
    return value[:length].encode()


def _upper_text(value: str, length: int | None) -> bytes | None:
    """Returns a text of at most ``length`` characters that is not below ``value``; None if there is none."""
    if length is None or len(value) <= length:
        return value.encode()
    kept = value[:length]
    while kept:
        code = ord(kept[-1])
        if code < _GREATEST_CHAR:
            following = _AFTER_SURROGATES if code == _BEFORE_SURROGATES else code + 1
            return (kept[:-1] + chr(following)).encode()
        kept = kept[:-1]
    return None


def _upper_bytes(value: bytes, length: int | None) -> bytes | None:
    """Returns at most ``length`` bytes that are not below ``value``; None if there are none."""
    if length is None or len(value) <= length:
        return value
    kept = value[:length].rstrip(bytes([_GREATEST_BYTE]))
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
