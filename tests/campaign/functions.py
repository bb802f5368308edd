# SPDX-License-Identifier: Apache-2.0
"""Conditions that compare a function of one or two columns with the same function of literals."""

from __future__ import annotations

import random

from support.fuzz.predicates import STRINGS, Predicate, value
from support.fuzz.recipe import Column
from support.fuzz.values import MALFORMED, TYPES

#: Units of date_trunc and trunc; ODD_UNITS has units that at least one of the two functions does not support.
UNITS = ("YEAR", "YYYY", "QUARTER", "MONTH", "MM", "WEEK", "DAY", "DD", "HOUR", "MINUTE", "SECOND", "MICROSECOND")
ODD_UNITS = ("nonsense", "", "HOURS", "day ", "CENTURY", "decade")
_UNIT = "{unit}"

_NUMBERS = (
    *("{x} + 1", "{x} - 7", "1 - {x}", "{x} * 2", "{x} * -1", "{x} / 3", "{x} % 5", "-({x})", "abs({x})", "sign({x})"),
    *("pmod({x}, 7)", "round({x}, -2)", "bround({x})", "CAST({x} AS STRING)", "CAST({x} AS DOUBLE)", "hash({x})"),
    *("try_add({x}, 3)", "try_multiply({x}, 3)", "try_divide({x}, 0)", "greatest({x}, 0)", "least({x}, 0)"),
    *("try_cast({x} AS INT)", "try_cast({x} AS TINYINT)", "CAST({x} AS BOOLEAN)", "sqrt({x})", "log10({x})"),
)
_WHOLE = ("{x} & 255", "{x} | 1", "{x} ^ 3", "shiftright({x}, 4)", "{x} DIV 1000", "bin({x})", "hex({x})", "~{x}")
_FRACTIONS = ("floor({x})", "ceil({x})", "CAST({x} AS BIGINT)", "try_cast({x} AS DECIMAL(20,3))", "exp({x})")
_TEXTS = (
    *("upper({x})", "lower({x})", "trim({x})", "length({x})", "reverse({x})", "substring({x}, 1, 3)", "left({x}, 2)"),
    *("right({x}, 3)", "substring({x}, -4, 2)", "concat({x}, '-z')", "concat('a', {x})", "lpad({x}, 9, '0')"),
    *("rpad({x}, 9, ' ')", "replace({x}, '0', 'o')", "instr({x}, '1')", "ascii({x})", "md5({x})", "initcap({x})"),
    *("translate({x}, '01', 'ab')", "regexp_replace({x}, '[0-9]+', '#')", "{x} RLIKE '[05]$'", "{x} LIKE '%1%'"),
    *("split_part({x}, '/', 2)", "try_cast({x} AS INT)", "contains({x}, '00')", "endswith({x}, '7')", "soundex({x})"),
    *("octet_length({x})", "char_length({x})", "CAST({x} AS BINARY)", "btrim({x})", "overlay({x} PLACING 'q' FROM 2)"),
)
_DAYS = (
    *("year({x})", "quarter({x})", "month({x})", "day({x})", "dayofyear({x})", "weekofyear({x})", "dayofweek({x})"),
    *("last_day({x})", "add_months({x}, 1)", "date_add({x}, 3)", "date_sub({x}, 40)", "CAST({x} AS STRING)"),
    *("trunc({x}, '{unit}')", "trunc({x}, '{unit}')", "date_format({x}, 'yyyy-MM')", "next_day({x}, 'MO')"),
    *("datediff({x}, DATE'2000-01-01')", "extract(WEEK FROM {x})", "months_between({x}, DATE'1999-03-31')"),
)
_STAMPS = (
    *("date_trunc('{unit}', {x})", "date_trunc('{unit}', {x})", "date_trunc('{unit}', {x})", "hour({x})"),
    *("minute({x})", "second({x})", "to_date({x})", "CAST({x} AS DATE)", "{x} + INTERVAL 1 DAY"),
    *("date_format({x}, 'yyyy-MM-dd')", "date_format({x}, 'HH')", "{x} - INTERVAL 2 HOURS"),
)
#: These functions have many units to test, so they are drawn as often as all other functions together.
_TRUNCATED = ("date_trunc('{unit}', {x})",) * 30 + ("trunc({x}, '{unit}')",) * 10
_INSTANTS = ("unix_timestamp({x})", "unix_micros({x})", "CAST({x} AS BIGINT)", "CAST({x} AS DOUBLE)")
_ANY = (
    *("coalesce({x}, {y})", "nullif({x}, {y})", "nvl2({x}, 1, 0)", "IF({x} > {y}, 1, 2)", "{x} <=> {y}"),
    *("CASE WHEN {x} < {y} THEN 'low' WHEN {x} IS NULL THEN 'none' ELSE 'high' END", "xxhash64({x})", "isnull({x})"),
)
#: Functions of a column and another one of its kind, {z}; the index evaluates them on the bounds of both.
_PAIRS = ("greatest({x}, {z})", "least({x}, {z})", "IF({x} < {z}, {x}, {y})")
_OF_NUMBERS = ("{x} + {z}", "{x} - {z}", "{x} * {z}", "{x} / {z}", "sqrt({x} * {z})", "round({x} - {z}, -1)")
_OF_DAYS = ("datediff({x}, {z})", "months_between({x}, {z})", "make_date(year({x}), month({z}), dayofmonth({x}))")
_OF_TIMES = ("{x} - {z}", "timestampdiff(HOUR, {x}, {z})", "timestampdiff(MONTH, {x}, {z})", "{x} + ({z} - {y})")
_OF_TEXTS = ("concat({x}, {z})", "concat({x}, '-', {z})")
BY_PAIR: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int", "long", "float", "double", "decimal9", "decimal18"), _PAIRS * 2 + _OF_NUMBERS),
    **dict.fromkeys(STRINGS, _PAIRS + _OF_TEXTS * 2),
    "date": _PAIRS + _OF_DAYS * 2,
    "timestamp": _PAIRS + _OF_DAYS + _OF_TIMES * 2,
    "timestamp_ntz": _PAIRS + _OF_DAYS + _OF_TIMES[:1],
}
BY_KIND: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int", "long"), _NUMBERS + _WHOLE),
    **dict.fromkeys(("float", "double"), _NUMBERS + _FRACTIONS + ("isnan({x})", "nanvl({x}, 0)")),
    **dict.fromkeys(("decimal9", "decimal18", "decimal38", "decimal38_38"), (*_NUMBERS, "floor({x})", "ceil({x})")),
    **dict.fromkeys((*STRINGS, "uuid", MALFORMED), _TEXTS),
    "date": _DAYS + _TRUNCATED[20:],
    "timestamp": _DAYS + _STAMPS * 2 + _INSTANTS + _TRUNCATED,
    "timestamp_ntz": _DAYS + _STAMPS * 2 + _TRUNCATED,
    "boolean": ("NOT {x}", "CAST({x} AS INT)", "CAST({x} AS STRING)"),
    "binary": ("hex({x})", "length({x})", "substring({x}, 1, 2)", "base64({x})", "md5({x})"),
}


