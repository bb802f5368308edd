# SPDX-License-Identifier: Apache-2.0
"""Column types of the random tables: how a value is made, sent to Spark, and written as SQL."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

SPAN = 1_000_000  # positions run over [0, SPAN); a type maps them to values without changing their order
EPOCH = dt.date(1970, 1, 1)
EXACT = Context(prec=80)
GREATEST_FLOAT = 3.4028234663852886e38
#: Iceberg's truncate transform overflows below these and then prunes partitions it must not.
LEAST_INT, LEAST_LONG = -(2**31) + 10**6, -(2**63) + 10**6
#: The values of each type that random tables must meet: zeros, ends of a range, turns of a calendar, texts that bounds
#: truncate. The random tables of the Scala suites (`Specials`) draw from the same file.
SPECIALS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("specials.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class ValueType:
    ddl: str  # type of the table column
    sent_as: str  # type of the value in the row handed to Spark
    select: str  # SQL that turns the sent value ({}) into the column
    at: Callable[[int], Any]  # position -> sent value, ascending
    specials: tuple[Any, ...]  # sent values worth meeting
    literal: Callable[[Any], str]  # sent value -> SQL text
    prefix_of: Callable[[Any, int], str] | None = None  # strings only
    partitions: tuple[str, ...] = ()  # transforms that may be used, with {} for the column

    @property
    def is_float(self) -> bool:
        return self.ddl in ("FLOAT", "DOUBLE")


def float32(x: float) -> float:
    return struct.unpack("f", struct.pack("f", x))[0]


def quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def double_literal(x: float, suffix: str, cast: str) -> str:
    if math.isnan(x) or math.isinf(x):
        word = "NaN" if math.isnan(x) else ("Infinity" if x > 0 else "-Infinity")
        return f"CAST('{word}' AS {cast})"
    return f"{x!r}{suffix}"


def float_literal(x: float) -> str:
    """A column that became a double later has been sent values beyond the range of floats."""
    beyond = math.isfinite(x) and abs(x) > GREATEST_FLOAT
    return double_literal(x, "D", "DOUBLE") if beyond else double_literal(x, "F", "FLOAT")


def date_literal(days: int) -> str:
    try:
        day = EPOCH + dt.timedelta(days=days)
    except OverflowError:
        return f"date_from_unix_date({days})"
    return f"DATE'{day.year:04d}-{day.month:02d}-{day.day:02d}'"


def _stamp(micros: int) -> str:
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)
    return f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d} {moment.time().isoformat('microseconds')}"


def _string(prefix: str) -> ValueType:
    return ValueType(
        ddl="STRING",
        sent_as="STRING",
        select="{}",
        at=lambda p: f"{prefix}{p:06d}",
        specials=(*SPECIALS["string"], prefix[:3], prefix + "é"),
        literal=quote,
        prefix_of=lambda v, n: v[:n],
        partitions=("truncate(3, {})", "bucket(4, {})", f"truncate({len(prefix) + 2}, {{}})"),
    )


def _decimal(precision: int, scale: int, step: Decimal) -> ValueType:
    unit = Decimal(1).scaleb(-scale)
    nines = "9" * min(precision, 30) + "0" * max(0, precision - 30)  # Spark's unpickler keeps 34 digits
    top = EXACT.scaleb(Decimal(nines), -scale)
    bottom = EXACT.add(top.copy_negate(), EXACT.scaleb(Decimal(10), -scale))  # Iceberg's truncate overflows below it
    return ValueType(
        ddl=f"DECIMAL({precision},{scale})",
        sent_as=f"DECIMAL({precision},{scale})",
        select="{}",
        at=lambda p: EXACT.multiply(step, p - SPAN // 2).quantize(unit, context=EXACT),
        specials=tuple(
            {"greatest": top, "least": bottom}.get(text) or EXACT.multiply(Decimal(text), unit)
            for text in SPECIALS["decimal"]
        ),
        literal=lambda v: f"CAST('{v:f}' AS DECIMAL({precision},{scale}))",
        partitions=("bucket(4, {})", "truncate(10, {})"),
    )


def _timestamp(ddl: str, select: str, word: str) -> ValueType:
    return ValueType(
        ddl=ddl,
        sent_as="BIGINT",
        select=select,
        at=lambda p: (p - SPAN // 3) * 86_400_000_000 // 40 + p % 7,
        specials=tuple(SPECIALS["timestamp"]),
        literal=lambda v: f"{word}'{_stamp(v)}'",
        partitions=("years({})", "months({})", "days({})", "bucket(4, {})"),
    )


#: Beginnings of texts in the order of their bytes: 15 or 14 letters before a malformed byte, which is the last character
#: of a bound or the one before it, letters, lone bytes, EUC-KR, Hangul, surrogates of CESU-8, U+FFFD and its neighbours,
#: an emoji, and bytes that no UTF-8 has.
MALFORMED_STARTS = tuple(
    bytes.fromhex(text)
    for text in (
        *("61" * 15 + "80", "61" * 15 + "EFBFBE", "61" * 15 + "F09F9880", "61" * 15 + "FF", "61" * 14 + "FF"),
        *("62", "7A", "80", "9F92", "B0A1B3AA", "C3", "C3A9", "E0A0", "EAB080EB8298", "EDA080EDB080", "EEBF"),
        *("EFBFBC", "EFBFBD", "EFBFBE", "F09F", "F09F9880", "F4908080", "FC", "FF"),
    )
)


def _malformed(position: int) -> bytearray:
    """Returns the bytes of a text that may be no UTF-8."""
    start = MALFORMED_STARTS[position * len(MALFORMED_STARTS) // SPAN]
    return bytearray(start + f"{position:06d}".encode())


TYPES: dict[str, ValueType] = {
    "boolean": ValueType(
        "BOOLEAN", "BOOLEAN", "{}", lambda p: p >= SPAN // 2, (), lambda v: str(v).upper(), partitions=("{}",)
    ),
    "int": ValueType(
        "INT",
        "INT",
        "{}",
        lambda p: p - SPAN // 2,
        tuple(value for value in SPECIALS["int"] if value >= LEAST_INT),
        str,
        partitions=("bucket(4, {})", "truncate(100000, {})"),
    ),
    "long": ValueType(
        "BIGINT",
        "BIGINT",
        "{}",
        lambda p: (p - SPAN // 2) * 1_000_003,
        tuple(value for value in SPECIALS["long"] if value >= LEAST_LONG),
        lambda v: f"{v}L",
        partitions=("bucket(4, {})", "truncate(1000000, {})"),
    ),
    "float": ValueType(
        "FLOAT",
        "FLOAT",
        "{}",
        lambda p: float32((p - SPAN // 2) / 8),
        tuple(float32(float(text)) for text in SPECIALS["float"]),
        float_literal,
    ),
    "double": ValueType(
        "DOUBLE",
        "DOUBLE",
        "{}",
        lambda p: (p - SPAN // 2) / 7.0,
        tuple(map(float, SPECIALS["double"])),
        lambda v: double_literal(v, "D", "DOUBLE"),
    ),
    "decimal9": _decimal(9, 2, Decimal("1.37")),
    "decimal18": _decimal(18, 6, Decimal("1000.000007")),
    "decimal38": _decimal(38, 10, Decimal("98765432109876543210.0123456789")),
    "decimal38_38": _decimal(38, 38, Decimal("0.0000019")),
    "date": ValueType(
        "DATE",
        "INT",
        "date_from_unix_date({})",
        lambda p: -250_000 + p * 3 // 10,
        tuple(SPECIALS["date"]),
        date_literal,
        partitions=("years({})", "bucket(4, {})"),
    ),
    "timestamp": _timestamp("TIMESTAMP", "timestamp_micros({})", "TIMESTAMP"),
    "timestamp_ntz": _timestamp("TIMESTAMP_NTZ", "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)", "TIMESTAMP_NTZ"),
    "string": _string("k"),
    "long_prefix": _string("customer/region/eu-west/"),
    "emoji": _string("\U0001f4a9é\uffee"),
    "binary": ValueType(
        "BINARY",
        "BINARY",
        "{}",
        lambda p: bytearray(struct.pack(">I", p * 4001)),
        tuple(map(bytearray.fromhex, SPECIALS["binary"])),
        lambda v: "X'" + bytes(v).hex().upper() + "'",
    ),
    "uuid": ValueType(
        "STRING",
        "STRING",
        "{}",
        lambda p: f"{(p * 4294) & 0xFFFFFFFF:08x}-0000-4000-8000-{p:012d}",
        tuple(SPECIALS["uuid"]),
        quote,
    ),
}

#: Texts whose bytes may not be UTF-8. No table has them by chance.
MALFORMED = "malformed"
DRAWN = tuple(sorted(TYPES))
TYPES[MALFORMED] = ValueType(
    "STRING",
    "BINARY",
    "CAST({} AS STRING)",
    _malformed,
    tuple(map(bytearray, MALFORMED_STARTS)),
    lambda v: f"CAST(X'{bytes(v).hex().upper()}' AS STRING)",
)

#: Columns Spark's CREATE TABLE cannot name; the recipe adds them with Iceberg's own API.
JAVA_TYPES = {"uuid": "UUIDType"}


def draw(rng: random.Random, kind: str, low: int, high: int) -> Any:
    return TYPES[kind].at(rng.randrange(max(0, low), max(low + 1, min(high, SPAN))))
