# SPDX-License-Identifier: Apache-2.0
"""Writes the script of a finding, and runs its steps and its check again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from campaign import dml, steps, stories
from campaign.batch import Batch
from campaign.judge import Judge, Verdict
from campaign.queries import Check
from campaign.questions import Question
from campaign.steps import Step


@dataclass(frozen=True)
class Statements:
    """Statements to run on twins, one after the other."""

    stock: str
    texts: tuple[str, ...]

    @property
    def last(self) -> str:
        return self.texts[-1]


@dataclass(frozen=True)
class PrunedFiles:
    """A check that no row of a pruned file matches the condition."""

    check: Check


@dataclass(frozen=True)
class Story:
    """Acts on twins, one after the other."""

    stock: str
    acts: tuple[stories.Act, ...]

    @property
    def last(self) -> str:
        return f"{self.acts[-1]} after {self.acts[:-1]}"


Asked = Check | PrunedFiles | Statements | Story | Question


def ask(spark: SparkSession, table: str, asked: Asked) -> Verdict:
    if isinstance(asked, Check):
        return Judge(spark, table).check(asked)
    if isinstance(asked, Question):
        return Batch(spark, table).check([asked])[0]
    if isinstance(asked, PrunedFiles):
        return Judge(spark, table).pruned_files(asked.check)
    twins = (asked.stock, table)
    if isinstance(asked, Story):
        verdicts = (verdict for _, verdict in stories.tell(spark, twins, list(asked.acts)))
    else:
        verdicts = (dml.run(spark, twins, text) for text in asked.texts)
    return next((verdict for verdict in verdicts if verdict.result == "WRONG"), Verdict("equal"))


def replay(spark: SparkSession, table: str, made_by: Sequence[Step], asked: Asked) -> None:
    """Creates the table and runs the check; fails if the product changes the result."""
    try:
        for step in made_by:
            steps.run(spark, step)
        verdict = ask(spark, table, asked)
    finally:
        spark.conf.unset(steps.SESSION_CATALOG)
    assert verdict.result != "WRONG", f"{asked}: {verdict.details}"


def script(table: str, made_by: Sequence[Step], asked: Asked, replay_with: str, details: str) -> str:
    """Returns the text of a test module that contains the steps and the query, so it needs no generator."""
    text = ",\n    ".join(steps.source(step) for step in made_by)
    told = re.sub(r"\s+", " ", details).replace("\\", "/").replace('"""', "'''")[:600]
    return f'''"""Found by `{replay_with}`:
{told}
"""

from decimal import Decimal  # noqa: F401
from math import inf, nan  # noqa: F401

from campaign.queries import Check  # noqa: F401
from campaign.questions import Keys, Order, Question  # noqa: F401
from campaign.replay import PrunedFiles, Statements, Story, replay  # noqa: F401

STEPS = [
    {text},
]
ASKED = {asked!r}


def test_rows_are_those_of_stock(spark) -> None:
    replay(spark, {table!r}, STEPS, ASKED)
'''


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"test_{re.sub('[^a-z0-9]+', '_', name.lower())}.py"
    path.write_text(text, encoding="utf-8")
    return path
