# SPDX-License-Identifier: Apache-2.0
"""Random tables, predicates and states of the index, compared with Iceberg's planning and with the actual rows.

ZONEMAP_SEED repeats a run; ZONEMAP_CHECKS raises the number of plan checks.
"""

from __future__ import annotations

import math
import os
import random
import sys

import pytest
from support import product
from support.compare import assert_rows_equal_off_on
from support.fuzz import recipe as recipes
from support.fuzz import states
from support.fuzz.check import Checker, Totals
from support.session import STOCK

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))
FRESH, LATER, ROWS = 75, 50, 8
NORMAL_TABLES = 8
#: So many tables have bounds in every file and only clustered columns, so every seed measures the share of pruned files.
BOUNDED_TABLES = 3
BOUNDED = {"props": {}, "formats": ["parquet"]}
LATER_STATES = 3
A_TABLE = FRESH + (LATER_STATES + 1) * LATER
TABLES = max(NORMAL_TABLES, math.ceil(int(os.environ.get("ZONEMAP_CHECKS", "0")) / A_TABLE))
TOTALS = Totals()

#: The columns of the metadata table `files` that the index holds for every table.
HELD = "content, file_path, file_format, record_count, file_size_in_bytes, sort_order_id"


@pytest.mark.parametrize("number", range(TABLES))
def test_no_matching_file_is_left_out(spark, number: int) -> None:
    """Indexes and checks a table, changes it three times with a check after each, rolls it back, and checks again."""
    seed = f"{SEED}/{number}"
    print(f"ZONEMAP_SEED={SEED} table {number}", file=sys.stderr)
    replay = f"ZONEMAP_SEED={SEED} pytest 'tests/differential/test_random_tables.py' -k 'left_out[{number}]'"
    recipe = recipes.make(seed, f"lake.fuzz.t{number}", **(BOUNDED if number < BOUNDED_TABLES else {}))
    if number < BOUNDED_TABLES:
        recipe.cluster()
    life = states.Life(recipe)
    recipes.fill(spark, recipe)
    checker = Checker(spark, recipe, TOTALS, replay)
    product.build(spark, recipe.table)
    upkeep = recipe.rng.choice(("off", "memory", "memory", "persist", "persist"))
    with product.conf(spark, upkeep=upkeep):
        checker.run(states.fresh(spark, life), FRESH, ROWS)
        for change in recipe.rng.sample(states.AFTER_BUILD, LATER_STATES):
            checker.may_fall_back = upkeep == "off"  # a commit may leave no manifest that the index has loaded
            checker.run(change(spark, life), LATER, ROWS)
        checker.run(states.rolled_back(spark, life), LATER, ROWS)
    for columns, metadata in (("*", "partitions"), (HELD, "files")):
        assert_rows_equal_off_on(spark, f"SELECT {columns} FROM {recipe.table}.{metadata}")


def test_the_run_was_worth_something() -> None:
    """The run made enough checks, the index planned them, and almost as many files were pruned as is possible."""
    assert TOTALS.plan_checks >= 2000
    assert TOTALS.row_checks >= 300
    assert TOTALS.compared >= 1000
    assert TOTALS.files_kept < 0.95 * TOTALS.files_considered
    assert TOTALS.narrow_considered >= 500
    assert TOTALS.narrow_kept < 0.5 * TOTALS.narrow_considered
    assert TOTALS.shadow_mismatches == 0
    assert TOTALS.files_kept_compared <= 1.02 * TOTALS.files_kept_stock
    # the number of tables without upkeep is random
    assert TOTALS.index_checks >= FRESH * TABLES
    assert STOCK or TOTALS.index_scans >= 0.9 * TOTALS.index_checks
