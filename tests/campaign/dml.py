# SPDX-License-Identifier: Apache-2.0
"""Runs row-level commands on twins, with the product for one table only, and compares the twins' rows and errors."""

from __future__ import annotations

import random
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support import product
from support.fuzz import predicates
from support.fuzz.values import TYPES

from campaign import functions
from campaign.judge import Verdict, bag, class_of, difference
from campaign.world import World, keys_of


def statement(rng: random.Random, world: World) -> str:
    """Draws a statement about `{t}` with keys of `{k}`."""
    column = rng.choice([c for c in world.columns if c.name in world.keys])
    key = world.keys[column.name]
    tier = rng.choice(("", f" WHERE tier = {rng.randrange(3)}"))
    rows = f"(SELECT * FROM {{k}}{tier})"
    where = rng.choice(
        (
            predicates.leaf(rng, world.columns).sql,
            functions.predicate(rng, world.columns).sql,
            f"t.{column.name} IN (SELECT {key} FROM {rows})",
            f"t.{column.name} IN (SELECT {key} FROM {rows})",
            f"EXISTS (SELECT 1 FROM {rows} k WHERE k.{key} = t.{column.name})",
            f"t.{column.name} NOT IN (SELECT {key} FROM {rows} WHERE {key} IS NOT NULL)",
        )
    )
    kind = rng.choice(("DELETE", "UPDATE", "MERGE", "MERGE"))
    if kind == "DELETE":
        return f"DELETE FROM {{t}} AS t WHERE {where}"
    if kind == "UPDATE":
        literal = TYPES[column.kind].literal(predicates.value(rng, column))
        return f"UPDATE {{t}} AS t SET rid = rid + 100000, {column.name} = {literal} WHERE {where}"
    source = f"(SELECT {key}, max(tier) AS tier FROM {rows} GROUP BY {key})"
    matched = rng.choice(("UPDATE SET t.rid = t.rid + 100000", "DELETE", "UPDATE SET t.rid = -t.rid"))
    insert = f" WHEN NOT MATCHED THEN INSERT (rid, {column.name}) VALUES (s.tier, s.{key})"
    by_source = " WHEN NOT MATCHED BY SOURCE AND t.rid % 7 = 0 THEN DELETE"
    merge = f"MERGE INTO {{t}} t USING {source} s ON t.{column.name} = s.{key} WHEN MATCHED THEN {matched}"
    return merge + rng.choice(("", insert, by_source, insert + by_source))


def run(spark: SparkSession, twins: tuple[str, str], text: str) -> Verdict:
    """Runs the statement on the first twin with the product off and on the second with it on; compares their rows."""
    stock, ours = twins
    with product.off(spark):
        expected = _failure(spark, text, stock, stock)
    with product.on(spark):
        found = _failure(spark, text, ours, stock)
    if found != expected:
        return Verdict("WRONG", f"error {found} instead of {expected}")
    with product.off(spark):
        off, on = (bag(spark.sql(f"SELECT * FROM {table}").collect()) for table in twins)
    if off != on:
        return Verdict("WRONG", difference(off, on))
    return Verdict("both fail", expected) if expected else Verdict("equal")


def _failure(spark: SparkSession, text: str, table: str, keys: str) -> Any:
    try:
        spark.sql(text.replace("{t}", table).replace("{k}", keys_of(keys))).collect()
        return None
    except (Py4JJavaError, PySparkException) as error:
        return class_of(error)