def predicate(rng: random.Random, columns: list[Column], alias: str = "") -> Predicate:
    """Draws one condition; the shape of the predicate is the name of the function."""
    column = rng.choice(columns)
    template = rng.choice(BY_KIND.get(column.kind, ()) * 2 + _ANY)
    if column.kind in BY_PAIR and rng.random() < 0.3:
        template = rng.choice(BY_PAIR[column.kind])
    twin = alias + rng.choice([c.name for c in columns if c.kind == column.kind])
    tested_often = 0.35
    if _UNIT in template:
        unit = rng.choice(UNITS if rng.random() < 0.6 else ODD_UNITS)
        tested_often = 0.7 if unit in ODD_UNITS else tested_often  # with such a unit the function always returns NULL
        template = template.replace(_UNIT, unit)
    literal = lambda: TYPES[column.kind].literal(value(rng, column))  # noqa: E731
    pivot = literal()

    def of(x: str, z: str = pivot) -> str:
        return template.replace("{x}", x).replace("{y}", pivot).replace("{z}", z)

    called = of(alias + column.name, twin)
    compared = (
        f"({called}) = ({of(literal())})",
        f"({called}) = ({of(literal())})",
        f"({called}) {rng.choice(('<', '<=', '>', '>=', '<>', '<=>'))} ({of(literal())})",
        f"({called}) IN ({of(literal())}, {of(literal())})",
        f"NOT (({called}) = ({of(literal())}))",
    )
    tested = (f"({called}) IS NULL", f"({called}) IS NULL", f"({called}) IS NOT NULL")
    text = rng.choice(tested if rng.random() < tested_often else compared)
    return Predicate(text, frozenset([column.kind]), template.partition("(")[0] or "operator")
