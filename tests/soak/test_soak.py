"""A short soak in one driver, and what its verdict finds."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import Row
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
        (Sample(110, 80, 210), []),
        (Sample(200, 80, 210), ["heap_mb grows from 100 to 200"]),
        (Sample(100, 130, 210), ["threads grows from 80 to 130"]),
        (Sample(100, 80, 400), ["handles grows from 200 to 400"]),
    ],
)
def test_growth(last: Sample, found: list[str]) -> None:
    steady = Sample(100, 80, 200)
    assert figures.growth([steady] * 10 + [last] * 5) == found
    assert figures.growth([steady] * 2 + [last] * 5) == []
