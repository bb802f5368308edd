# SPDX-License-Identifier: Apache-2.0
"""A table of the campaign, and what belongs to it: its index, later commits, a view, and a table of keys."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from support import tables
from support.fuzz import recipe as recipes
from support.fuzz.recipe import Column, Recipe
from support.fuzz.values import JAVA_TYPES, SPAN, TYPES

from campaign.steps import Notebook

KEYS = "lake.campaign.keys"
TAG = "marked"


@dataclass
class World:
    """A table in its current state.

    `keys` maps a column to the column of the key table that holds values of it. `older` holds the numbers of earlier
    snapshots with the current schema. `aim` holds the columns that queries about this kind of table use most.
    """

    kind: str
    recipe: Recipe
    notebook: Notebook
    tags: set[str] = field(default_factory=set)
    keys: dict[str, str] = field(default_factory=dict)
    older: list[int] = field(default_factory=list)
    branch: str | None = None
    aim: list[Column] = field(default_factory=list)
    frame: str | None = None  # a view of a DataFrame that was prepared before the last commits

    @property
    def catalog(self) -> str:
        return self.table.partition(".")[0]

    @property
    def view(self) -> str:
        return f"view_of_{self.table.rpartition('.')[2]}"

    @property
    def table(self) -> str:
        return self.recipe.table

    @property
    def columns(self) -> list[Column]:
        return self.recipe.columns


def furnish(rng: random.Random, world: World) -> None:
    """Adds a random state of the index, later commits, a view, and the table of keys."""
    if rng.random() < 0.9:  # one task reads all files, so that queries that are run cost less
        world.notebook.sql(f"ALTER TABLE {world.table} SET TBLPROPERTIES ('read.split.open-file-cost'='1')")
    _indexed(rng, world)
    if rng.random() < 0.8:
        _continued(rng, world)
    _add_view(rng, world)
    _add_keys(rng, world)


def _continued(rng: random.Random, world: World) -> None:
    """Adds commits after the build, so that the table has earlier snapshots, and perhaps a branch and a tag."""
    notebook, table = world.notebook, world.table
    world.tags.add("stale")
    world.frame = f"frame_of_{table.rpartition('.')[2]}"
    notebook.noted("frame", table, world.frame)
    first = _snapshots(notebook.spark, table) - 1
    for _ in range(rng.choice((1, 2))):
        recipes.append(notebook, world.recipe, 2)
        if rng.random() < 0.3:  # a segment of its own, not merged with the others
            world.tags.add("refreshed")
            notebook.sql(f"CALL zonemap.system.refresh_index(table => '{table}')")
    world.older = list(range(first, _snapshots(notebook.spark, table) - 1))
    if rng.random() < 0.5:
        world.branch = "kept"
        notebook.sql(f"ALTER TABLE {table} CREATE OR REPLACE BRANCH {world.branch}")
        notebook.sql(f"ALTER TABLE {table} CREATE OR REPLACE TAG {TAG}")
        recipes.append(notebook, world.recipe, 2)
        world.older.append(world.older[-1] + 1)
    if rng.random() < 0.3:  # an incremental read returns these rows, although the current state lacks them
        world.tags.add("rows gone")
        last = world.recipe.rows
        notebook.sql(f"DELETE FROM {table} WHERE rid BETWEEN {last - rng.choice((4, 12, 15))} AND {last - 1}")


def _add_view(rng: random.Random, world: World) -> None:
    word = "TEMPORARY VIEW" if world.catalog == "spark_catalog" else rng.choice(("TEMPORARY VIEW", "VIEW"))
    world.notebook.sql(f"CREATE OR REPLACE {word} {world.view} AS SELECT *, _file, _pos FROM {world.table}")


def drop(spark: SparkSession, world: World) -> None:
    """Drops the table with its key table and its views."""
    for name in (
        f"VIEW IF EXISTS {world.view}",
        f"TABLE IF EXISTS {world.table}",
        f"TABLE IF EXISTS {keys_of(world.table)}",
    ):
        spark.sql(f"DROP {name}")
    if world.frame:
        spark.catalog.dropTempView(world.frame)


def _snapshots(spark: SparkSession, table: str) -> int:
    return spark.sql(f"SELECT * FROM {table}.snapshots").count()


def _indexed(rng: random.Random, world: World) -> None:
    """Builds an index for most tables, some with facts. For other tables the first query builds it."""
    how = rng.choice(("built", "built", "built", "facts", "columns", "none"))
    world.tags.add(f"index {how}")
    if how == "none":
        return
    top = [c.name for c in world.columns if "." not in c.name]
    more = {"built": "", "facts": _facts(world, top), "columns": f", columns => array('rid', '{top[0]}')"}[how]
    world.notebook.sql(f"CALL zonemap.system.build_index(table => '{world.table}'{more})")
    if rng.random() < 0.2:
        world.tags.add("damaged")
        world.notebook.noted("damage", world.table, str(rng.random()))


def _facts(world: World, names: list[str]) -> str:
    """Returns the argument for facts of two columns, but not of identity-partition columns, which cannot have facts."""
    loaded = tables.java_table(world.notebook.spark, world.table)
    fields = [field for spec in loaded.specs().values() for field in spec.fields()]
    constant = {loaded.schema().findColumnName(f.sourceId()) for f in fields if f.transform().isIdentity()}
    usable = [name for name in names if name not in constant]
    return f", facts => 'values({usable[0]}), bloom({usable[-1]})'" if usable else ""


def _add_keys(rng: random.Random, world: World) -> None:
    """Creates a small indexed table with values that the columns hold and values that they do not hold."""
    usable = [c for c in world.columns if "." not in c.name and c.kind not in JAVA_TYPES]
    table = f"{KEYS}_{world.table.rpartition('.')[2]}"
    world.keys = {c.name: f"k{i}" for i, c in enumerate(usable)}
    sent = ["tier INT", *(f"k{i} {TYPES[c.kind].sent_as}" for i, c in enumerate(usable))]
    select = ["tier", *(f"{TYPES[c.kind].select.format(f'`k{i}`')} AS k{i}" for i, c in enumerate(usable))]
    rows = []
    for number in range(9):
        values = [
            rng.choice(c.seen) if c.seen and rng.random() < 0.7 else TYPES[c.kind].at(rng.randrange(SPAN))
            for c in usable
        ]
        rows.append((number // 3, *(None if rng.random() < 0.05 else v for v in values)))
    declared = ", ".join(["tier INT", *(f"k{i} {TYPES[c.kind].ddl}" for i, c in enumerate(usable))])
    tables.create(world.notebook, table, declared)
    tables.append(world.notebook, table, [rows[:3], rows[3:6], rows[6:]], ", ".join(sent), select=select)
    world.notebook.sql(f"CALL zonemap.system.build_index(table => '{table}')")


def keys_of(table: str) -> str:
    return f"{KEYS}_{table.rpartition('.')[2]}"


def short(table: str) -> str:
    return table.split(".", 1)[1]
