# SPDX-License-Identifier: Apache-2.0
"""Kinds of tables. A seed determines the steps that create a table; a twin has the same seed and another name."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import copy

from pyspark.sql import SparkSession
from support.fuzz import recipe as recipes
from support.fuzz import states
from support.fuzz.recipe import Column, Recipe
from support.fuzz.values import DRAWN, JAVA_TYPES, MALFORMED, TYPES

from campaign import steps
from campaign.other_writers import ARROW
from campaign.steps import BASE, Notebook
from campaign.world import World, furnish, short

STAMPS = ("TIMESTAMP_MILLIS", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS", "INT96")
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


def columns_of(rng: random.Random, *needed: str) -> list[Column]:
    kinds = [*needed, *rng.sample(sorted(set(DRAWN) - set(JAVA_TYPES)), 3)]
    made = [
        Column(f"c{i}_{kind}", kind, rng.choice(recipes.STYLES), rng.choice((0, 0, 0.15)), rng.choice((0, 0, 0.08)))
        for i, kind in enumerate(kinds)
    ]
    return [*made, Column("st.x0_int", "int", "clustered", 0.1, 0), Column("few", "int", "few", 0.1, 0)]


def plain(rng: random.Random, seed: str, table: str, *needed: str, version: int | None = None) -> Recipe:
    """Creates the recipe of an unpartitioned table of Parquet files with bounds."""
    return recipes.make(
        seed,
        table,
        columns=columns_of(rng, *needed),
        partitioned="",
        evolved_to=None,
        version=version or rng.choice((1, 2, 2, 3)),
        props={},
        formats=["parquet"],
    )


def native(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table of any recipe: all types, partition specs and their evolution, formats and metrics modes."""
    recipe = recipes.make(seed, table)
    recipes.fill(spark, recipe)
    world = World("native", recipe, spark)
    life = states.Life(recipe)
    for change in rng.sample(states.AFTER_BUILD, rng.choice((0, 1, 2))):
        world.tags.add(change.__name__)
        change(spark, life)
    return world


