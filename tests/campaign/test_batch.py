# SPDX-License-Identifier: Apache-2.0
"""Tests of the batch oracle: the files that a question needs, and a plan that leaves one of them out."""

from __future__ import annotations

import pytest
from support import product, tables
from support.session import STOCK

from campaign.batch import Batch, _fails_others
from campaign.held import Ranked
from campaign.judge import Verdict
from campaign.questions import Keys, Order, Question
from campaign.settings import ANSI


class _Rows:
    """Four rows of three files: x is 5, NULL, 7, 7."""

    files = (0, 0, 1, 2)
    bits = (0b100, 0b100, 0b010, 0b001)
    rids = (0, 1, 2, 3)
    paths = ("a", "b", "c")

    def ranked(self, column: str) -> Ranked:
        return Ranked([2, None, 3, 3], ["5", None, "7", "7"])

    def tiers(self, column: str, key: str) -> list[set[int]]:
        return [{0}, set(), {1}, {0, 1}]


def _batch() -> Batch:
    made = Batch.__new__(Batch)
    made.held = _Rows()
    return made


def _question(**more: object) -> Question:
    return Question("k", "SELECT", "t", **more)


@pytest.mark.parametrize(
    ("order", "rows", "planned", "needed", "is_problem"),
    [
        (Order("x"), 1, 0b000, 0b000, True),  # the null row is the only row of the last value: its file must be read
        (Order("x"), 2, 0b100, 0b100, False),
        (Order("x", nulls_first=False), 1, 0b100, 0b000, False),
        (Order("x", descending=True, nulls_first=False), 1, 0b010, 0b000, False),  # either row of 7
        (Order("x", descending=True, nulls_first=False), 1, 0b100, 0b000, True),
        (Order("x", descending=True, nulls_first=False), 2, 0b010, 0b000, True),
        (Order("x", descending=True, nulls_first=False), 3, 0b111, 0b011, False),
        (Order("x", descending=True, nulls_first=False, by_rid=True), 1, 0b010, 0b010, False),
        (Order("x"), 0, 0b000, 0b000, False),
    ],
)
def test_first_rows_by_a_column(order: Order, rows: int, planned: int, needed: int, is_problem: bool) -> None:
    found, problem = _batch()._needs(_question(order=order, rows=rows), "1111", planned)
    assert (found, problem is not None) == (needed, is_problem)


@pytest.mark.parametrize(
    ("condition", "marks", "is_alone"),
    [
        ("x = 5", "1001", False),
        ("x = 5", "!SparkArithmeticException", True),
        ("(nullif(x, 5)) = (nullif(7, 5))", "1001", True),
        ("(nullif(x, 5)) IS NULL", "1001", False),
        ("try_cast(x AS BOOLEAN) < -5", "1001", True),
        ("(CAST(x AS BOOLEAN)) IS NULL", "1001", False),
        ("try_cast(x AS INT) < -5", "1001", False),
    ],
)
def test_queries_that_fail_others_are_planned_alone(condition: str, marks: str, is_alone: bool) -> None:
    assert _fails_others(_question(condition=condition), marks) == is_alone


def test_files_of_matching_rows_and_keys() -> None:
    made = _batch()
    assert made._needs(_question(), "01n0", 0)[0] == 0b100
    assert made._needs(_question(keys=Keys("x", "k")), "1111", 0)[0] == 0b111
    assert made._needs(_question(keys=Keys("x", "k", tier=1)), "1110", 0)[0] == 0b010
    assert made._needs(_question(rows=2), "1110", 0b100) == (0, None)
    assert made._needs(_question(rows=3), "1110", 0b100)[1] is not None


def test_values_of_aggregates() -> None:
    made, asked = _batch(), _question(values=("*", "count x", "min x", "max x"))
    assert made._compare(asked, "1110", ["3", "2", "5", "7"]) == Verdict("equal")
    assert made._compare(asked, "0100", ["1", "0", "null", "null"]) == Verdict("equal")
    assert made._compare(asked, "1110", ["3", "2", "5", "8"]).result == "WRONG"


@pytest.mark.skipif(STOCK, reason="compares the product with stock")
def test_a_file_that_is_left_out_is_noticed(spark, monkeypatch) -> None:
    table = "lake.campaign.left_out"
    tables.range_table(spark, table, files=4, rows=5)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN id TO rid")
    product.build(spark, table)
    filters = [
        Question("files_of_filter", f"SELECT rid FROM {{t}} WHERE {c}", table, c, confs={ANSI: "false"})
        for c in ("rid = 7", "upper(s) BETWEEN 'K00003' AND 'K00007'", "s LIKE 'k0000%'", "rid < 0", "rid / 0 = 1")
    ]
    checked = Batch(spark, table)
    assert [v.result for v in checked.check(filters)] == ["equal"] * 5
    marks = checked.held.matches([q.condition for q in filters])
    # Spark computes a common part of BETWEEN in a projection of its own
    assert [m.count("1") for m in marks] == [1, 5, 10, 0, 0]
    checked.held.rank(["m", "s"], ["s"])
    m, s = (
        dict(zip(checked.held.rids, zip(r.places, r.texts, strict=True), strict=True))
        for r in map(checked.held.ranked, "ms")
    )
    assert [m[0], m[9], m[10]] == [(1, "0"), (10, "9"), (1, "0")]
    assert s[3] == (4, b"k00003".hex().upper())
    # a condition that matches more rows than the statement's: the files of rows 0 to 6 are not planned
    other = [Question("files_of_filter", "SELECT rid FROM {t} WHERE rid = 7", table, "rid <= 7", confs={ANSI: "false"})]
    monkeypatch.setattr(Batch, "_confirm", lambda self, questions, verdicts: None)
    assert [v.result for v in Batch(spark, table).check(other)] == ["WRONG"]
    # a query that returns other rows of the planned files than the condition matches
    lost, kept = (
        Question(
            "files_of_order",
            f"SELECT m, rid FROM {{t}}{where} ORDER BY m, rid LIMIT 3",
            table,
            order=Order("m", by_rid=True),
            rows=3,
            confs={ANSI: "false"},
        )
        for where in (" WHERE rid % 10 <> 0", "")
    )
    wrong, right = Batch(spark, table).check([lost, kept])
    assert (wrong.result, right.result) == ("WRONG", "equal")
    assert wrong.details == "returns [1, 2, 11] instead of [0, 1, 10]"
    spark.sql(f"DROP TABLE {table}")
