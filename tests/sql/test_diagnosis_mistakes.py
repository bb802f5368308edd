# SPDX-License-Identifier: Apache-2.0
"""Mistakes in calls that diagnose: each is one sentence that names its subject and the reason, and then the next step."""

from __future__ import annotations

import re

import pytest
from support import session
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

#: name -> the call with a table, and its action in messages
TABLE_CALLS = {
    "advise": (
        lambda spark, table: zonemap.Index(spark, table).advise([f"SELECT * FROM {table} WHERE id = 3"]),
        "advise on",
    ),
    "clustering": (
        lambda spark, table: zonemap.Index(spark, table).clustering(["id"]),
        "compute the clustering of",
    ),
    "planned_scans": (lambda spark, table: zonemap.Index(spark, table).planned_scans(), "show the planned scans of"),
    "verify": (lambda spark, table: zonemap.Index(spark, table).verify(max_columns=1), "verify"),
    "report": (lambda spark, table: zonemap.Index(spark, table).report(), "show the status of"),
}
#: name -> the call with the text of a query, and its action in messages
QUERY_CALLS = {
    "why_not": (zonemap.why_not, "explain"),
    "verify": (zonemap.verify, "verify"),
    "advise": (
        lambda spark, query: zonemap.Index(spark, "lake.mistakes.indexed").advise([query]),
        "advise on a table by",
    ),
    "report": (lambda spark, query: zonemap.Index(spark, "lake.mistakes.indexed").report(queries=[query]), "explain"),
}
#: mistaken table -> reason and next step; they hold for each call
TABLES = {
    "lake.mistakes.nowhere": r"cannot be found\..* Name an existing Iceberg table as catalog",
    "sea.mistakes.nowhere": r"no catalog has the name 'sea'\. Name an existing Iceberg table as catalog",
    "looked_at": r"it is a view\. Name the Iceberg table that it reads as catalog\.namespace\.table\.$",
    "spark_catalog.default.viewed": r"it is a view\. Name the Iceberg table that it reads as catalog",
    "memory.mistakes.viewed": r"it is a view\. Name the Iceberg table that it reads as catalog",
    "lake.mistakes.indexed.branch_main": r"it names a branch, a tag or a snapshot of a table\. Name the table itself\.$",
    "spark_catalog.default.plain": r"it is not an Iceberg table\. Name an Iceberg table as catalog",
}
#: call -> the table, and the reason and next step of a table without a snapshot or without an index
STATES = {
    ("advise", "empty"): r"the table has no snapshot\. Write to the table and run queries first\.$",
    (
        "advise",
        "unindexed",
    ): r"NOT_COVERED, .*\. CALL zonemap\.system\.build_index\(table => 'lake\.mistakes\.unindexed'\) indexes",
    ("clustering", "empty"): r"the table has no snapshot\. Write to the table first\.$",
    (
        "clustering",
        "unindexed",
    ): r"NOT_COVERED, .*\. CALL zonemap\.system\.build_index\(table => 'lake\.mistakes\.unindexed'\)",
    ("verify", "empty"): r"the table has no snapshot\. Write to the table first\.$",
    (
        "verify",
        "unindexed",
    ): r"does not cover its current snapshot\. CALL zonemap\.system\.build_index\(table => 'lake\.mistakes",
}
QUERIES = {
    "": r"it is empty\. Give the text of a SELECT\.$",
    "DELETE FROM lake.mistakes.indexed": r"it is not a SELECT\. Give a query; EXPLAIN describes the scans of a command\.$",
    "SELECT 1; SELECT 2": r"it holds several statements\. Give one SELECT\.$",
    "SELEC 1": r"\. Give the text of one SELECT\.$",
    "SELECT * FROM lake.mistakes.nowhere": r"\. Correct the query, and name tables as catalog\.namespace\.table\.$",
    "SELECT nope FROM lake.mistakes.indexed": r"`nope`.*\. Correct the query",
    "SELECT * FROM lake.mistakes.indexed WHERE id = 'abc'": r"'abc'.*\. Correct the query: running it fails alike\.$",
    "SELECT * FROM STREAM lake.mistakes.indexed": r"it reads a stream, .*\. Give a query of the same table",
}


