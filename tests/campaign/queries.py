# SPDX-License-Identifier: Apache-2.0
"""Kinds of queries about `{t}`, with keys in `{k}`. The compared part of each query's rows is deterministic."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.fuzz import predicates
from support.fuzz.recipe import Column
from support.fuzz.values import TYPES

from campaign import functions, settings
from campaign.world import TAG, World

JOINS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
HINTS = ("", "", "/*+ BROADCAST(k) */", "/*+ BROADCAST(t) */", "/*+ MERGE(k) */", "/*+ SHUFFLE_HASH(k) */")
GROUPINGS = ("{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())", "GROUPING SETS ((rid % 2, {}), ({}), ())")


@dataclass(frozen=True)
class Check:
    """A query and the way to compare its rows.

    compare: "rows" compares bags of rows; "some" compares only the number of rows, which must be rows of `whole`.
    relation: the text that replaces `{t}`; in it, `{s0}` is the first snapshot of the table, `{s1}` the second, ...
    args: the parameters of the text, see `judge.rows_of`
    """

    kind: str
    sql: str
    relation: str
    compare: str = "rows"
    whole: str | None = None
    condition: str | None = None  # the condition, if the query has only one and it is on `{t}`
    confs: dict[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    args: Any = None


@dataclass
class Draw:
    """The random choices from which a kind of query is drawn."""

    rng: random.Random
    world: World
    tags: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        return self.world.columns

    def some(self) -> list[Column]:
        """Returns all columns or, more often, the columns that this kind of table aims at."""
        return self.world.aim if self.world.aim and self.rng.random() < 0.7 else self.columns

    def column(self) -> Column:
        return self.rng.choice(self.some())

    def two(self) -> list[Column]:
        first = self.column()
        return [first, self.rng.choice([c for c in self.columns if c is not first])]

    def joinable(self) -> Column:
        usable = [c for c in self.some() if c.name in self.world.keys]
        return self.rng.choice(usable or [c for c in self.columns if c.name in self.world.keys])

    def function(self) -> str:
        made = functions.predicate(self.rng, self.some())
        self.tags.append(made.shape)
        return made.sql

    def condition(self) -> str:
        return self.function() if self.rng.random() < 0.35 else predicates.tree(self.rng, self.some(), depth=1).sql

    def where(self, often: float = 0.6) -> str:
        return f" WHERE {self.condition()}" if self.rng.random() < often else ""

    def limit(self) -> int:
        return self.rng.choice((0, 1, 1, 2, 3, 5, 7, 15, 40, 100))

    def offset(self) -> str:
        return self.rng.choice(("", "", "", f" OFFSET {self.rng.randrange(9)}"))


Made = tuple[str, str, str | None, str | None]  # sql, compare, whole and condition of a Check


def filters(d: Draw) -> Made:
    condition = d.condition()
    names = ", ".join(c.name for c in d.two())
    return f"SELECT rid, {names} FROM {{t}} WHERE {condition}", "rows", None, condition


def function_filters(d: Draw) -> Made:
    condition = d.function()
    shown = d.rng.choice(("rid", "count(*)", "max(rid), count(*)"))
    return f"SELECT {shown} FROM {{t}} WHERE {condition}", "rows", None, condition


def _order(d: Draw, columns: list[Column]) -> str:
    nulls = ("", "", " NULLS FIRST", " NULLS LAST")
    return ", ".join(f"{c.name}{d.rng.choice(('', ' DESC'))}{d.rng.choice(nulls)}" for c in columns)


def topk(d: Draw) -> Made:
    """Compares only the sort keys, because the query may return any of the rows with equal keys."""
    columns = d.two()[: d.rng.choice((1, 1, 2))]
    names = ", ".join(f"{c.name} AS o{i}" for i, c in enumerate(columns))
    inner = f"SELECT * FROM {{t}}{d.where(0.4)} ORDER BY {_order(d, columns)} LIMIT {d.limit()}{d.offset()}"
    return f"SELECT {names} FROM ({inner})", "rows", None, None


def topk_by_all(d: Draw) -> Made:
    """Also orders by the row id, so that there are no ties and whole rows are deterministic."""
    column = d.column()
    key = d.rng.choice(("{}", "{}", "{}", "{} IS NULL", "coalesce({}, {})")).replace("{}", column.name)
    order = f"{key}{d.rng.choice(('', ' DESC'))}{d.rng.choice(('', ' NULLS FIRST', ' NULLS LAST'))}, rid"
    return (
        f"SELECT rid, {column.name} FROM {{t}}{d.where(0.4)} ORDER BY {order} LIMIT {d.limit()}{d.offset()}",
        "rows",
        None,
        None,
    )


def limits(d: Draw) -> Made:
    where, limit = d.where(), f"LIMIT {d.limit()}{d.offset()}"
    whole = f"SELECT rid FROM {{t}}{where}"
    place = d.rng.randrange(4)
    if place == 0:
        return f"SELECT count(*) FROM ({whole} {limit})", "rows", None, None
    if place == 1:
        union = f"SELECT rid FROM ({whole} {limit}) UNION ALL SELECT -1 AS rid"
        return union, "some", f"{whole} UNION ALL SELECT -1 AS rid", None
    if place == 2:
        return f"SELECT rid FROM {{t}} WHERE rid IN (SELECT rid FROM ({whole} {limit}))", "some", whole, None
    return f"{whole} {limit}", "some", whole, None


def aggregates(d: Draw) -> Made:
    column, other = d.column(), d.column()
    shown = [
        "count(*)",
        f"count({column.name})",
        f"min({column.name})",
        f"max({column.name})",
        f"count(DISTINCT {other.name})",
        f"count(*) FILTER (WHERE {d.condition()})",
        f"max({other.name}) FILTER (WHERE rid % 2 = 0)",
        f"count_if({other.name} IS NULL)",
        "sum(rid)",
        "max_by(rid, rid)",
        f"bool_and({column.name} IS NOT NULL)",
    ]
    picked = ", ".join(d.rng.sample(shown, d.rng.choice((1, 1, 2, 3))))
    where = d.where(0.8)
    group = d.rng.choice(("", "", "few", "few", column.name, "rid % 3"))
    if not group:
        return f"SELECT {picked} FROM {{t}}{where}", "rows", None, None
    by = f"GROUP BY {d.rng.choice(GROUPINGS).replace('{}', group)}"
    having = d.rng.choice(("", "", " HAVING count(*) > 1"))
    return f"SELECT {group} AS g, {picked} FROM {{t}}{where} {by}{having}", "rows", None, None


def ranges_of_extremes(d: Draw) -> Made:
    """Draws MIN and MAX with a filter that selects whole files, so that bounds may provide the result."""
    low = d.rng.randrange(max(1, d.world.recipe.rows))
    where = d.rng.choice((f"rid >= {low}", f"rid < {low}", f"rid BETWEEN {low} AND {low + 20}", "rid >= 0"))
    names = [c.name for c in d.two()[: d.rng.choice((1, 1, 2))]]
    shown = ", ".join(f"{d.rng.choice(('min', 'max'))}({name})" for name in names)
    return f"SELECT count(*), {shown} FROM {{t}} WHERE {where}", "rows", None, None


def _key_side(d: Draw) -> tuple[str, str]:
    """Returns a relation with a column of keys, `k`, and the column of `{t}` that has these keys."""
    column = d.joinable()
    key = d.world.keys[column.name]
    if d.rng.random() < 0.3:
        literals = [TYPES[column.kind].literal(predicates.value(d.rng, column)) for _ in range(d.rng.choice((1, 2, 4)))]
        values = ", ".join(f"({text}, {n})" for n, text in enumerate(literals))
        return f"(SELECT * FROM VALUES {values} AS v({key}, tier))", column.name
    tier = d.rng.choice(("", f" WHERE tier = {d.rng.randrange(4)}", f" WHERE tier < {d.rng.randrange(3)}"))
    return f"(SELECT * FROM {{k}}{tier})", column.name


def joins(d: Draw) -> Made:
    keys, column = _key_side(d)
    key = d.world.keys[column]
    kind = d.rng.choice(JOINS)
    hint = d.rng.choice(HINTS)
    on = f"t.{column} {d.rng.choice(('=', '=', '=', '=', '<=>'))} k.{key}"
    more = d.rng.choice(("", "", " AND t.rid % 3 <> 1", " AND k.tier > 0", f" AND t.rid < {d.world.recipe.rows // 2}"))
    only_left = "SEMI" in kind or "ANTI" in kind
    sides = ("{t} t", f"{keys} k")
    if not only_left and d.rng.random() < 0.3:
        sides = sides[::-1]
    shown = "t.rid" if only_left else "t.rid, k.tier"
    where = "" if only_left else d.rng.choice(("", "", " WHERE t.rid >= 6", " WHERE k.tier IS NULL"))
    return f"SELECT {hint} {shown} FROM {sides[0]} {kind} {sides[1]} ON {on}{more}{where}", "rows", None, None


def subqueries(d: Draw) -> Made:
    keys, column = _key_side(d)
    key = d.world.keys[column]
    rows = f"SELECT {key} FROM {keys} k"
    forms = (
        f"{column} IN ({rows})",
        f"{column} IN ({rows})",
        f"{column} NOT IN ({rows})",
        f"{column} NOT IN ({rows} WHERE {key} IS NOT NULL)",
        f"EXISTS (SELECT 1 FROM {keys} k WHERE k.{key} = t.{column})",
        f"NOT EXISTS (SELECT 1 FROM {keys} k WHERE k.{key} = t.{column} AND k.tier <> 1)",
        f"{column} = (SELECT max({key}) FROM {keys} k)",
        f"{column} >= (SELECT min({column}) FROM {{t}} WHERE rid > 11)",
        "rid = (SELECT max(u.rid) FROM {t} u WHERE u.few = t.few)",
        f"{column} IN ({rows}) OR rid = 3",
        f"(SELECT count(*) FROM {keys} k WHERE k.{key} = t.{column}) > 0",
    )
    more = d.rng.choice(("", "", f" AND {d.condition()}"))
    return f"SELECT rid FROM {{t}} t WHERE {d.rng.choice(forms)}{more}", "rows", None, None


def sets(d: Draw) -> Made:
    word = d.rng.choice(("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"))
    shown = d.rng.choice(("rid", d.column().name, "rid, few"))
    top = f"SELECT {shown} FROM {{t}}{d.where(0.9)} {word} SELECT {shown} FROM {{t}}{d.where(0.9)}"
    return d.rng.choice((top, f"SELECT count(*) FROM ({top})")), "rows", None, None


def windows(d: Draw) -> Made:
    column = d.column()
    by = d.rng.choice(("", "PARTITION BY few ", "PARTITION BY rid % 2 "))
    order = f"ORDER BY {column.name}{d.rng.choice(('', ' DESC'))}{d.rng.choice(('', ' NULLS LAST'))}"
    word = d.rng.choice((f"row_number() OVER ({by}{order}, rid)", f"rank() OVER ({by}{order})"))
    inner = f"SELECT rid, {word} AS place FROM {{t}}{d.where(0.5)}"
    outer = d.rng.choice(("place <= 2", "place = 1", "place > 1 AND rid >= 6"))
    return f"SELECT rid, place FROM ({inner}) WHERE {outer}", "rows", None, None


def shapes(d: Draw) -> Made:
    """Draws a query that reads the table twice, with different conditions."""
    a, b = d.where(0.9), d.where(0.9)
    column = d.joinable()
    forms = (
        f"WITH x AS (SELECT * FROM {{t}}{a}) SELECT count(*) FROM x UNION ALL SELECT max(rid) FROM x",
        f"SELECT a.rid, b.rid FROM (SELECT * FROM {{t}}{a}) a JOIN (SELECT * FROM {{t}}{b}) b ON a.rid = b.rid + 1",
        f"SELECT a.rid FROM {{t}} a JOIN {{t}} b ON a.{column.name} = b.{column.name} AND b.rid = {d.rng.randrange(40)}",
        f"SELECT rid FROM (SELECT * FROM {{t}}{a} ORDER BY rid DESC LIMIT 9){b}",
        f"SELECT _file = '' AS e, count(*), min(_pos) FROM {{t}}{a} GROUP BY 1",
        f"SELECT DISTINCT {column.name} FROM {{t}}{a}",
    )
    return d.rng.choice(forms), "rows", None, None


KINDS: tuple[Callable[[Draw], Made], ...] = (
    filters,
    function_filters,
    topk,
    topk_by_all,
    limits,
    aggregates,
    ranges_of_extremes,
    joins,
    subqueries,
    sets,
    windows,
    shapes,
)


#: Ways to read a table; all but "split" and "now" read another state than the current one.
READS = ("incremental", "increment", "version", "option", "branch", "tag", "split", "view", "frame", "now")


def ways(world: World) -> list[str]:
    """Returns the ways to read this table other than its current state, the incremental ways more than once."""
    found = ["split", "view"]
    if world.older:
        found += ["incremental", "incremental", "increment", "frame"]
    if world.older[1:]:  # the first snapshot may have another schema
        found += ["version", "option"]
    if world.branch:
        found += ["branch", "tag"]
    return found


def relation(rng: random.Random, world: World) -> tuple[str, str]:
    """Draws a way to read the table; returns its name and the text after FROM."""
    return read(rng, world, rng.choice(["now"] * 5 + ways(world)))


def read(rng: random.Random, world: World, way: str) -> tuple[str, str]:
    """Returns a way to read the table with its text after FROM."""
    first = rng.choice(world.older) if world.older else 0
    later = rng.choice(world.older[1:] or [0])
    table = world.table
    text = {
        "now": table,
        "incremental": f"{table} WITH (`start-snapshot-id` = '{{s{first}}}')",
        "increment": f"{table} WITH (`start-snapshot-id` = '{{s{first}}}', `end-snapshot-id` = '{{s{first + 1}}}')",
        "version": f"{table} VERSION AS OF {{s{later}}}",
        "option": f"{table} WITH (`versionAsOf` = '{{s{later}}}')",
        "branch": f"{table}.branch_{world.branch}",
        "tag": f"{table} VERSION AS OF '{TAG}'",
        "split": f"{table} WITH (`split-size` = '1000')",
        "view": world.view,
        "frame": world.frame or "",
    }[way]
    return way, text


def draw(rng: random.Random, world: World, number: int) -> Check:
    """Draws the check with this number. The number determines the kind, so that each kind occurs."""
    kind = KINDS[number % len(KINDS)]
    read, text = relation(rng, world)
    d = Draw(rng, world)
    sql, compare, whole, condition = kind(d)
    confs = settings.draw(rng) if rng.random() < 0.5 else {}
    return Check(kind.__name__, sql, text, compare, whole, condition, confs, (read, *d.tags))
