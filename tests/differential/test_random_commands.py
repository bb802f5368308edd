# SPDX-License-Identifier: Apache-2.0
"""Random MERGE, UPDATE and DELETE on twin tables, one planned by the index: rows, snapshots and errors must be equal.

ZONEMAP_SEED repeats a run; ZONEMAP_COMMANDS raises the number of statements.
"""

from __future__ import annotations

import math
import os
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass, field

import pytest
from support import commands, loglines, product, session, tables
from support.compare import assert_same_rows
from support.fuzz import statements
from support.session import STOCK

SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))
A_TARGET = 6
SOME_BY_FEW_KEYS = 3
NORMAL_TARGETS = 3
TARGETS = max(NORMAL_TARGETS, math.ceil(int(os.environ.get("ZONEMAP_COMMANDS", "0")) / A_TARGET))


@dataclass
class Totals:
    """Counts of the statements so far: runs, failures, and commands whose files were pruned."""

    run: int = 0
    failed: Counter = field(default_factory=Counter)
    cut: int = 0
    files_before: int = 0
    files_after: int = 0

    def line(self) -> str:
        failed = ", ".join(f"{name} {n}" for name, n in sorted(self.failed.items())) or "none"
        files = f"{self.cut} cut from {self.files_before} to {self.files_after} files"
        return f"commands: {self.run} run, {files}, failed alike: {failed}"


TOTALS = Totals()


def failure(spark, text: str) -> str | None:
    """Runs a statement; returns the error's class, or None if the statement succeeds."""
    try:
        spark.sql(text)
    except Exception as error:  # any kind of error may occur; the twins must have the same one
        named = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", str(error))
        return named.group(1) if named else str(error).splitlines()[0]
    return None


def history(spark, table: str) -> tuple[int, str, dict[str, str]]:
    """Returns the number of snapshots, and the operation and summary of the last one, except ids and sizes."""
    loaded = tables.java_table(spark, table)
    last = loaded.currentSnapshot()
    told = {k: v for k, v in dict(last.summary()).items() if not any(word in k for word in commands.NOT_COMPARED)}
    return loaded.history().size(), last.operation(), told


def held(spark, twins: tuple[str, str]) -> list[list]:
    """Returns the rows of each twin."""
    text = " UNION ALL ".join(f"SELECT {i} AS twin, * FROM {table}" for i, table in enumerate(twins))
    rows = spark.sql(text).collect()
    return [[row[1:] for row in rows if row.twin == i] for i in range(len(twins))]


@pytest.fixture(scope="module")
def source(base) -> str:
    return statements.create_source(session.get(), random.Random(SEED))


def check(spark, twins: tuple[str, str], text: str, replay: str) -> None:
    stock, ours = twins
    with product.off(spark):
        expected = failure(spark, text.replace("{t}", stock))
    mark = len(session.log_lines())
    with product.on(spark):
        found = failure(spark, text.replace("{t}", ours))
    lines = session.log_lines()[mark:]
    assert found == expected, f"{replay}: {text}"
    assert not session.warnings_since(mark), f"{replay}: {text}"
    with product.off(spark):
        theirs, rows = held(spark, twins)
    assert_same_rows(rows, theirs, f"{replay}: {text}")
    assert history(spark, ours) == history(spark, stock), f"{replay}: {text}"
    count(expected, loglines.join_cuts(lines, ours))


def count(error: str | None, cuts: list[tuple[int, int]]) -> None:
    TOTALS.run += 1
    TOTALS.failed.update([error] if error else [])
    fewer = [(before, after) for before, after in cuts if after < before]
    if fewer:
        TOTALS.cut += 1
        TOTALS.files_before += max(before for before, _ in fewer)
        TOTALS.files_after += min(after for _, after in fewer)


def change(spark, number: int) -> None:
    """Changes a table of about ten files by random commands; appends add new files between commands."""
    seed = f"{SEED}/{number}"
    rng = random.Random(seed)
    target = statements.Target.draw(rng)
    replay = f"ZONEMAP_SEED={SEED} pytest 'tests/differential/test_random_commands.py' (table {number}, {target})"
    print(replay, file=sys.stderr)
    twins = ("lake.fuzz.twin_a", "lake.fuzz.twin_b")
    for table in twins:
        target.create(spark, table, seed)
    for step in range(A_TARGET):
        text = statements.statement(rng, by_few_keys=step % SOME_BY_FEW_KEYS == 0)
        check(spark, twins, text, f"{replay} statement {step}")
        if rng.random() < 0.2:
            rows = [statements.row(rng, rng.randrange(statements.NUMBERS)) for _ in range(statements.ROWS)]
            for table in twins:
                tables.append(spark, table, [rows], statements.SENT, select=statements.SELECT)


@pytest.mark.parametrize("number", range(TARGETS))
def test_commands_change_twins_alike(spark, source, number: int) -> None:
    change(spark, number)


def is_a_good_share() -> bool:
    return STOCK or (TOTALS.cut * 6 >= TOTALS.run and TOTALS.files_after * 2 <= TOTALS.files_before)


def test_a_good_share_of_them_read_fewer_files(spark, source) -> None:
    """Few commands may by chance have few keys: more commands decide then."""
    assert TOTALS.run == TARGETS * A_TARGET
    for number in range(TARGETS, 4 * TARGETS):
        if not is_a_good_share():
            change(spark, number)
    assert is_a_good_share(), TOTALS.line()