@pytest.fixture(scope="module")
def made(lake):
    """The session, with the tables that the calls name; upkeep would index the table without an index."""
    spark = session.get()
    spark.conf.set("spark.sql.zonemap.upkeep.mode", "off")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.mistakes")
    for name in ("empty", "unindexed", "indexed", "unread"):
        spark.sql(f"DROP TABLE IF EXISTS lake.mistakes.{name}")
        spark.sql(f"CREATE TABLE lake.mistakes.{name} (id BIGINT) USING iceberg")
        if name != "empty":
            spark.sql(f"INSERT INTO lake.mistakes.{name} VALUES (3)")
    for name in ("indexed", "unread"):
        zonemap.Index(spark, f"lake.mistakes.{name}").build()
    spark.sql("CREATE TABLE IF NOT EXISTS spark_catalog.default.plain (id INT) USING parquet")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW looked_at AS SELECT 1 AS id")
    spark.sql("CREATE OR REPLACE VIEW spark_catalog.default.viewed AS SELECT id FROM lake.mistakes.indexed")
    spark.conf.set("spark.sql.catalog.memory", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.memory.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS memory.mistakes")
    spark.sql("CREATE OR REPLACE VIEW memory.mistakes.viewed AS SELECT id FROM lake.mistakes.indexed")
    yield spark
    spark.conf.unset("spark.sql.zonemap.upkeep.mode")


def assert_sentence(call, subject: str, action: str, expected: str) -> None:
    """The call fails with one line that names the action and its subject, the reason and the next step."""
    with pytest.raises(zonemap.ZonemapError) as caught:
        call()
    message = str(caught.value)
    assert message.startswith(f"Cannot {action} '{subject}': "), message
    assert re.search(expected, message) and "\n" not in message and message.endswith("."), message
    for raw in ("Exception", "MatchError", "INTERNAL_ERROR", "\tat "):
        assert raw not in message


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", TABLE_CALLS)
def test_a_table_that_is_none(made, name: str, table: str) -> None:
    call, action = TABLE_CALLS[name]
    assert_sentence(lambda: call(made, table), table, action, TABLES[table])


@pytest.mark.parametrize(("name", "state"), STATES)
def test_a_table_that_is_not_ready(made, name: str, state: str) -> None:
    call, action = TABLE_CALLS[name]
    table = f"lake.mistakes.{state}"
    assert_sentence(lambda: call(made, table), table, action, STATES[name, state])


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("name", QUERY_CALLS)
def test_a_query_that_is_none(made, name: str, query: str) -> None:
    call, action = QUERY_CALLS[name]
    assert_sentence(lambda: call(made, query), query, action, QUERIES[query])


def test_states_that_are_no_mistakes(made) -> None:
    """A history or a report of a table that no query has read, and a view in a query, have an answer."""
    assert not zonemap.Index(made, "lake.mistakes.empty").planned_scans().scans
    assert "Run a query first" in zonemap.Index(made, "lake.mistakes.empty").planned_scans()._repr_html_()
    empty = zonemap.Index(made, "lake.mistakes.empty").report()
    assert empty.status.verdict == "no snapshot" and any("no snapshot. Write to" in note for note in empty.notes)
    notes = zonemap.Index(made, "lake.mistakes.unindexed").report().notes
    assert any(
        "CALL zonemap.system.build_index(table => 'lake.mistakes.unindexed') indexes it" in note for note in notes
    )
    nothing = zonemap.why_not(made, "SELECT * FROM looked_at").rows
    assert [row.code for row in nothing] == ["NO_SCAN"] and nothing[0].remedy
    unindexed = zonemap.why_not(made, "SELECT * FROM lake.mistakes.unindexed WHERE id = 3").rows[0]
    assert unindexed.code == "NOT_COVERED" and "CALL zonemap.system.build_index(table => " in unindexed.remedy
    with pytest.raises(zonemap.ZonemapError, match=r"planned no scan of it that can be observed.* Run queries first"):
        zonemap.Index(made, "lake.mistakes.unread").advise()


def test_an_unknown_column(made) -> None:
    with pytest.raises(zonemap.ZonemapError, match=r"'nope' is not a column of the table\. Name columns or fields"):
        zonemap.Index(made, "lake.mistakes.indexed").clustering(["nope"])
    notes = zonemap.Index(made, "lake.mistakes.indexed").report(columns=["nope"]).notes
    assert any("'nope' is not a column of the table. Name columns" in note for note in notes)
