# SPDX-License-Identifier: Apache-2.0
"""Tests of the oracle's verdicts, of the shortening of steps, and of the scripts, which reproduce their steps."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from math import inf, nan

import pytest
from pyspark.sql import Row

from campaign import queries, replay, shrink, steps, worlds
from campaign.judge import Judge, Outcome, bag
from campaign.queries import Check
from campaign.rounds import Round, Totals

CHECK = Check("filters", "SELECT rid FROM {t}", "lake.db.t")


class _Told(Judge):
    """A judge with given rows in place of the query over all rows in memory."""

    def __init__(self, truth: Counter | None) -> None:
        self.truth = truth

    def _truth(self, sql: str, check: Check) -> Counter | None:
        return self.truth


def _rows(*numbers: int) -> Counter:
    return Counter((n,) for n in numbers)


@pytest.mark.parametrize(
    ("off", "on", "truth", "result"),
    [
        ((1, 2), (2, 1), None, "equal"),
        ((1, 2), (1,), (1, 2), "WRONG"),  # the product loses a row
        ((1,), (1, 1), (1,), "WRONG"),  # the product returns a row twice
        ((1,), (1, 2), (1, 2), "stock errs"),  # Iceberg loses a row that the product returns
        ((1,), (1, 2), (1, 2, 3), "stock errs"),  # both lose rows, the product fewer
        ((1, 3), (1,), (1, 2, 3), "undecided"),
        ((1, 2), (1,), None, "undecided"),
    ],
)
def test_verdicts(off: tuple, on: tuple, truth: tuple | None, result: str) -> None:
    judge = _Told(None if truth is None else _rows(*truth))
    assert judge._compare(CHECK, Outcome(_rows(*off)), Outcome(_rows(*on))).result == result


@pytest.mark.parametrize(
    ("off", "on", "result"),
    [("A", "A", "both fail"), ("A", "B", "both fail"), ("A", None, "stock errs"), (None, "A", "WRONG")],
)
def test_errors(off: str | None, on: str | None, result: str) -> None:
    outcomes = [Outcome(None, error) if error else Outcome(_rows(1)) for error in (off, on)]
    assert _Told(None)._compare(CHECK, *outcomes).result == result


def test_values_that_are_hard_to_compare() -> None:
    assert bag([Row(a=nan, b=-0.0)]) == bag([Row(a=nan, b=0.0)])
    assert bag([Row(a=[1.0, None])]) != bag([Row(a=[1.0, 2.0])])
    assert bag([Row(a=1), Row(a=1)]) != bag([Row(a=1)])


def test_the_script_of_a_finding_holds_its_steps_and_its_question() -> None:
    slices = [[(1, nan, -inf, Decimal("1.50"), bytearray(b"\xff'"), "it's\n\\", None, -0.0)]]
    made_by = [("append", ("t", slices, "a INT", ["a"], None, None)), ("loosen", ("t", {"a": "int"}, 7))]
    text = replay.script("t", made_by, replay.PrunedFiles(CHECK), "make campaign", 'lost """ \\')
    scope: dict = {}
    exec(compile(text, "script", "exec"), scope)
    assert repr(scope["STEPS"]) == repr(made_by)
    assert scope["ASKED"] == replay.PrunedFiles(CHECK)
    assert all(name in steps.STEPS for name, _ in made_by)


def test_what_was_never_reached_is_named() -> None:
    totals = Totals()
    done = Round(0, "native", checks=1)
    done.kinds["topk"] += 1
    done.reads["now"] += 1
    totals.add(done.line())
    missing = totals.missing()
    assert "worlds native" not in missing and "kinds topk" not in missing and "reads now" not in missing
    assert {f"worlds {w.__name__}" for w in worlds.WORLDS[1:]} < set(missing)
    assert {"kinds statements", "kinds pruned_files", "reads incremental"} < set(missing)
    assert set(queries.READS) == {
        "incremental",
        "increment",
        "version",
        "option",
        "branch",
        "tag",
        "split",
        "now",
        "view",
        "frame",
    }


def test_steps_are_left_out_as_long_as_it_stays_wrong() -> None:
    made_by = [
        ("sql", ("CREATE TABLE t (a INT)",)),
        ("append", ("t", [[(1,)], [(2,)], [(3,)], [(4,)]], "a INT", ["*"], None, None)),
        ("sql", ("CALL zonemap.system.build_index(table => 't')",)),
        ("append", ("t", [[(5,)]], "a INT", ["*"], None, None)),
    ]

    def is_wrong(left: list[steps.Step]) -> bool:
        return any(name == "append" and [(3,)] in arguments[1] for name, arguments in left)

    assert shrink.shrunk(made_by, is_wrong, tries=0) == made_by
    left = shrink.shrunk(made_by, is_wrong, tries=50)
    assert left == [made_by[0], ("append", ("t", [[(3,)]], "a INT", ["*"], None, None))]
