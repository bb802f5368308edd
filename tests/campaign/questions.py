# SPDX-License-Identifier: Apache-2.0
"""Questions about the files that a statement must read. A question is data, so that the script of a finding holds it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from support.fuzz.recipe import Column
from support.fuzz.values import MALFORMED, TYPES

from campaign import conditions
from campaign.queries import Check
from campaign.settings import TIME_ZONE
from campaign.world import World


@dataclass(frozen=True)
class Order:
    column: str
    descending: bool = False
    nulls_first: bool = True
    by_rid: bool = False  # also sorted by rid, so that there are no ties

    @property
    def text(self) -> str:
        words = f"{self.column}{' DESC' if self.descending else ''} NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{words}, rid" if self.by_rid else words


@dataclass(frozen=True)
class Keys:
    """Rows whose column equals a key of the key table; `tier` selects keys, None selects all."""

    column: str
    key: str
    tier: int | None = None

    @property
    def rows(self) -> str:
        return f"SELECT {self.key} FROM {{k}}" + ("" if self.tier is None else f" WHERE tier = {self.tier}")


@dataclass(frozen=True)
class Question:
    """One statement, and the part of it from which the oracle computes the files that the statement needs.

    kind: the name of a function in KINDS. relation: as in queries.Check. condition: on `{t}`; "" if there is none.
    """

    kind: str
    statement: str
    relation: str
    condition: str = ""
    order: Order | None = None
    keys: Keys | None = None
    rows: int | None = None  # LIMIT + OFFSET
    skipped: int = 0  # OFFSET
    values: tuple[str, ...] = ()  # of an aggregate: "*", or "count", "min" or "max" and a column
    confs: dict[str, str] = field(default_factory=dict)
    read: str = "now"

    @property
    def sql(self) -> str:
        return self.statement

    @property
    def tags(self) -> tuple[str, ...]:
        return (self.read, *self.confs)

    def as_check(self) -> Check:
        """Returns the query as a check that runs it with the product on and off."""
        compare, whole = "rows", None
        if self.kind == "first_rows":
            compare, whole = "some", f"SELECT rid FROM {{t}}{_where(self.condition)}"
        condition = self.condition if self.kind == "files_of_filter" else None
        return Check(self.kind, self.statement, self.relation, compare, whole, condition, self.confs, self.tags)


def _where(condition: str) -> str:
    return f" WHERE {condition}" if condition else ""


@dataclass
class Draw:
    rng: random.Random
    world: World

    def some(self) -> list[Column]:
        return self.world.aim if self.world.aim and self.rng.random() < 0.6 else self.world.columns

    def column(self) -> Column:
        return self.rng.choice(self.some())

    def condition(self, often: float = 1.0) -> str:
        return conditions.draw(self.rng, self.some()).sql if self.rng.random() < often else ""

    def keys(self) -> Keys:
        usable = [c for c in self.some() if c.name in self.world.keys]
        column = self.rng.choice(usable or [c for c in self.world.columns if c.name in self.world.keys])
        return Keys(column.name, self.world.keys[column.name], self.rng.choice((None, 0, 1, 2, 7)))


def files_of_filter(d: Draw) -> Question:
    condition = d.condition()
    return Question("files_of_filter", f"SELECT rid FROM {{t}}{_where(condition)}", "", condition)


def files_of_order(d: Draw) -> Question:
    """Draws ORDER BY and LIMIT: every file with one of the first rows is needed."""
    order = Order(d.column().name, d.rng.random() < 0.5, d.rng.random() < 0.5, d.rng.random() < 0.4)
    condition = d.condition(0.4)
    limit, offset = d.rng.choice((0, 1, 1, 2, 3, 5, 9, 20, 60)), d.rng.choice((0, 0, 0, 1, 6))
    shown = f"{order.column}, rid" if order.by_rid else order.column
    tail = f" OFFSET {offset}" if offset else ""
    sql = f"SELECT {shown} FROM {{t}}{_where(condition)} ORDER BY {order.text} LIMIT {limit}{tail}"
    return Question(
        "files_of_order", sql, "", condition, order=order, rows=limit + offset if limit else 0, skipped=offset
    )


def first_rows(d: Draw) -> Question:
    condition, limit = d.condition(0.7), d.rng.choice((0, 1, 1, 2, 5, 7, 20, 60))
    sql = f"SELECT rid FROM {{t}}{_where(condition)} LIMIT {limit}"
    return Question("first_rows", sql, "", condition, rows=limit)


def files_of_keys(d: Draw) -> Question:
    """Draws joins and subqueries that return only rows whose column is a key."""
    keys, condition = d.keys(), d.condition(0.3)
    more = f" AND ({condition})" if condition else ""
    forms = (
        f"SELECT rid FROM {{t}} t WHERE {keys.column} IN ({keys.rows}){more}",
        f"SELECT rid FROM {{t}} t WHERE EXISTS (SELECT 1 FROM ({keys.rows}) k WHERE k.{keys.key} = t.{keys.column}){more}",
        f"SELECT t.rid FROM {{t}} t JOIN ({keys.rows}) k ON t.{keys.column} = k.{keys.key}{more}",
        f"SELECT t.rid FROM ({keys.rows}) k JOIN {{t}} t ON t.{keys.column} = k.{keys.key}{more}",
        f"SELECT t.rid FROM {{t}} t LEFT SEMI JOIN ({keys.rows}) k ON t.{keys.column} = k.{keys.key}{more}",
        f"SELECT t.rid FROM ({keys.rows}) k LEFT JOIN {{t}} t ON t.{keys.column} = k.{keys.key}{more}",
    )
    return Question("files_of_keys", d.rng.choice(forms), "", condition, keys=keys)


def values_of_aggregates(d: Draw) -> Question:
    """Draws COUNT, MIN and MAX; the oracle compares the values themselves if the index provides them."""
    low = d.rng.randrange(max(1, d.world.recipe.rows))
    whole_files = d.rng.choice((f"rid >= {low}", f"rid < {low}", "rid >= 0", f"rid BETWEEN {low} AND {low + 20}"))
    condition = d.rng.choice(("", whole_files, whole_files, d.condition()))
    column = d.column()
    values = tuple(d.rng.sample(("*", f"count {column.name}", f"min {column.name}", f"max {column.name}"), 2))
    shown = ", ".join(_shown(value, column) for value in values)
    return Question(
        "values_of_aggregates", f"SELECT {shown} FROM {{t}}{_where(condition)}", "", condition, values=values
    )


def _shown(value: str, column: Column) -> str:
    function, _, name = value.partition(" ")
    if function == "*":
        return "count(*)"
    if function == "count":
        return f"count({name})"
    if column.kind in ("binary", MALFORMED):
        return f"hex({function}({name}))"
    # the judge regards 0.0 and -0.0 as equal, but not their texts
    return f"{function}({name})" if TYPES[column.kind].is_float else f"CAST({function}({name}) AS STRING)"


def files_of_statement(d: Draw) -> Question:
    """Draws DELETE, UPDATE and MERGE, which are planned but not run."""
    kind = d.rng.choice(("DELETE", "UPDATE", "MERGE"))
    if kind == "MERGE":
        keys, condition = d.keys(), d.condition(0.2)
        more = f" AND ({condition})" if condition else ""
        matched = d.rng.choice(("UPDATE SET t.rid = t.rid + 1", "DELETE"))
        source = f"(SELECT {keys.key} AS s_key FROM ({keys.rows}) GROUP BY {keys.key})"
        sql = f"MERGE INTO {{t}} t USING {source} s ON t.{keys.column} = s.s_key{more} WHEN MATCHED THEN {matched}"
        return Question("files_of_statement", sql, "", condition, keys=keys)
    condition = d.condition()
    head = "DELETE FROM {t}" if kind == "DELETE" else "UPDATE {t} SET rid = rid + 1"
    return Question("files_of_statement", f"{head} WHERE {condition}", "", condition)


KINDS: tuple[Callable[[Draw], Question], ...] = (
    files_of_filter,
    files_of_filter,
    files_of_filter,
    files_of_filter,
    files_of_filter,
    files_of_filter,
    files_of_order,
    files_of_order,
    first_rows,
    files_of_keys,
    values_of_aggregates,
    files_of_statement,
)
#: Kinds of questions about another state than the current one: a rule may look up first rows in the wrong files.
OTHER_KINDS: tuple[Callable[[Draw], Question], ...] = (
    *(files_of_filter,) * 4,
    *(files_of_order,) * 4,
    first_rows,
    files_of_keys,
    values_of_aggregates,
    files_of_statement,
)
NAMES = tuple(dict.fromkeys(kind.__name__ for kind in KINDS))


def draw(rng: random.Random, world: World, number: int, read: str, relation: str, confs: dict[str, str]) -> Question:
    """Draws the question with this number; the number determines the kind."""
    kinds = KINDS if read == "now" else OTHER_KINDS
    kind = kinds[number % len(kinds)]
    if kind is files_of_statement and read not in ("now", "branch"):
        kind = files_of_filter
    made = kind(Draw(rng, world))
    if made.values:  # the oracle has the texts of the values in the time zone of the tests
        confs = {key: value for key, value in confs.items() if key != TIME_ZONE}
    return replace(made, relation=relation, read=read, confs=confs)
