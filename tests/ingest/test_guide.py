# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/ingest.md run as they are printed, in their order."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from support import product
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGE = ROOT / "docs" / "guide" / "ingest.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The places of checkpoints and of the catalog in the page, for which the test uses local files.
BUCKET = "s3://bucket"
DATABASE = "/data/lake.db"


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def await_a_batch(query) -> None:
    """Waits for the first batch; the source of the page never ends."""
    deadline = time.monotonic() + 60
    while query.lastProgress is None and time.monotonic() < deadline:
        assert query.exception() is None, query.exception()
        time.sleep(0.1)
    assert query.lastProgress is not None


def test_the_page_has_blocks_of_both_languages_and_no_other() -> None:
    languages = [language for language, _ in blocks()]
    assert languages.count("sql") >= 5 and languages.count("python") >= 4
    assert set(languages) == {"sql", "python"}


def test_the_commands_of_the_page(spark, sqlite: Path, tmp_path: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS lake.db.arrivals")
    names: dict[str, object] = {"spark": spark}
    results: dict[str, list] = {}
    try:
        for language, text in blocks():
            local = text.replace(BUCKET, str(tmp_path)).replace(DATABASE, str(sqlite))
            if language == "python":
                exec(compile(local, str(PAGE), "exec"), names)
                for query in spark.streams.active:
                    await_a_batch(query)
            else:
                for statement in filter(None, map(str.strip, local.split(";"))):
                    called = re.search(r"system\.(\w+)", statement)
                    results[called.group(1) if called else statement] = spark.sql(statement).collect()
    finally:
        for query in spark.streams.active:
            query.stop()
    assert results["ingest_commit"][0].outcome == "committed"
    assert [row.state for row in results["ingest_wait"]] == ["visible"]
    assert results["ingest_status"][0].problem == ""
    assert results["ingest_stop"][0].stopped and results["ingest_resume"][0].was_paused
    assert results["ingest_quarantined"] == []
    product.call(spark, "ingest_commit", "lake.db.arrivals")
    with product.off(spark):
        kinds = dict(spark.sql("SELECT kind, count(*) FROM lake.db.arrivals GROUP BY kind").collect())
    assert kinds["opened"] == 300  # the form by format, the form by name, and the lane
    assert (kinds["started"], kinds["stopped"]) == (1, 1)
    assert kinds["clicked"] > 0 and kinds["clicked"] % 10 == 0