def deletes(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table with position deletes or deletion vectors, and with equality deletes."""
    recipe = plain(rng, seed, table, "int", "string", version=rng.choice((2, 2, 3)))
    recipes.create(spark, recipe)
    modes = ", ".join(f"'{mode}'='merge-on-read'" for mode in MODES)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({modes})")
    recipes.append(spark, recipe, rng.randint(4, 6))
    spark.sql(f"DELETE FROM {table} WHERE rid % 5 = {rng.randrange(5)}")
    column = recipe.columns[0]
    held = [v for v in column.seen if v is not None]
    if held:
        spark.noted("equality_delete", table, column.name, [rng.choice(held), rng.choice(held)])
    recipes.append(spark, recipe, rng.randint(2, 4))
    low = rng.randrange(recipe.rows)
    spark.sql(f"DELETE FROM {table} WHERE rid BETWEEN {low} AND {low + 7}")
    return World("deletes", recipe, spark)


def imported(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Imports files without field ids by add_files, some with timestamps in milliseconds; Iceberg may add rows."""
    recipe = plain(rng, seed, table, "timestamp", "int", "string")
    stamps = rng.choice(STAMPS)
    recipes.create(spark, recipe)
    add_files(spark, recipe, rng.randint(5, 8), stamps)
    world = World("imported", recipe, spark, {stamps}, aim=recipe.columns[:1])
    if rng.random() < 0.5:
        recipes.append(spark, recipe, rng.randint(1, 4))
    return world


def add_files(spark: Notebook, recipe: Recipe, slices: int, stamps: str) -> None:
    rows = recipes.batch(recipe, slices)
    folder = f"{BASE}/imports/{recipe.table}-{recipe.rows}"
    spark.noted("parquet", folder, rows.slices, rows.sent, rows.select, stamps)
    spark.sql(f"CALL lake.system.add_files(table => '{short(recipe.table)}', source_table => '`parquet`.`{folder}`')")


def moved(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Imports files, then renames a column and adds another of its old name, so that the name mapping changes."""
    kind = rng.choice(("int", "long", "string", "date", "decimal9"))
    recipe = plain(rng, seed, table, kind, "int")
    recipes.create(spark, recipe)
    add_files(spark, recipe, rng.randint(5, 8), "TIMESTAMP_MICROS")
    old = recipe.columns[0]
    renamed = copy(old)
    renamed.name = f"{old.name}_before"
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN {old.name} TO {renamed.name}")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN {old.name} {TYPES[kind].ddl}")
    recipe.columns.insert(0, renamed)
    if rng.random() < 0.4:
        recipes.append(spark, recipe, 2)
    return World("moved", recipe, spark, aim=recipe.columns[:2])


def hive(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Imports partition folders few=0 to few=5, whose files may hold another value of the column."""
    recipe = plain(rng, seed, table, "int", "string")
    few = recipe.columns[-1]
    recipe.partitioned = few.name
    recipes.create(spark, recipe)
    rows = recipes.batch(recipe, 6)
    shift = rng.choice((0, 1, 1, 100, -3))
    place = 2 + len(recipe.columns) - 1
    folder = f"{BASE}/imports/{table}-hive"
    for number, part in enumerate(rows.slices):
        held = [(*row[:place], number + shift) for row in part]
        spark.noted("parquet", f"{folder}/few={number}", [held], rows.sent, rows.select, "TIMESTAMP_MICROS")
    few.seen[:] = [*range(6), *range(shift, 6 + shift)]
    spark.sql(f"CALL lake.system.add_files(table => '{short(table)}', source_table => '`parquet`.`{folder}`')")
    return World("hive", recipe, spark, {"shifted"} if shift else set(), aim=[few])


def copied(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table from a Parquet table of Spark's with Iceberg's procedure `snapshot`."""
    recipe = plain(rng, seed, table, "timestamp", "int", version=2)
    stamps = rng.choice(STAMPS)
    rows = recipes.batch(recipe, rng.randint(5, 8))
    folder = f"{BASE}/imports/{table}-copied"
    source = f"spark_catalog.default.{short(table).replace('.', '_')}"
    spark.noted("parquet", folder, rows.slices, rows.sent, rows.select, stamps)
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"DROP TABLE IF EXISTS {source}")
    spark.sql(f"CREATE TABLE {source} USING parquet LOCATION '{folder}'")
    spark.sql(f"CALL lake.system.snapshot(source_table => '{source}', table => '{table}')")
    recipes.append(spark, recipe, 2)
    return World("copied", recipe, spark, {stamps}, aim=recipe.columns[:1])


def migrated(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Migrates a Parquet table of Spark's in place with Iceberg's procedure `migrate`; Iceberg may add rows."""
    table = f"spark_catalog.default.{table.rpartition('.')[2]}"
    recipe = plain(rng, seed, table, "timestamp", "int", "string", version=2)
    stamps = rng.choice(STAMPS)
    rows = recipes.batch(recipe, rng.randint(5, 8))
    folder = f"{BASE}/imports/{table}-migrated"
    spark.noted("session_catalog")
    spark.noted("parquet", folder, rows.slices, rows.sent, rows.select, stamps)
    for old in (table, f"{table}_BACKUP_"):
        spark.sql(f"DROP TABLE IF EXISTS {old}")
    spark.sql(f"CREATE TABLE {table} USING parquet LOCATION '{folder}'")
    spark.sql(f"CALL spark_catalog.system.migrate(table => '{short(table)}')")
    if rng.random() < 0.5:
        recipes.append(spark, recipe, rng.randint(1, 4))
    return World("migrated", recipe, spark, {stamps}, aim=recipe.columns[:1])


#: Types that may have an initial default: the class of the type, and a value beyond all values that are sent later.
DEFAULTS = {"int": ("IntegerType", 2_000_000), "long": ("LongType", 2**60), "string": ("StringType", "zz-default")}


def defaults(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Adds columns with initial defaults: older rows have the default, although their files lack the columns."""
    recipe = plain(rng, seed, table, "int", version=3)
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(3, 5))
    for kind in rng.sample(sorted(DEFAULTS), 2):
        java_type, value = DEFAULTS[kind]
        column = Column(f"dflt_{kind}", kind, "clustered", rng.choice((0, 0.1)), 0)
        spark.noted("add_default", table, column.name, java_type, value)
        column.seen.append(value)
        recipe.columns.append(column)
    recipes.append(spark, recipe, rng.randint(3, 5))
    return World("defaults", recipe, spark, aim=recipe.columns[-2:])


def loose(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table with bounds that are wider than the values, as other writers may write them."""
    recipe = plain(rng, seed, table, "int", "long", "timestamp", "date")
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(4, 6))
    held = {c.name: c.kind for c in recipe.columns if c.kind in steps.CAN_BE_LOOSE and "." not in c.name}
    spark.noted("loosen", table, held, rng.choice((1, 7, 1000)))
    return World("loose", recipe, spark, aim=[c for c in recipe.columns if c.name in held])


def formats(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table of ORC files, of Avro files, or of files of all formats."""
    recipe = plain(rng, seed, table, "int", "double", "timestamp")
    recipe.formats = rng.choice((["orc"], ["orc"], ["avro"], ["orc", "avro", "parquet"]))
    recipes.create(spark, recipe)
    for _ in range(3):
        recipes.append(spark, recipe, rng.randint(2, 4))
    return World("formats", recipe, spark, set(recipe.formats))


def extremes(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table in which most values are the ends of a type's range, NaN, -0.0, or texts that bounds truncate."""
    recipe = plain(rng, seed, table, *rng.sample(("float", "double", "int", "long", "date", "emoji", "timestamp"), 4))
    for column in recipe.columns:
        column.special_rate = rng.choice((0.3, 0.7))
    recipe.props = dict(rng.choice(recipes.PROPERTIES))
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(4, 6))
    recipes.append(spark, recipe, rng.randint(3, 5))
    return World("extremes", recipe, spark)


def constants(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates files with field ids whose partition tuples hold another value than their rows; readers return the tuple's."""
    recipe = plain(rng, seed, table, "int", "string", version=2)
    few = recipe.columns[-1]
    few.style, few.null_rate = "constant", 0
    recipe.partitioned = few.name
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(5, 7))
    shift = rng.choice((1, 1000, -250_000))
    spark.noted("other_tuples", table, few.name, shift)
    few.seen += [v + shift for v in few.seen]
    return World("constants", recipe, spark, aim=[few])


def by_pyiceberg(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table with PyIceberg; Spark may add rows."""
    recipe = plain(rng, seed, table, "int", "string", "timestamp")
    recipe.columns = [c for c in recipe.columns if "." not in c.name and c.kind in ARROW]
    rows = recipes.batch(recipe, rng.randint(5, 8))
    slices = [[(row[0], *row[2:]) for row in part] for part in rows.slices]
    spark.noted("pyiceberg", table, [(c.name, c.kind) for c in recipe.columns], slices)
    return World("by_pyiceberg", recipe, spark)


def malformed(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table of texts whose bytes are not UTF-8; Iceberg's bounds of them hold U+FFFD in place of bytes."""
    recipe = plain(rng, seed, table, MALFORMED, MALFORMED, "string")
    recipe.formats = rng.choice((["parquet"], ["parquet"], ["orc"], ["parquet", "orc"]))
    recipe.props = dict(rng.choice(recipes.PROPERTIES))
    recipes.create(spark, recipe)
    for _ in range(2):
        recipes.append(spark, recipe, rng.randint(4, 6))
    return World("malformed", recipe, spark, set(recipe.formats), aim=recipe.columns[:3])


def unknown_nulls(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table whose manifests state null counts and bounds of 0 for columns that hold nulls and other values."""
    recipe = plain(rng, seed, table, "int", "long", "timestamp")
    forged = recipe.columns[:3]
    for column in forged:
        column.null_rate = rng.choice((0, 0.15, 0.4))
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(5, 8))
    spark.noted("unknown_nulls", table, {c.name: c.kind for c in rng.sample(forged, rng.choice((1, 2, 3)))})
    return World("unknown_nulls", recipe, spark, aim=forged)


def commit_counts(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table whose manifests state the record count of the whole table for each file."""
    recipe = plain(rng, seed, table, "int", "string")
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(5, 8))
    spark.noted("commit_counts", table)
    return World("commit_counts", recipe, spark)


def cut_times(rng: random.Random, spark: Notebook, seed: str, table: str) -> World:
    """Creates a table whose upper bounds of timestamps are cut to milliseconds, below the greatest values."""
    recipe = plain(rng, seed, table, "timestamp", "timestamp", "timestamp_ntz")
    recipes.create(spark, recipe)
    recipes.append(spark, recipe, rng.randint(5, 8))
    forged = recipe.columns[:3]
    spark.noted("cut_times", table, [c.name for c in forged])
    return World("cut_times", recipe, spark, aim=forged)


WORLDS: tuple[Callable[[random.Random, Notebook, str, str], World], ...] = (
    native,
    imported,
    moved,
    hive,
    defaults,
    loose,
    deletes,
    copied,
    formats,
    extremes,
    constants,
    by_pyiceberg,
    migrated,
    malformed,
    unknown_nulls,
    commit_counts,
    cut_times,
)


def kind_of(number: int) -> str:
    """Returns the kind of table of a round; the rounds alternate between the kinds."""
    return WORLDS[number % len(WORLDS)].__name__


def make(spark: SparkSession, kind: str, seed: str, table: str) -> World:
    """Creates the table of a kind and seed with its key table, a random state of its index, and earlier snapshots."""
    rng = random.Random(f"{seed}/{kind}")
    notebook = Notebook(spark)
    spark.conf.unset(steps.SESSION_CATALOG)  # of an earlier table
    world = next(w for w in WORLDS if w.__name__ == kind)(rng, notebook, seed, table)
    furnish(rng, world)
    return world
