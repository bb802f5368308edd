# SPDX-License-Identifier: Apache-2.0
"""Random MERGE, UPDATE and DELETE statements about `{t}`, and their tables. One seed determines all of it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from pyspark.sql import SparkSession

from support import commands, product, tables

DDL = "id BIGINT, n INT, s STRING, ts TIMESTAMP, d DOUBLE, c INT"
SENT = "id BIGINT, n INT, s STRING, hours BIGINT, d DOUBLE, c INT"
SELECT = ["id", "n", "s", "timestamp_seconds(hours * 3600) AS ts", "d", "c"]
COLUMNS = ("id", "n", "s", "ts", "d", "c")
KEYS = ("id", "id", "id", "s", "ts", "n")
FILES, ROWS = 10, 12
NUMBERS = FILES * ROWS
SOURCE = "lake.fuzz.keys"
LEVELS = ("serializable", "snapshot")
MODES = ("copy-on-write", "merge-on-read")
#: The number of slices for each partitioning. None is by strings: Iceberg's own key filter fails on null strings.
LAYOUTS = {"": FILES, "bucket(4, id)": 3, "truncate(12, id)": 1, "days(ts)": 1, "bucket(4, id), n": 1}


def row(rng: random.Random, number: int, nulls: float = 0.04) -> tuple:
    """Returns a row whose columns ascend with the number. A file, a day and a value of `n` have ROWS rows each."""
    values = (number, number // ROWS, f"k{number // ROWS:02d}{number % ROWS:02d}", 400_000 + number * 2)
    return (*(None if rng.random() < nulls else v for v in values), number / 2.0, rng.randrange(10))


def create_source(spark: SparkSession, rng: random.Random) -> str:
    """Creates a source with every third number of the targets and some beyond; `c` numbers the tenths of the range."""
    tables.create(spark, SOURCE, DDL)
    rows = [(*row(rng, v, nulls=0.0)[:4], -1.0 - v, v * 10 // NUMBERS) for v in range(0, NUMBERS + 30, 3)]
    rows += [(None, None, None, None, -0.5, c) for c in (1, 5)]
    tables.append(spark, SOURCE, [rows], SENT, select=SELECT)
    product.build(spark, SOURCE)
    return SOURCE


@dataclass(frozen=True)
class Target:
    """The layout of a target table, and its mode and isolation level for row-level commands."""

    mode: str
    version: int
    by: str
    level: str

    @staticmethod
    def draw(rng: random.Random) -> Target:
        return Target(rng.choice(MODES), rng.choice((2, 3)), rng.choice(list(LAYOUTS)), rng.choice(LEVELS))

    def create(self, spark: SparkSession, table: str, seed: str) -> None:
        rng = random.Random(seed)
        props = dict(commands.ONE_TASK)
        for command in ("delete", "update", "merge"):
            props |= {f"write.{command}.mode": self.mode, f"write.{command}.isolation-level": self.level}
        if rng.random() < 0.3:
            props["write.metadata.metrics.default"] = "none"
        tables.create(spark, table, DDL, partitioned=self.by, version=self.version, props=props)
        slices = LAYOUTS[self.by]
        size = NUMBERS // slices
        rows = [[row(rng, s * size + i) for i in range(size)] for s in range(slices)]
        tables.append(spark, table, rows, SENT, select=SELECT)
        product.build(spark, table)

    def __str__(self) -> str:
        return f"{self.mode} v{self.version} {self.level} by '{self.by}'"


def predicate(rng: random.Random, alias: str = "") -> str:
    low = rng.randrange(NUMBERS)
    file = rng.randrange(FILES)
    return rng.choice(
        [
            f"{alias}id BETWEEN {low} AND {low + rng.randrange(20)}",
            f"{alias}id < {rng.randrange(30)}",
            f"{alias}n = {file}",
            f"{alias}n IN ({file}, {(file + 3) % FILES})",
            f"{alias}s LIKE 'k{file:02d}%'",
            f"{alias}s = 'k{file:02d}{rng.randrange(ROWS):02d}'",
            f"{alias}ts >= timestamp_seconds({(400_000 + low * 2) * 3600}) AND {alias}c < 5",
            f"{alias}d > {low / 2} AND {alias}c = {rng.randrange(10)}",
            f"{alias}c = {rng.randrange(10)}",
            f"{alias}id IS NULL",
            f"abs({alias}id - {low}) < 3",
            f"{alias}id + 1 = {low}",
        ]
    )


def keys(rng: random.Random, few: bool = False) -> str:
    """Draws a query of source rows: keys in few, no or all files, null keys, literal rows, or the target itself."""
    kind = 0 if few else rng.randrange(10)
    if kind < 5:
        where = rng.choice(
            [f"c = {rng.randrange(10)}", f"id IN ({rng.randrange(0, 120, 3)}, {rng.randrange(0, 120, 3)})"]
        )
        return f"SELECT {', '.join(COLUMNS)} FROM {SOURCE} WHERE {where}"
    if kind == 5:
        return f"SELECT id + 5000 AS id, n + 5000 AS n, concat('z', s) AS s, ts + INTERVAL 900 DAYS AS ts, d, c FROM {SOURCE}"
    if kind == 6:
        return f"SELECT {', '.join(COLUMNS)} FROM {SOURCE}"
    if kind == 7:
        return f"SELECT * FROM {{t}} WHERE {predicate(rng)}"
    rows = [row(rng, rng.randrange(NUMBERS + 10), nulls=0.1) for _ in range(rng.randrange(1, 4))]
    typed = ", ".join("(" + ", ".join(["NULL" if v is None else repr(v) for v in line]) + ")" for line in rows)
    casts = "CAST(id AS BIGINT) id, CAST(n AS INT) n, CAST(s AS STRING) s, timestamp_seconds(h * 3600) ts, CAST(d AS DOUBLE) d, c"
    return f"SELECT {casts} FROM VALUES {typed} AS v(id, n, s, h, d, c)"


def merge(rng: random.Random) -> str:
    key = rng.choice(KEYS)
    source = keys(rng)
    if rng.random() < 0.08:
        source = f"{source} UNION ALL {source}"
    on = f"t.{key} {'<=>' if rng.random() < 0.05 else '='} s.{key}"
    if rng.random() < 0.25:
        on += f" AND {predicate(rng, rng.choice(('t.', 's.')))}"
    clauses = []
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        # only the last clause of a kind may have no condition
        action = rng.choice(("DELETE", "UPDATE SET d = s.d", "UPDATE SET t.d = t.d + 1, t.c = s.c", "UPDATE SET *"))
        clauses.append(f"WHEN MATCHED AND {predicate(rng, rng.choice(('t.', 's.')))} THEN {action}")
    if rng.random() < 0.6:
        clauses.append("WHEN MATCHED THEN " + rng.choice(("DELETE", "UPDATE SET d = s.d", "UPDATE SET *")))
    if rng.random() < 0.5:
        condition = f" AND {predicate(rng, 's.')}" if rng.random() < 0.3 else ""
        clauses.append(f"WHEN NOT MATCHED{condition} THEN INSERT *")
    if rng.random() < 0.2:
        condition = f" AND {predicate(rng, 't.')}" if rng.random() < 0.8 else ""
        clauses.append(f"WHEN NOT MATCHED BY SOURCE{condition} THEN {rng.choice(('DELETE', 'UPDATE SET d = -7'))}")
    if not clauses:
        clauses.append("WHEN MATCHED THEN UPDATE SET d = s.d + 0.25")
    return f"MERGE INTO {{t}} t USING ({source}) s ON {on} {' '.join(clauses)}"


def condition(rng: random.Random) -> str:
    """Draws the WHERE condition of an UPDATE or DELETE of `t`."""
    if rng.random() < 0.3:
        return predicate(rng, "t.")
    key = rng.choice(KEYS)
    source = keys(rng)
    negated = "NOT " if rng.random() < 0.12 else ""
    text = rng.choice(
        [
            f"t.{key} {negated}IN (SELECT {key} FROM ({source}))",
            f"t.{key} IN (SELECT {key} FROM ({source}))",
            f"{negated}EXISTS (SELECT 1 FROM ({source}) s WHERE s.{key} = t.{key})",
            f"EXISTS (SELECT 1 FROM ({source}) s WHERE s.{key} = t.{key} AND s.c <> t.c)",
        ]
    )
    more = rng.random()
    return (
        f"{text} OR {predicate(rng, 't.')}"
        if more < 0.08
        else f"{text} AND {predicate(rng, 't.')}"
        if more < 0.2
        else text
    )


def narrow(rng: random.Random) -> str:
    """Draws a statement that changes rows of few files, which join keys can prove."""
    key, source = rng.choice(KEYS), keys(rng, few=True)
    if rng.random() < 0.5:
        insert = " WHEN NOT MATCHED THEN INSERT *" if rng.random() < 0.5 else ""
        return (
            f"MERGE INTO {{t}} t USING ({source}) s ON t.{key} = s.{key} WHEN MATCHED THEN UPDATE SET d = s.d{insert}"
        )
    command = rng.choice(("DELETE FROM {t} AS t", "UPDATE {t} AS t SET d = -9"))
    return f"{command} WHERE t.{key} IN (SELECT {key} FROM ({source}))"


def statement(rng: random.Random, by_few_keys: bool = False) -> str:
    if by_few_keys:
        return narrow(rng)
    kind = rng.random()
    if kind < 0.5:
        return merge(rng)
    if kind < 0.75:
        return f"DELETE FROM {{t}} AS t WHERE {condition(rng)}"
    assigned = rng.choice(("d = t.d * 2", "c = 7", "d = -1, c = t.c + 1", "id = t.id + 1", "s = concat(t.s, 'x')"))
    return f"UPDATE {{t}} AS t SET {assigned} WHERE {condition(rng)}"
