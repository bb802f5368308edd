# SPDX-License-Identifier: Apache-2.0
"""Facts that choose themselves: a session of plain SQL gets a fact, and its rows stay."""

from __future__ import annotations

import time

import pytest
from support import facts, product, session, tables
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 12
ROWS = 100
KEYS = [f"u{n}" for n in range(0, 600, 50)]


def test_queries_choose_a_fact(base) -> None:
    spark = session.get()
    table = tables.create(spark, "lake.facts.choosing", "id BIGINT, user_id STRING")
    facts.insert(spark, table, ("id", f"concat('u', pmod(id * 7919, {FILES * ROWS})) AS user_id"), ROWS, 0, FILES)
    index = zonemap.Index(spark, table)
    index.build()
    before = {key: spark.sql(f"SELECT * FROM {table} WHERE user_id = '{key}'").collect() for key in KEYS}
    with product.raw_conf(spark, {"spark.sql.zonemap.upkeep.autoFacts.enabled": "true"}):
        during = {key: spark.sql(f"SELECT * FROM {table} WHERE user_id = '{key}'").collect() for key in KEYS}
        deadline = time.monotonic() + 120
        while "chosen: " not in index.status().chosen_facts:
            assert time.monotonic() < deadline, index.status()
            time.sleep(0.2)
    status = index.status()
    assert "(user_id): chosen: " in status.chosen_facts
    assert status.fact_bytes > 0
    assert facts.files(spark, table, "user_id = 'u77'") < FILES / 3
    after = {key: spark.sql(f"SELECT * FROM {table} WHERE user_id = '{key}'").collect() for key in KEYS}
    assert before == during == after
    assert all(len(rows) == 1 for rows in after.values())
