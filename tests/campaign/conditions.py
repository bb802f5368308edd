# SPDX-License-Identifier: Apache-2.0
"""Conditions of any depth over all types: those of the other generators, and nests, casts, patterns and comparisons."""

from __future__ import annotations

import random

from support.fuzz import predicates
from support.fuzz.predicates import COMPARE, STRINGS, Predicate, value
from support.fuzz.recipe import Column
from support.fuzz.values import TYPES, quote

from campaign import functions

_NUMBERS = ("int", "long", "float", "double", "decimal9", "decimal18", "decimal38", "decimal38_38")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_TYPES_OF_CASTS = {
    **dict.fromkeys(_NUMBERS, ("BIGINT", "INT", "SMALLINT", "DOUBLE", "FLOAT", "DECIMAL(20,4)", "STRING", "BOOLEAN")),
    **dict.fromkeys(_TIMES, ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING")),
    **dict.fromkeys(STRINGS, ("INT", "DOUBLE", "DATE", "BINARY", "BOOLEAN")),
    "boolean": ("INT", "STRING"),
    "binary": ("STRING",),
}
MAX_DEPTH = 3
COLLATIONS = ("UTF8_LCASE", "UNICODE_CI", "UNICODE", "UTF8_BINARY_RTRIM", "UTF8_BINARY")


def draw(rng: random.Random, columns: list[Column]) -> Predicate:
    return _tree(rng, columns, rng.choice((0, 0, 0, 1, 1, 2, MAX_DEPTH)))


def _tree(rng: random.Random, columns: list[Column], depth: int) -> Predicate:
    if depth == 0:
        return _leaf(rng, columns)
    parts = [_tree(rng, columns, depth - 1) for _ in range(rng.choice((1, 2, 2, 3)))]
    kinds = frozenset().union(*(p.kinds for p in parts))
    word = rng.choice(("AND", "OR"))
    text = f" {word} ".join(f"({p.sql})" for p in parts)
    form = rng.choice(("{}", "{}", "{}", "NOT ({})", "({}) IS TRUE", "({}) IS NOT FALSE", "({}) <=> TRUE"))
    return Predicate(form.replace("{}", text), kinds, word)


def _leaf(rng: random.Random, columns: list[Column]) -> Predicate:
    form = rng.random()
    if form < 0.45:
        return predicates.leaf(rng, columns)
    if form < 0.7:
        return functions.predicate(rng, columns)
    column = rng.choice(columns)
    made = rng.choice(
        (_cast, _cast, _columns, _in_with_nulls, _pattern, _collated, _null_safe, _of_rid, _several_ranges)
    )
    return Predicate(made(rng, column, columns), frozenset([column.kind]), made.__name__.strip("_"))


def _literal(rng: random.Random, column: Column) -> str:
    return TYPES[column.kind].literal(value(rng, column))


def _cast(rng: random.Random, column: Column, _: list[Column]) -> str:
    to = rng.choice(_TYPES_OF_CASTS.get(column.kind, ("STRING",)))
    cast = rng.choice(("CAST", "try_cast"))
    other = rng.choice((f"{cast}({_literal(rng, column)} AS {to})", _literal(rng, column)))
    return f"{cast}({column.name} AS {to}) {rng.choice(COMPARE)} {other}"


def _columns(rng: random.Random, column: Column, columns: list[Column]) -> str:
    """Compares two columns, mostly of one type: Spark casts one of them if their types differ."""
    same = [c for c in columns if c is not column and TYPES[c.kind].ddl == TYPES[column.kind].ddl]
    alike = [c for c in columns if c is not column and any({c.kind, column.kind} <= set(g) for g in (_NUMBERS, _TIMES))]
    other = rng.choice(same or alike or [column])
    return f"{column.name} {rng.choice(COMPARE)} {other.name}"


def _in_with_nulls(rng: random.Random, column: Column, _: list[Column]) -> str:
    items = [_literal(rng, column) for _ in range(rng.choice((1, 2, 4)))]
    if column.kind != "binary":  # Spark 4.1 cannot print a pushed binary null
        items.insert(rng.randrange(len(items) + 1), "NULL")
    text = f"{column.name} {rng.choice(('IN', 'NOT IN'))} ({', '.join(items)})"
    return rng.choice((text, f"NOT ({text})", f"({text}) IS NULL", f"({text}) OR {column.name} IS NULL"))


def _pattern(rng: random.Random, column: Column, columns: list[Column]) -> str:
    if column.kind not in STRINGS:
        return _cast(rng, column, columns)
    whole = value(rng, column)
    start = rng.randrange(len(whole) + 1)
    part = whole[start : start + rng.choice((1, 2, 4, 30))].replace("\\", "\\\\").replace("%", "\\%")
    before, after = rng.choice((("", "%"), ("%", "%"), ("%", ""), ("_", "%"), ("", "_"), ("", "%0"), ("", "")))
    word = rng.choice(("LIKE", "LIKE", "NOT LIKE", "ILIKE"))
    return f"{column.name} {word} {quote(before + part + after)}"


def _collated(rng: random.Random, column: Column, columns: list[Column]) -> str:
    """Compares a text in an order or equality other than that of its bytes, or padded with spaces."""
    if column.kind not in STRINGS:
        return _columns(rng, column, columns)
    whole = value(rng, column)
    text = quote(rng.choice((whole, whole.upper(), whole.swapcase(), whole + "  ", whole[:4])))
    x = f"{column.name} COLLATE {rng.choice(COLLATIONS)}"
    return rng.choice(
        (
            f"{x} {rng.choice(COMPARE)} {text}",
            f"{x} IN ({text}, 'K000001')",
            f"startswith({x}, {text})",
            f"{x} BETWEEN {text} AND {quote(whole + 'zz')}",
            f"rpad({column.name}, 40, ' ') = rpad({text}, 40, ' ')",
            f"{column.name} = CAST({text} AS CHAR(40))",
        )
    )


def _null_safe(rng: random.Random, column: Column, _: list[Column]) -> str:
    inner = f"{column.name} <=> {rng.choice((_literal(rng, column), _literal(rng, column), 'NULL'))}"
    return rng.choice((inner, f"NOT ({inner})", f"({inner}) = ({column.name} IS NULL)"))


def _of_rid(rng: random.Random, _: Column, __: list[Column]) -> str:
    low = rng.randrange(140)
    return rng.choice((f"rid = {low}", f"rid BETWEEN {low} AND {low + 8}", f"rid % 6 = {low % 6}", f"rid > {low}"))


def _several_ranges(rng: random.Random, column: Column, _: list[Column]) -> str:
    """Draws a condition that contradicts itself, covers everything, or leaves a gap, depending on its literals."""
    a, b = _literal(rng, column), _literal(rng, column)
    x = column.name
    return rng.choice(
        (
            f"{x} > {a} AND {x} < {b}",
            f"{x} < {a} OR {x} > {b}",
            f"{x} >= {a} AND {x} <= {a}",
            f"{x} <> {a} AND {x} = {b}",
        )
    )
