# SPDX-License-Identifier: Apache-2.0
"""Stories: acts of a user in two sessions, on twins. The rows of each act with the product are those without it.

A story prepares DataFrames and runs them again after commits, changes of the index and of settings. It reads through
views and caches, and with parameters of SQL, EXECUTE IMMEDIATE and variables. An act is data, so that the script of a
finding contains it. In its text, `{t}` is the twin, `{k}` its key table, and `{x}` a word that names the twin.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support import product
from support.fuzz import predicates
from support.fuzz.values import TYPES, quote

from campaign import queries, settings
from campaign.judge import Judge, Verdict, bag, class_of, difference, rows_of
from campaign.queries import Check
from campaign.world import World, keys_of, short

Act = tuple[str, tuple[Any, ...]]
#: Kinds of queries whose rows depend on the table alone.
KINDS = (
    *(queries.filters, queries.function_filters, queries.topk, queries.topk_by_all, queries.aggregates),
    *(queries.ranges_of_extremes, queries.joins, queries.subqueries, queries.sets, queries.windows),
)
FRAMES, ACTS = 3, 15
#: Iceberg 1.11.0 loses parameters of SQL in its parser, if Spark 4.1 does not bind them after the text is parsed.
BOUND_LATE = ("spark.sql.legacy.parameterSubstitution.constantsOnly", "true")
OURS, STOCK = "ours", "stock"
_VIEW = re.compile(r"story_\d+_\{x\}")
_SHOWN = re.compile(r" AS (SELECT .*)", re.DOTALL)


@dataclass
class Telling:
    """The state of a story that is being drawn."""

    rng: random.Random
    world: World
    frames: int = 0
    views: list[str] = field(default_factory=list)

    def relation(self) -> str:
        return self.rng.choice([*self.views, "{t}", "{t}"])

    def query(self) -> str:
        kind = self.rng.choice(KINDS)
        return kind(queries.Draw(self.rng, self.world))[0].replace("{t}", self.relation())

    def where(self) -> str:
        return predicates.tree(self.rng, self.world.columns, depth=1).sql


def _frame(t: Telling) -> Iterator[Act]:
    """Prepares a DataFrame; some are also run, so that their physical plan exists before later acts."""
    t.frames += 1
    yield "frame", (t.frames - 1, t.query())
    if t.rng.random() < 0.6:
        yield "show", (t.frames - 1,)


def _show(t: Telling) -> Iterator[Act]:
    yield "show", (t.rng.randrange(t.frames),)


def _ask(t: Telling) -> Iterator[Act]:
    yield "ask", (t.query(),)


def _view(t: Telling) -> Iterator[Act]:
    name, word = f"story_{len(t.views)}_{{x}}", t.rng.choice(("TEMPORARY VIEW", "VIEW"))
    shown = t.rng.choice(("{t}", f"{{t}} WHERE {t.where()}", f"{t.relation()} WHERE rid % 5 <> 2"))
    if word == "VIEW" and "story_" in shown:  # a view cannot read a temporary view
        shown = "{t}"
    yield "do", (f"CREATE OR REPLACE {word} {name} AS SELECT * FROM {shown}",)
    t.views.append(name)
    yield from _ask(t)


def _cache(t: Telling) -> Iterator[Act]:
    """Caches the table, a view, or a query, reads it before and after a commit, and removes the cache again."""
    what = t.relation()
    if t.rng.random() < 0.4:
        what = f"story_{len(t.views)}_{{x}}"
        yield "do", (f"CACHE TABLE {what} AS SELECT * FROM {{t}} WHERE {t.where()}",)
        t.views.append(what)
    else:
        yield "do", (f"CACHE TABLE {what}",)
    yield "ask", (f"SELECT rid FROM {what} WHERE {t.where()}",)
    yield from _ask(t)
    yield from _commit(t)
    yield "ask", (f"SELECT rid FROM {what} WHERE {t.where()}",)
    yield from _ask(t)
    if t.rng.random() < 0.7:
        yield "do", (t.rng.choice((f"UNCACHE TABLE IF EXISTS {what}", "CLEAR CACHE")),)


def _commit(t: Telling) -> Iterator[Act]:
    low, table = t.rng.randrange(max(1, t.world.recipe.rows)), "{t}"
    compact = (
        f"CALL {t.world.catalog}.system.rewrite_data_files(table => '{{short}}', options => map('rewrite-all', 'true'))"
    )
    yield (
        "do",
        (
            t.rng.choice(
                (
                    f"INSERT INTO {table} SELECT * FROM {table} WHERE rid BETWEEN {low} AND {low + 9}",
                    f"INSERT INTO {table} SELECT * FROM {table} WHERE rid BETWEEN {low} AND {low + 2}",
                    f"DELETE FROM {table} WHERE rid BETWEEN {low} AND {low + 5}",
                    f"UPDATE {table} SET rid = rid + 1000 WHERE rid % 9 = {low % 9}",
                    f"INSERT OVERWRITE {table} SELECT * FROM {table} WHERE rid <> {low}",
                    compact,
                )
            ),
        ),
    )
    if t.rng.random() < 0.2:
        yield "do", (f"REFRESH TABLE {table}",)


#: The procedures of the words of a story.
_PROCEDURES = {"build": "build_index", "refresh": "refresh_index", "merge": "compact_index", "drop": "drop_index"}


def _index(t: Telling) -> Iterator[Act]:
    """Changes the index alone; the twin without the product does nothing."""
    word = t.rng.choice(("build", "build", "refresh", "merge", "drop", "gc", "forget"))
    yield "index", (word,)


def _confs(t: Telling) -> Iterator[Act]:
    for key, value in settings.draw(t.rng).items():
        yield "conf", (key, value)


def _session(t: Telling) -> Iterator[Act]:
    """Switches between two sessions; the other session gets settings of its own."""
    yield "session", (t.rng.randrange(2),)
    yield from _confs(t)


def _switch(t: Telling) -> Iterator[Act]:
    """Switches the product off between two runs of a DataFrame, and on again."""
    yield "enabled", ("false",)
    yield from _show(t)
    yield "enabled", ("true",)


def _parameters(t: Telling) -> Iterator[Act]:
    """Asks with a literal as a parameter, in EXECUTE IMMEDIATE, or in a variable."""
    column = t.rng.choice(queries.Draw(t.rng, t.world).some())
    literal = TYPES[column.kind].literal(predicates.value(t.rng, column))
    op, form = t.rng.choice(predicates.COMPARE), t.rng.randrange(5)
    head = f"SELECT rid FROM {t.relation()} WHERE {column.name} {op}"
    if form == 0:
        yield "ask", (f"{head} :p", {"p": literal})
    elif form == 1:
        yield "ask", (f"{head} {literal} AND rid >= ? AND rid < ?", [3, t.rng.randrange(60)])
    elif form == 2:
        yield "ask", (f"EXECUTE IMMEDIATE {quote(f'{head} :p')} USING {literal} AS p",)
    elif form == 3:
        yield "do", (f"DECLARE OR REPLACE VARIABLE story_value = {literal}",)
        yield "ask", (f"{head} story_value",)
    else:
        low = t.rng.randrange(40)
        tail = t.rng.choice((f"ORDER BY {column.name}, rid LIMIT :n", "ORDER BY rid DESC LIMIT :n"))
        yield "ask", (f"SELECT rid FROM {{t}} WHERE rid >= :low {tail}", {"n": "3", "low": str(low)})


MAKERS: tuple[Callable[[Telling], Iterator[Act]], ...] = (
    *(_frame, _show, _show, _show, _ask, _view, _cache, _commit, _commit, _index, _index, _confs, _session),
    *(_switch, _parameters, _parameters),
)


def draw(rng: random.Random, world: World) -> list[Act]:
    t = Telling(rng, world)
    acts = [act for _ in range(FRAMES) for act in _frame(t)]
    for _ in range(ACTS):
        acts += rng.choice(MAKERS)(t)
    return [*acts, *(("show", (number,)) for number in range(t.frames))]


class Teller:
    """Runs the acts of a story, each first on the twin without the product and then on the other twin."""

    def __init__(self, spark: SparkSession, twins: tuple[str, str]) -> None:
        self.sessions = (spark, spark.newSession())
        self.twins = dict(zip((STOCK, OURS), twins, strict=True))
        self.current = 0
        self.enabled = "true"
        self.frames: dict[tuple[str, int], DataFrame] = {}
        self.texts: dict[int, str] = {}
        self.views: list[tuple[SparkSession, str]] = []
        self.shown: dict[str, str] = {}
        self.doubtful: set[str] = set()  # views that Iceberg itself has answered wrongly
        self._before: list[tuple[SparkSession, str, str | None]] = []
        for self.current in (1, 0):
            self._set("conf", *BOUND_LATE)

    def run(self, act: Act) -> Verdict | None:
        """Returns the verdict of an act that returns rows or fails; None for an act that only changes a state."""
        name, arguments = act
        if name in ("session", "enabled", "conf"):
            self._set(name, *arguments)
            return None
        found = {twin: self._outcome(twin, name, arguments) for twin in (STOCK, OURS)}
        off, on = found[STOCK], found[OURS]
        if name in ("frame", "index", "do") and on == off:
            return None
        if isinstance(on, str) or isinstance(off, str):
            if on == off:
                return Verdict("both fail", str(on))
            return Verdict("stock errs", str(off)) if isinstance(off, str) else Verdict("WRONG", f"fails with {on}")
        return Verdict("equal") if on == off else self._decided(act, difference(off, on))

    def end(self) -> None:
        for session, key, value in reversed(self._before):
            session.conf.unset(key) if value is None else session.conf.set(key, value)
        self.sessions[0].catalog.clearCache()
        for session, name in self.views:  # a later story may use the name for a view of the other kind
            session.catalog.dropTempView(name)
            session.sql(f"DROP VIEW IF EXISTS {name}")

    def _set(self, name: str, *arguments: Any) -> None:
        if name == "session":
            self.current = arguments[0]
        elif name == "enabled":
            self.enabled = arguments[0]
        else:
            key, value = arguments
            session = self.sessions[self.current]
            self._before.append((session, key, session.conf.get(key, None)))
            session.conf.set(key, value)

    def _outcome(self, twin: str, name: str, arguments: tuple[Any, ...]) -> Any:
        for session in self.sessions:
            session.conf.set(product.KEYS["enabled"], self.enabled if twin == OURS else "false")
        try:
            return self._done(twin, name, arguments)
        except (Py4JJavaError, PySparkException) as error:
            return class_of(error)
        finally:
            for session in self.sessions:
                session.conf.unset(product.KEYS["enabled"])

    def _done(self, twin: str, name: str, arguments: tuple[Any, ...]) -> Any:
        spark = self.sessions[self.current]
        if name == "frame":
            number, text = arguments
            self.texts[number] = text
            self.frames.pop((twin, number), None)
            self.frames[twin, number] = spark.sql(self._text(twin, text))
            return None
        if name == "show":
            frame = self.frames.get((twin, arguments[0]))
            return None if frame is None else bag(frame.collect())
        if name == "index":
            self._index(twin, arguments[0])
            return None
        text, *args = arguments
        if name == "do" and (made := _VIEW.search(text)):
            self.views.append((spark, self._text(twin, made.group())))
            if shown := _SHOWN.search(text):
                self.shown[made.group()] = self._inlined(shown.group(1))
        rows = rows_of(spark, self._text(twin, text), *args)
        return bag(rows) if name == "ask" else None

    def _index(self, twin: str, word: str) -> None:
        if twin == STOCK:
            return
        spark = self.sessions[self.current]
        if word == "forget":
            spark._jvm.zonemap.spark.HeldIndexes.forget()
        elif word == "gc":
            product.call(spark, "collect_garbage", self.twins[OURS], ", older_than_hours => 24")
        else:
            product.call(spark, _PROCEDURES[word], self.twins[OURS], ", dry_run => false" if word == "drop" else "")

    def _text(self, twin: str, text: str) -> str:
        table = self.twins[twin]
        placed = text.replace("{k}", keys_of(self.twins[STOCK])).replace("{short}", short(table)).replace("{x}", twin)
        return placed.replace("{t}", table)

    def _decided(self, act: Act, details: str) -> Verdict:
        """Excludes a query that Iceberg itself answers wrongly: its own pruning may lose rows of imported files."""
        first, *args = act[1]
        text = self.texts[first] if act[0] == "show" else str(first)
        if not text.startswith(("SELECT", "WITH", "EXECUTE")):
            return Verdict("WRONG", details)
        views = set(_VIEW.findall(text))
        check = Check("stories", self._inlined(text), self.twins[OURS], args=args[0] if args else None)
        plain = Judge(self.sessions[self.current], self.twins[OURS]).check(check)
        if plain.result in ("stock errs", "undecided"):
            self.doubtful |= views
            return plain
        # A cache keeps the rows of the time when Iceberg's answer was wrong.
        return Verdict("undecided") if views & self.doubtful else Verdict("WRONG", details)

    def _inlined(self, text: str) -> str:
        """Returns a text with the queries of its views in their places."""
        is_quoted = text.startswith("EXECUTE")
        return _VIEW.sub(lambda made: f"({_escaped(self.shown[made.group()], is_quoted)})", text)


def _escaped(text: str, is_quoted: bool) -> str:
    return quote(text)[1:-1] if is_quoted else text


def tell(spark: SparkSession, twins: tuple[str, str], acts: list[Act]) -> Iterator[tuple[int, Verdict]]:
    """Runs the acts in order; yields the number of acts run and the verdict of each act that has one."""
    teller = Teller(spark, twins)
    try:
        for number, act in enumerate(acts, 1):
            verdict = teller.run(act)
            if verdict is not None:
                yield number, verdict
                if verdict.result == "WRONG":
                    return
    finally:
        teller.end()
