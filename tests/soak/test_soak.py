# SPDX-License-Identifier: Apache-2.0
"""A short soak in one driver, and what its verdict finds."""

from __future__ import annotations

import os

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row
from support import product, tables
from support.session import STOCK

from soak import checks, figures
from soak.checks import Answer, Results
from soak.driver import Plan, Soak
from soak.figures import Sample

ONE, TWO, GONE = Answer([Row(1)]), Answer([Row(2)]), Answer(None, "expired")


@pytest.mark.skipif(STOCK, reason="about the product")
def test_a_short_soak(spark, base) -> None:
    seed, lines = os.environ.get("ZONEMAP_SEED", "7"), []
    soak = Soak(spark, base / "soak", seed, Plan(16, 2, threads=2, processes=0, every_seconds=6), lines.append)
    violations = soak.run()
    print("\n".join(lines), dict(soak.results.counts), dict(soak.done))
    assert not violations, (seed, violations)
    assert soak.results.counts["equal"] >= 5, soak.results.counts
    assert len(lines) == 1 + len(soak.samples) and soak.samples


@pytest.mark.parametrize("enabled", ["false", "true"])
def test_spark_refuses_a_query_whose_table_got_other_columns_since_its_analysis(spark, enabled: str) -> None:
    name = "lake.soak.changed"
    tables.create(spark, name, "id BIGINT, extra STRING")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    product.build(spark, name)
    with product.conf(spark, enabled=enabled):
        analyzed = spark.sql(f"SELECT id FROM {name} WHERE id = 1")
        spark.sql(f"ALTER TABLE {name} DROP COLUMN extra")
        with pytest.raises(PySparkException, match=checks.CHANGED):
            analyzed.collect()


@pytest.mark.parametrize(
    ("actual", "expected", "found"),
    [
        (ONE, [ONE], "equal"),
        (ONE, [TWO], "wrong"),
        (ONE, [TWO, ONE], "equal"),
        (ONE, [TWO, TWO], "wrong"),
        (ONE, [GONE, TWO], "snapshots gone"),
        (ONE, [], "snapshots gone"),
        (GONE, [ONE], "errors of ours"),
        (GONE, [GONE], "errors of both"),
        (GONE, [], "errors of both"),
        (Answer(None, f"[{checks.CHANGED}.COLUMNS_MISMATCH] ..."), [ONE], "columns changed"),
        (Answer([]), [ONE], "wrong"),
        (Answer([Row(1), Row(1)]), [ONE], "wrong"),
    ],
)
def test_judged(actual: Answer, expected: list[Answer], found: str) -> None:
    results = Results()
    checks.judged(results, "SELECT 1", actual, expected)
    assert results.counts == {found: 1}
    assert bool(results.violations) == (found in ("wrong", "errors of ours"))


@pytest.mark.parametrize(
    ("last", "found"),
    [
        (Sample(110, 80, 210, 30), []),
        (Sample(200, 80, 210, 30), ["heap_mb grows from 100 to 200"]),
        (Sample(100, 140, 210, 30), ["threads grows from 80 to 140"]),
        (Sample(100, 80, 400, 30), ["handles grows from 200 to 400"]),
        (Sample(100, 80, 200, 40), ["own_threads grows from 30 to 40"]),
    ],
)
def test_growth(last: Sample, found: list[str]) -> None:
    steady = Sample(100, 80, 200, 30)
    assert figures.growth([steady] * 10 + [last] * 5) == found
    assert figures.growth([steady] * 2 + [last] * 5) == []
