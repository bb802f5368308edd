# SPDX-License-Identifier: Apache-2.0
"""Data files in the JSON form of Iceberg's ContentFileParser, which the committer reads."""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

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
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)

from zonemap.common.errors import ZonemapError

if TYPE_CHECKING:
    from pyiceberg.types import StructType

    from zonemap.ingest.statistics import FileStatistics

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS = 1000


@dataclass(frozen=True)
class WrittenFile:
    """A complete Parquet data file.

    Attributes:
        path: Its location, as the table's location provider names it.
        size: Its size in bytes.
        spec_id: The partition spec that it was written with.
        partition: The values of the spec's fields in Iceberg's internal form (days, microseconds, bytes, ...).
        partition_type: The names, ids and types of these values.
        statistics: Counts and bounds of its columns.
        sort_order_id: The sort order that its rows have; None if they have none.
    """

    path: str
    size: int
    spec_id: int
    partition: tuple[Any, ...]
    partition_type: StructType
    statistics: FileStatistics
    sort_order_id: int | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.statistics.rows

    def to_json(self) -> dict[str, Any]:
        """Returns the JSON object that ``ContentFileParser.fromJson`` reads.

        The names of content and format, and the partition as an object by field id, are read by every version of
        Iceberg that has the parser; later versions write other forms.
        """
        found = self.statistics
        json: dict[str, Any] = {
            "spec-id": self.spec_id,
            "content": "DATA",
            "file-path": self.path,
            "file-format": "PARQUET",
        }
        if self.partition_type.fields:
            fields = zip(self.partition_type.fields, self.partition, strict=True)
            json["partition"] = {str(field.field_id): partition_value(field, value) for field, value in fields}
        json |= {
            "file-size-in-bytes": self.size,
            "record-count": found.rows,
            "column-sizes": _map(found.column_sizes),
            "value-counts": _map(found.value_counts),
            "null-value-counts": _map(found.null_counts),
        }
        if found.nan_counts is not None:
            json["nan-value-counts"] = _map(found.nan_counts)
        json |= {
            "lower-bounds": _map({key: value.hex().upper() for key, value in found.lower_bounds.items()}),
            "upper-bounds": _map({key: value.hex().upper() for key, value in found.upper_bounds.items()}),
            "split-offsets": list(found.split_offsets),
        }
        if self.sort_order_id is not None:
            json["sort-order-id"] = self.sort_order_id
        return json


def partition_value(field: Any, value: Any) -> Any:
    """Returns the JSON form of one partition value.

    Raises:
        ZonemapError: JSON has no form for the value: a NaN, an infinity, or a time outside the years 1 to 9999.
    """
    try:
        return single_value(field.field_type, value)
    except (OverflowError, ValueError) as error:
        raise ZonemapError(
            f"Cannot write partition field '{field.name}' with the value {value!r}: {error}. Leave these rows out, or "
            "write them with Spark without the spool."
        ) from error


def single_value(iceberg_type: IcebergType, value: Any) -> Any:
    """Returns the JSON single-value form of a value in Iceberg's internal form.

    Raises:
        ValueError: JSON has no form for the value.
        OverflowError: the value is a time outside the years 1 to 9999.
    """
    if value is None:
        return None
    for types, convert in _CONVERSIONS.items():
        if isinstance(iceberg_type, types):
            return convert(iceberg_type, value)
    raise ValueError(f"the type {iceberg_type} has no JSON form")


def _map(values: Mapping[int, Any]) -> dict[str, list[Any]]:
    return {"keys": list(values), "values": list(values.values())}


def _number(_: IcebergType, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return value


def _float(iceberg_type: IcebergType, value: float) -> float:
    return _number(iceberg_type, struct.unpack("<f", struct.pack("<f", value))[0])


def _decimal(iceberg_type: IcebergType, value: Decimal) -> str:
    scale = iceberg_type.scale if isinstance(iceberg_type, DecimalType) else 0
    unscaled = int(value.scaleb(scale, _WIDE))
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    sign = "-" if unscaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def _date(_: IcebergType, days: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def _time(_: IcebergType, micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%H:%M:%S.%f")


def _instant(iceberg_type: IcebergType, value: int) -> str:
    nanos = isinstance(iceberg_type, TimestampNanoType | TimestamptzNanoType)
    micros, rest = divmod(value, _NANOS) if nanos else (value, 0)
    zone = "+00:00" if isinstance(iceberg_type, TimestamptzType | TimestamptzNanoType) else ""
    moment = _EPOCH + timedelta(microseconds=micros)
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds")
    return f"{text}{rest:03d}{zone}" if nanos else f"{text}{zone}"


def _uuid(_: IcebergType, value: bytes | uuid.UUID) -> str:
    return str(value if isinstance(value, uuid.UUID) else uuid.UUID(bytes=value))


def _hex(_: IcebergType, value: bytes) -> str:
    return value.hex().upper()


def _same(_: IcebergType, value: Any) -> Any:
    return value


_WIDE = Context(prec=80)
_CONVERSIONS: dict[tuple[type[IcebergType], ...], Callable[[Any, Any], Any]] = {
    (BooleanType, IntegerType, LongType, StringType): _same,
    (FloatType,): _float,
    (DoubleType,): _number,
    (DecimalType,): _decimal,
    (DateType,): _date,
    (TimeType,): _time,
    (TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType): _instant,
    (UUIDType,): _uuid,
    (FixedType, BinaryType): _hex,
    (UnknownType,): lambda *_: None,
}
