# SPDX-License-Identifier: Apache-2.0
"""Changes to a table after its index was built. Each function changes the table and returns the relation to query."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from support import tables
from support.fuzz import recipe as recipes
from support.fuzz.recipe import Column, Recipe
from support.fuzz.values import JAVA_TYPES, TYPES


@dataclass(frozen=True)
class State:
    name: str
    relation: str  # the text after FROM
    columns: list[Column]
    time_travel: bool = False


@dataclass
class Life:
    """A table and its earlier snapshots, for time travel."""

    recipe: Recipe
    past: list[tuple[int, list[Column]]] = field(default_factory=list)

    def now(self, spark: SparkSession, name: str) -> State:
        columns = [copy(c) for c in self.recipe.columns]
        self.past.append((tables.snapshot_id(spark, self.recipe.table), columns))
        return State(name, self.recipe.table, columns)


def fresh(spark: SparkSession, life: Life) -> State:
    return life.now(spark, "fresh")


def appended(spark: SparkSession, life: Life) -> State:
    """Makes the index stale: adds two commits that no stored version covers."""
    recipes.append(spark, life.recipe, life.recipe.rng.randint(2, 4))
    recipes.append(spark, life.recipe, 2)
    return life.now(spark, "appended")


def rows_deleted(spark: SparkSession, life: Life) -> State:
    recipe = life.recipe
    mode = (
        recipe.rng.choice(("merge-on-read", "merge-on-read", "copy-on-write"))
        if recipe.version > 1
        else "copy-on-write"
    )
    _set(spark, recipe, {"write.delete.mode": mode})
    spark.sql(f"DELETE FROM {recipe.table} WHERE rid % 5 = {recipe.rng.randrange(5)}")
    low = recipe.rng.randrange(recipe.rows)
    spark.sql(f"DELETE FROM {recipe.table} WHERE rid BETWEEN {low} AND {low + 9}")
    return life.now(spark, f"rows deleted {mode} v{recipe.version}")


def compacted(spark: SparkSession, life: Life) -> State:
    namespace_table = life.recipe.table.split(".", 1)[1]
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{namespace_table}', options => map('rewrite-all', 'true'))"
    )
    recipes.append(spark, life.recipe, 3)
    return life.now(spark, "compacted")


def manifests_rewritten(spark: SparkSession, life: Life) -> State:
    spark.sql(f"CALL lake.system.rewrite_manifests(table => '{life.recipe.table.split('.', 1)[1]}')")
    return life.now(spark, "manifests rewritten")


def evolved(spark: SparkSession, life: Life) -> State:
    """Promotes, renames, swaps, drops, re-adds and adds columns, then appends rows with the new schema."""
    recipe, rng = life.recipe, life.recipe.rng
    used = f"{recipe.partitioned} {recipe.evolved_to or ''}"
    free = [c for c in recipe.columns if "." not in c.name and c.kind not in JAVA_TYPES and c.name not in used]
    alter = f"ALTER TABLE {recipe.table}"
    for column in recipe.columns:
        target = {"int": "long", "float": "double"}.get(column.kind)
        if target and column.name not in used and rng.random() < 0.7:
            spark.sql(f"{alter} ALTER COLUMN {column.name} TYPE {TYPES[target].ddl}")
            column.kind = target
    rng.shuffle(free)
    if len(free) >= 2 and rng.random() < 0.6:
        a, b = free[0], free[1]
        for old, new in ((a.name, "swapping"), (b.name, a.name), ("swapping", b.name)):
            spark.sql(f"{alter} RENAME COLUMN {old} TO {new}")
        a.name, b.name = b.name, a.name
    if len(free) >= 3:
        dropped = free[2]
        spark.sql(f"{alter} DROP COLUMN {dropped.name}")
        spark.sql(f"{alter} ADD COLUMN {dropped.name} {TYPES[dropped.kind].ddl}")
    new = Column(f"added_{recipe.rows}", rng.choice(("int", "string", "date", "double")), "clustered", 0.1, 0)
    spark.sql(f"{alter} ADD COLUMN {new.name} {TYPES[new.kind].ddl}")
    recipe.columns.append(new)
    leaf = Column(f"st.added_{recipe.rows}", "int", "clustered", 0.1, 0)
    spark.sql(f"{alter} ADD COLUMN {leaf.name} INT")
    recipe.columns.append(leaf)
    recipes.append(spark, recipe, 3)
    return life.now(spark, "evolved")


def rolled_back(spark: SparkSession, life: Life) -> State:
    """Reads the snapshot at which the index was built, after all other changes."""
    snapshot, columns = life.past[0]
    return State("time travel", f"{life.recipe.table} VERSION AS OF {snapshot}", columns, time_travel=True)


AFTER_BUILD: tuple[Callable[[SparkSession, Life], State], ...] = (
    appended,
    rows_deleted,
    compacted,
    manifests_rewritten,
    evolved,
)


def _set(spark: SparkSession, recipe: Recipe, props: dict[str, str]) -> None:
    pairs = ", ".join(f"'{k}'='{v}'" for k, v in props.items())
    spark.sql(f"ALTER TABLE {recipe.table} SET TBLPROPERTIES ({pairs})")
