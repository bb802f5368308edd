# SPDX-License-Identifier: Apache-2.0
"""The output in docs/guide/why-not.md is that of a run of the commands above it."""

from __future__ import annotations

import re

import pytest
from support import session
from support.compare import explain
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGE = ROOT / "docs" / "guide" / "why-not.md"
BLOCK = re.compile(r"^```sql\n(.*?)^```\n+^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Numbers that differ from run to run, or from one version of Parquet to the next.
VARYING = [(r"snapshot \d+", "snapshot N"), (r"[\d.]+ (ms|KB|MB)\b", r"N \1"), (r"tier \w+", "tier T")]


def plain(text: str) -> list[str]:
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_section_on_the_page_is_that_of_a_run(lake) -> None:
    spark = session.get()
    commands, printed = BLOCK.search(PAGE.read_text(encoding="utf-8")).groups()
    *before, query = filter(None, map(str.strip, commands.split(";")))
    spark.sql("DROP TABLE IF EXISTS lake.db.requests")
    for statement in before:
        spark.sql(statement).collect()
    section = explain(spark, query.removeprefix("EXPLAIN "))
    lines = plain("== Extended Information (" + section)
    assert lines == plain(printed), section
