# SPDX-License-Identifier: Apache-2.0
"""The types of stored columns, and literals in the encoding of a column (docs/design/FORMAT.md, section 4)."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

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
    UUIDType,
)

from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.dictionary import Value

_LONGS = {
    "boolean",
    "int",
    "long",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
    "float",
    "double",
}
_BYTES = {"string", "binary", "uuid"}
_FLOATS = {"float", "double"}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_FIXED = re.compile(r"fixed\[(\d{1,9})\]")
_MOST_LONG_DIGITS = 18

#: Iceberg's names of PyIceberg's types without parameters.
_NAMES: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimeType: "time",
    TimestampType: "timestamp",
    TimestamptzType: "timestamptz",
    TimestampNanoType: "timestamp_ns",
    TimestamptzNanoType: "timestamptz_ns",
    StringType: "string",
    BinaryType: "binary",
    UUIDType: "uuid",
}

#: Types whose values compare in one order and encoding, by name: Iceberg's promotions.
_FAMILY = {"long": "int", "double": "float"}


@dataclass(frozen=True)
class StoredType:
    """The Iceberg type in which the bounds of a column were written.

    Attributes:
        name: Iceberg's name without parameters.
        size: the scale of a decimal, the length of a fixed type, else 0.
        is_long: whether values are numbers, and not bytes.
    """

    name: str
    size: int
    is_long: bool

    @property
    def may_hold_nan(self) -> bool:
        """Whether the type has NaN."""
        return self.name in _FLOATS

    def compares_with(self, other: StoredType) -> bool:
        """Whether values of both types compare: equal types, or types that Iceberg promotes to each other."""
        left, right = (_FAMILY.get(each.name, each.name) for each in (self, other))
        return left == right and self.size == other.size


def parse_type(text: str) -> StoredType:
    """Returns the type of Iceberg's name."""
    if text in _LONGS or text in _BYTES:
        return StoredType(text, 0, text in _LONGS)
    if found := _DECIMAL.fullmatch(text):
        precision, scale = int(found[1]), int(found[2])
        if 1 <= precision <= 38:
            return StoredType("decimal", scale, precision <= _MOST_LONG_DIGITS)
    if found := _FIXED.fullmatch(text):
        return StoredType("fixed", int(found[1]), is_long=False)
    raise DamagedError(f"a column of type '{text[:50]}'")


def type_of(found: IcebergType) -> StoredType | None:
    """Returns the stored form of a type of PyIceberg; None for a type without bounds."""
    if isinstance(found, DecimalType):
        return StoredType("decimal", found.scale, found.precision <= _MOST_LONG_DIGITS)
    if isinstance(found, FixedType):
        return StoredType("fixed", len(found), is_long=False)
    name = _NAMES.get(type(found))
    return None if name is None else StoredType(name, 0, name in _LONGS)


def encode(value: Any, stored: StoredType) -> Value | None:
    """Returns a literal or a value of a partition in the encoding of a column.

    Returns:
        None for NaN, and for a value of another kind, which cannot be compared with the bounds.
    """
    if stored.name in _FLOATS:
        return _encode_float(value) if isinstance(value, float | int) and not isinstance(value, bool) else None
    if stored.name == "decimal":
        return _encode_decimal(value, stored) if isinstance(value, Decimal) else None
    if stored.is_long:
        return int(value) if isinstance(value, int) else None
    return _encode_bytes(value, stored)


def _encode_float(value: float) -> int | None:
    number = float(value)
    if math.isnan(number):
        return None
    # Both zeros are one value.
    bits: int = struct.unpack("<q", struct.pack("<d", number + 0.0))[0]
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


def _encode_decimal(value: Decimal, stored: StoredType) -> Value | None:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent != stored.size:
        return None
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    if stored.is_long:
        most: int = 10**_MOST_LONG_DIGITS
        return max(-most, min(most, unscaled))
    if not -(1 << 127) <= unscaled < 1 << 127:
        return None
    return ((unscaled + (1 << 127)) % (1 << 128)).to_bytes(16, "big")


def _encode_bytes(value: Any, stored: StoredType) -> bytes | None:
    if stored.name == "string":
        try:
            return value.encode() if isinstance(value, str) else None
        except UnicodeEncodeError:
            return None
    if stored.name == "uuid":
        if isinstance(value, UUID):
            return value.bytes
        return bytes(value) if isinstance(value, bytes) and len(value) == 16 else None
    return bytes(value) if isinstance(value, bytes | bytearray) else None
