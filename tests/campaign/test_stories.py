"""Tests of stories: which acts occur, and that rows that differ between the twins are noticed."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession
from support import product, tables
from support.fuzz import recipe as recipes
from support.session import STOCK

from campaign import settings, stories
from campaign.stories import Act
from campaign.world import World

QUERY = "SELECT id FROM {t} WHERE id < 3"


def _world() -> World:
    recipe = recipes.make("7", "lake.campaign.told")
    recipe.rows = 40
    usable = [c for c in recipe.columns if "." not in c.name]
    return World("native", recipe, None, keys={c.name: f"k{n}" for n, c in enumerate(usable)})  # type: ignore[arg-type]


def test_every_kind_of_act_occurs_and_a_seed_repeats_a_story() -> None:
    told = [stories.draw(random.Random(seed), _world()) for seed in range(60)]
    assert told == [stories.draw(random.Random(seed), _world()) for seed in range(60)]
    acts = [act for story in told for act in story]
    assert {name for name, _ in acts} == {
        *("frame", "show", "ask", "do", "index", "conf", "session", "enabled"),
    }
    texts = " ".join(str(arguments) for _, arguments in acts)
    words = (
        "EXECUTE IMMEDIATE",
        "VARIABLE",
        ":p",
        "CACHE TABLE {t}",
        "TEMPORARY VIEW",
        "INSERT OVERWRITE",
        "rewrite_data",
    )
    assert all(word in texts for word in words)
    assert {key for name, arguments in acts if name == "conf" for key in arguments[:1]} == set(settings.CHOICES)


@pytest.fixture
def twins(spark: SparkSession) -> tuple[str, str]:
    """Two equal tables, which no case changes; the second has an index."""
    made = ("lake.campaign.told_twin", "lake.campaign.told")
    if not spark.catalog.tableExists(made[0]):
        for table in made:
            tables.range_table(spark, table, files=3, rows=4)
        product.build(spark, made[1])
    return made


@pytest.mark.skipif(STOCK, reason="compares the product with stock")
@pytest.mark.parametrize(
    ("acts", "results"),
    [
        ([("ask", (QUERY,))], ["equal"]),
        ([("ask", ("SELECT id FROM {t} WHERE id < :n", {"n": "3"}))], ["equal"]),
        ([("ask", ("EXECUTE IMMEDIATE 'SELECT id FROM {t} WHERE id < :n' USING 3 AS n",))], ["equal"]),
        ([("ask", ("SELECT nothing FROM {t}",))], ["both fail"]),
        ([("ask", ("SELECT '{x}' AS name",))], ["WRONG"]),
        ([("frame", (0, "SELECT '{x}' AS name")), ("show", (0,))], ["WRONG"]),
        ([("do", ("SELECT assert_true('{x}' = 'stock')",))], ["WRONG"]),
        ([("do", ("SELECT assert_true('{x}' = 'ours')",))], ["stock errs"]),
        ([("session", (1,)), ("conf", (settings.TIME_ZONE, "Asia/Kolkata")), ("ask", (QUERY,))], ["equal"]),
        ([("index", ("build",)), ("frame", (0, QUERY)), ("index", ("drop",)), ("show", (0,))], ["equal"]),
    ],
)
def test_verdicts_of_acts(spark: SparkSession, twins: tuple[str, str], acts: list[Act], results: list[str]) -> None:
    zone = spark.conf.get(settings.TIME_ZONE)
    assert [verdict.result for _, verdict in stories.tell(spark, twins, acts)] == results
    assert spark.conf.get(settings.TIME_ZONE) == zone


@pytest.mark.skipif(STOCK, reason="compares the product with stock")
def test_a_frame_is_planned_with_the_product_for_one_twin_only(spark: SparkSession, twins: tuple[str, str]) -> None:
    before = product.counters(spark).planned_scans
    told = list(stories.tell(spark, twins, [("frame", (0, QUERY)), ("show", (0,)), ("show", (0,))]))
    assert [verdict.result for _, verdict in told] == ["equal", "equal"]
    assert product.counters(spark).planned_scans == before + 1
