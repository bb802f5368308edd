# SPDX-License-Identifier: Apache-2.0
"""The SQL and Python of pages of docs/guide run as they are printed, on tables with the names that the pages use.

The pages with a story of their own (why-not, advice, report, notebooks, dbt, ingest) have a test each.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support import guide, product, session
from support.compare import assert_rows_equal_off_on, explain
from support.session import ROOT, STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGES = ROOT / "docs" / "guide"
FILES = 16
ROWS = 1600
_SQL = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def create(spark: SparkSession, table: str, rows: str, version: int = 2) -> None:
    properties = f"'write.distribution-mode' = 'none', 'format-version' = '{version}'"
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    spark.sql(f"CREATE TABLE {table} USING iceberg TBLPROPERTIES ({properties}) AS {rows}")
    product.build(spark, table)


@pytest.fixture(scope="module")
def spark(lake) -> SparkSession:
    """The session, with the two tables that "README" of the guide makes."""
    found = session.get()
    for table in ("lake.db.events", "lake.db.t"):
        found.sql(f"DROP TABLE IF EXISTS {table}")
    for statement in statements("README"):
        found.sql(statement).collect()
    return found


def statements(page: str) -> list[str]:
    """Returns the SQL statements that the page prints, in their order, without comments."""
    blocks = _SQL.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    text = "\n".join(re.sub(r"--.*", "", block) for block in blocks)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def test_queries_that_the_index_answers(spark: SparkSession) -> None:
    *found, metadata = statements("first-rows")[8:]
    assert len(found) == 3
    assert "metadata table: " in "\n".join(row[0] for row in spark.sql(metadata).collect())
    for statement in found:
        section = explain(spark, statement)
        counts = re.search(r"aggregates: (\d+) of (\d+) files answered from the index", section)
        assert counts and int(counts.group(1)) >= int(counts.group(2)) - 1 > 0, section
        assert_rows_equal_off_on(spark, statement, at_least=1)


def test_first_rows_of_a_sort_and_limit(spark: SparkSession) -> None:
    newest, filtered, *others, limit = statements("first-rows")[:8]
    assert re.search(rf"top-k bound ts >= \S+: {FILES} -> 1 files", explain(spark, newest))
    assert "top-k bound: ts <= " in explain(spark, filtered)
    assert f"limit 10: 1 of {FILES} files" in explain(spark, limit)
    for statement in (newest, filtered):
        assert_rows_equal_off_on(spark, statement, at_least=10)
    views = {
        "events": "SELECT *, id AS device, region AS state, CAST(ts AS STRING) AS name FROM lake.db.events",
        "hot": "SELECT * FROM lake.db.events WHERE id >= 800000",
        "archive": "SELECT * FROM lake.db.events WHERE id < 800000",
        "devices": "SELECT id, region AS name FROM lake.db.events",
    }
    for name, query in views.items():
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")
    try:
        for statement in others:
            assert_rows_equal_off_on(spark, statement, at_least=1)
    finally:
        for name in views:
            spark.sql(f"DROP VIEW {name}")


def test_a_join_on_a_column_without_a_partition_and_rows_newer_than_a_mark(spark: SparkSession) -> None:
    join, chain, *ranges, newer = statements("joins")
    spark.sql("USE lake.db")
    create(spark, "lake.db.facts", f"SELECT id AS k, id % 10 AS v FROM range(0, {ROWS}, 1, {FILES})")
    create(spark, "lake.db.dim", "SELECT id + 700 AS k, DATE'2026-03-01' AS day FROM range(0, 5, 1, 1)")
    create(spark, "lake.db.dates", f"SELECT id AS k, id DIV 7 AS week, id DIV 100 AS month FROM range(0, {ROWS}, 1, 1)")
    create(spark, "lake.db.mark", "SELECT min(ts) AS ts FROM lake.db.events")
    try:
        assert_rows_equal_off_on(spark, join, at_least=5)
        assert_rows_equal_off_on(spark, chain, at_least=100)
        assert re.search(rf"join pruning on k: {FILES} -> \d files", explain(spark, chain))
        assert_rows_equal_off_on(spark, newer, at_least=5)
        create(
            spark, "lake.db.outages", "SELECT min(ts) AS first, min(ts) + INTERVAL 1 HOUR AS last FROM lake.db.events"
        )
        create(spark, "lake.db.marks", "SELECT min(id) + 1000 AS id FROM lake.db.events")
        for statement in ranges:
            assert_rows_equal_off_on(spark, statement, at_least=1)
            assert "join pruning on the range of " in explain(spark, statement)
    finally:
        spark.sql("USE spark_catalog.default")
        spark.sql("DROP TABLE lake.db.facts")
        spark.sql("DROP TABLE lake.db.dim")
        spark.sql("DROP TABLE lake.db.dates")
        spark.sql("DROP TABLE lake.db.mark")
        spark.sql("DROP TABLE IF EXISTS lake.db.outages")
        spark.sql("DROP TABLE IF EXISTS lake.db.marks")


def test_facts_are_built_estimated_dropped_and_their_files_deleted(spark: SparkSession) -> None:
    found = statements("facts")
    switch = "SET spark.sql.zonemap.upkeep.autoFacts.enabled = true"
    assert found.pop(7) == switch, "tests/facts/test_auto_facts.py runs it"
    of_json = [found.pop(1).replace("lake.db.t", "lake.db.texts") for _ in range(2)]
    of_variants = [found.pop(1).replace("lake.db.t", "lake.db.variants") for _ in range(2)]
    assert [re.search(r"system\.(\w+)", statement).group(1) for statement in found] == [
        *("build_index", "build_index", "build_index", "drop_index", "drop_index", "collect_garbage")
    ]
    built, estimated, bloom, dropped, *_, deleted = [spark.sql(statement).collect() for statement in found]
    kinds = {"values(status)", "bloom(user_id)", "ngrams(message)", "bounds(note)", "ranges(ts)", "keys(order_id)"}
    assert {row.part for row in built} == {"index", *kinds}
    assert {row.part for row in estimated} >= {"bloom(user_id)", "values(status)"}
    assert {row.part for row in bloom} == {"index", "bloom(user_id)"}
    assert dropped and not deleted, "files of the last 24 hours are retained, as the comment on the page says"
    payload = """concat('{"user": {"id": "u', id DIV 100, '"}, "kind": "view ', id, '"}')"""
    create(spark, "lake.db.texts", f"SELECT id, {payload} AS payload FROM range(0, {ROWS}, 1, {FILES})")
    build, query = of_json
    paths = {row.part for row in spark.sql(build).collect()} - {"index"}
    assert paths == {"bloom(get_json_object(payload, '$.user.id'))", "values(get_json_object(payload, '$.kind'))"}
    assert "kept after facts: 1 (" in explain(spark, query)
    assert_rows_equal_off_on(spark, query, at_least=100)
    spark.sql("DROP TABLE lake.db.texts")
    payload = """parse_json(concat('{"user": {"id": ', id DIV 100, '}, "kind": "view"}'))"""
    create(spark, "lake.db.variants", f"SELECT id, {payload} AS payload FROM range(0, {ROWS}, 1, {FILES})", version=3)
    build, query = of_variants
    assert len(spark.sql(build).collect()) == 3
    assert "kept after facts: 1 (" in explain(spark, query)
    # values of Python that hold variants are never equal
    assert_rows_equal_off_on(spark, query.replace("SELECT *", "SELECT id, to_json(payload)"), at_least=100)
    spark.sql("DROP TABLE lake.db.variants")


@pytest.mark.parametrize(
    ("page", "procedures"),
    [
        ("memory", ["prewarm_index"]),
        ("operating", ["build_index", "refresh_index", "index_status", "index_status", "index_status"]),
        ("privacy", ["build_index"]),
        ("upkeep", ["index_status", "compact_index", "collect_garbage", "collect_garbage"]),
    ],
)
def test_procedures_of_a_page(spark: SparkSession, page: str, procedures: list[str]) -> None:
    found = statements(page)
    assert [re.search(r"system\.(\w+)", statement).group(1) for statement in found] == procedures
    for statement in found:
        rows = spark.sql(statement).collect()
        assert rows or "collect_garbage(" in statement or "compact_index(" in statement, statement
    if page == "privacy":
        product.build(spark, "lake.db.t")


def test_python_of_pages(spark: SparkSession) -> None:
    """The configuration on the page about upkeep, and the job of maintenance on the page about installation."""
    (configuration,) = _PYTHON.findall((PAGES / "upkeep.md").read_text(encoding="utf-8"))
    builder = SparkSession.Builder()
    exec(compile(configuration, "upkeep.md", "exec"), {"zonemap": zonemap, "builder": builder})
    assert builder._options["spark.sql.zonemap.hot.maxBytes"] == "1g"
    _, maintenance, _ = _PYTHON.findall((PAGES / "install.md").read_text(encoding="utf-8"))
    exec(compile(maintenance, "install.md", "exec"), {"spark": spark})


def test_no_page_has_commands_without_a_test() -> None:
    """This module names a page by its stem, all other modules by its file name."""
    tests = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "python" / "tests").rglob("test_*.py")]
    tests += (ROOT / "jvm").glob("*/src/test/**/*Test.scala")
    texts = [path.read_text(encoding="utf-8") for path in tests if path.name != "test_site.py"]
    here = Path(__file__).read_text(encoding="utf-8")
    untested = [
        page.name
        for page in sorted(PAGES.glob("*.md"))
        if guide.has_commands(page)
        and f'"{page.stem}"' not in here
        and not any(f"{page.name}" in text for text in texts)
    ]
    assert not untested, f"commands of these pages are not run by a test: {untested}"
