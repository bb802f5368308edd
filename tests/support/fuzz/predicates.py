# SPDX-License-Identifier: Apache-2.0
"""Random predicates as SQL text, mostly with values that the table holds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from support.fuzz.recipe import Column
from support.fuzz.values import MALFORMED, SPAN, TYPES, draw, quote

COMPARE = ("=", "=", "=", "<>", "<=>", "<", "<=", ">", ">=")
UNORDERED = ("boolean", "uuid", "float", "double")  # only two values, another order in Iceberg, or NaN
STRINGS = ("string", "long_prefix", "emoji")
ORDERED = ("int", "long", "decimal9", "decimal18", "date", "timestamp", "timestamp_ntz", "float", "double")


@dataclass(frozen=True)
class Predicate:
    sql: str
    kinds: frozenset[str]  # types of the columns in the predicate
    shape: str  # the operator of the outermost node: AND, OR, NOT, or a leaf's operator
    narrow: bool = False  # bounds can prune most files: = or BETWEEN near values of a clustered column

    def __str__(self) -> str:
        return self.sql


def value(rng: random.Random, column: Column) -> Any:
    """Draws mostly a value that the column holds, else any value of its type."""
    if column.seen and rng.random() < 0.75:
        return rng.choice(column.seen)
    specials = TYPES[column.kind].specials
    if specials and rng.random() < 0.3:
        return rng.choice(specials)
    return draw(rng, column.kind, 0, SPAN)


def leaf(rng: random.Random, columns: list[Column]) -> Predicate:
    column = rng.choice(columns)
    kind, name = TYPES[column.kind], column.name
    lit = lambda: kind.literal(value(rng, column))  # noqa: E731

    def made(sql: str, shape: str) -> Predicate:
        narrow = shape in ("=", "BETWEEN") and column.style == "clustered" and column.kind not in UNORDERED
        return Predicate(sql, frozenset([column.kind]), shape, narrow)

    choice = rng.random()
    if choice < 0.40:
        op = rng.choice(COMPARE)
        return made(f"{name} {op} {lit()}", op)
    if choice < 0.52:
        low, high = _near(rng, column)
        return made(f"{name} BETWEEN {kind.literal(low)} AND {kind.literal(high)}", "BETWEEN")
    if choice < 0.66:
        word = rng.choice(("IN", "IN", "IN", "NOT IN"))
        items = [lit() for _ in range(rng.choice((1, 2, 3, 8)))]
        if rng.random() < 0.1 and column.kind != "binary":  # Spark 4.1 cannot print a pushed binary null
            items.append("NULL")
        return made(f"{name} {word} ({', '.join(items)})", word)
    if choice < 0.69:
        start = rng.randrange(SPAN)
        items = {kind.literal(kind.at((start + i * 37) % SPAN)) for i in range(230)} | {lit()}
        word = rng.choice(("IN", "IN", "IN", "NOT IN"))
        return made(f"{name} {word} ({', '.join(sorted(items))})", f"{word} long")
    if choice < 0.77:
        word = rng.choice(("IS NULL", "IS NOT NULL"))
        return made(f"{name} {word}", word)
    if choice < 0.81:
        return made(rng.choice((f"NOT ({name} <=> {lit()})", f"{name} <=> NULL", f"NOT ({name} <=> NULL)")), "<=>")
    if column.kind in STRINGS:
        return made(*_string_leaf(rng, column))
    if column.kind == MALFORMED:
        return made(*_malformed_leaf(rng, column))
    if kind.is_float and choice < 0.9:
        return made(
            rng.choice((f"isnan({name})", f"NOT isnan({name})", f"{name} = CAST('NaN' AS {kind.ddl})")), "isnan"
        )
    return made(*_function_leaf(rng, column, lit))


def _near(rng: random.Random, column: Column) -> tuple[Any, Any]:
    """Draws two values of the column that are close together, in order; any two values if the column holds none."""
    held = sorted(v for v in column.seen if v == v)
    if not held:
        return value(rng, column), value(rng, column)
    first = rng.randrange(len(held))
    return held[first], held[min(len(held) - 1, first + rng.randrange(8))]


def _string_leaf(rng: random.Random, column: Column) -> tuple[str, str]:
    whole = value(rng, column)
    prefix = whole[: rng.choice((1, 2, 5, 17, 25, len(whole)))]
    escaped = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    word = rng.choice(("LIKE", "LIKE", "NOT LIKE"))
    return rng.choice(
        (
            (f"{column.name} {word} {quote(escaped + '%')}", word),
            (f"{column.name} {word} {quote(escaped + '%')}", word),
            (f"startswith({column.name}, {quote(prefix)})", "LIKE"),
            (f"{column.name} LIKE {quote('%' + escaped)}", "LIKE %x"),
            (f"substring({column.name}, 1, 3) = {quote(whole[:3])}", "function"),
            (f"upper({column.name}) = {quote(whole.upper())}", "function"),
            (f"length({column.name}) > {rng.choice((0, 7, 30))}", "function"),
        )
    )


def _malformed_leaf(rng: random.Random, column: Column) -> tuple[str, str]:
    """Draws a condition on the first bytes, the whole bytes or the characters of a text that may not be UTF-8."""
    whole, name, of = bytes(value(rng, column)), column.name, TYPES[column.kind].literal
    start = of(whole[: rng.choice((1, 2, 3, 15, 16, 17))])
    return rng.choice(
        (
            (f"startswith({name}, {start})", "LIKE"),
            (f"{name} LIKE concat({start}, '%')", "LIKE"),
            (f"NOT startswith({name}, {start})", "NOT LIKE"),
            (f"{name} >= {start} AND length({name}) > 7", "function"),
            (f"coalesce({name}, '') {rng.choice(('<', '>', '='))} {start}", "function"),
            (f"CAST({name} AS BINARY) {rng.choice(('<', '>', '='))} X'{whole.hex().upper()}'", "function"),
            (f"hex({name}) = '{whole.hex().upper()}'", "function"),
            (f"{name} {rng.choice(('<', '>', '<>'))} CAST(X'EFBFBD' AS STRING)", "function"),
        )
    )


def _function_leaf(rng: random.Random, column: Column, lit) -> tuple[str, str]:
    name, kind = column.name, column.kind
    by_kind = {
        "int": (
            f"{name} % 7 = {rng.randrange(7)}",
            f"CAST({name} AS BIGINT) = {lit()}",
            f"CAST({name} AS STRING) > '3'",
            f"{name} * -1D < 5",
        ),
        "long": (
            f"{name} % 7 = {rng.randrange(7)}",
            f"CAST({name} AS DOUBLE) > {lit()}",
            f"CAST({name} AS DECIMAL(20,0)) = {lit()}",
        ),
        "date": (
            f"year({name}) = {rng.choice((1582, 1900, 1970, 2020))}",
            f"{name} < TIMESTAMP'1990-01-01 12:00:00'",
            f"month({name}) = 2",
        ),
        "timestamp": (
            f"CAST({name} AS DATE) = CAST({lit()} AS DATE)",
            f"year({name}) >= 1975",
            f"date_trunc('MONTH', {name}) = date_trunc('MONTH', {lit()})",
            f"hour({name}) = 3",
        ),
        "timestamp_ntz": (f"CAST({name} AS DATE) >= CAST({lit()} AS DATE)", f"year({name}) < 1975"),
        "boolean": (name, f"NOT {name}"),
        "float": (f"CAST({name} AS DOUBLE) >= {lit()}", f"{name} > 0D", f"-{name} > {lit()}"),
        "double": (f"{name} >= 0", f"-{name} > {lit()}", f"{name} = -0.0D", f"{name} = 0"),
    }
    general = (
        f"coalesce({name}, {lit()}) = {lit()}",
        f"CASE WHEN {name} IS NULL THEN FALSE ELSE {name} >= {lit()} END",
    )
    return rng.choice(by_kind.get(kind, general) + general), "function"


def two_columns(rng: random.Random, columns: list[Column]) -> Predicate | None:
    groups: dict[str, list[Column]] = {}
    for column in columns:
        if column.kind in ORDERED:
            groups.setdefault(TYPES[column.kind].ddl, []).append(column)
    pairs = [g for g in groups.values() if len(g) > 1]
    if not pairs:
        return None
    a, b = rng.sample(rng.choice(pairs), 2)
    return Predicate(f"{a.name} {rng.choice(COMPARE)} {b.name}", frozenset([a.kind]), "columns")


def tree(rng: random.Random, columns: list[Column], depth: int = 2) -> Predicate:
    choice = rng.random()
    if depth == 0 or choice < 0.45:
        return (rng.random() < 0.04 and two_columns(rng, columns)) or leaf(rng, columns)
    if choice < 0.57:
        inner = tree(rng, columns, depth - 1)
        return Predicate(f"NOT ({inner.sql})", inner.kinds, "NOT")
    word = "AND" if choice < 0.78 else "OR"
    parts = [tree(rng, columns, depth - 1) for _ in range(rng.choice((2, 2, 3)))]
    return Predicate(f" {word} ".join(f"({p.sql})" for p in parts), frozenset().union(*(p.kinds for p in parts)), word)


def many(rng: random.Random, columns: list[Column], count: int) -> list[Predicate]:
    """Draws `count` predicates: half of them single leaves, which must prune well, and half trees."""
    return [leaf(rng, columns) if i % 2 == 0 else tree(rng, columns) for i in range(count)]
