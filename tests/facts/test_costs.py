# SPDX-License-Identifier: Apache-2.0
"""Bytes of facts: estimates from a sample against the bytes written, the limit for all facts of a table, dry runs."""

from __future__ import annotations

import re

import pytest
from support import product, tables
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

COLUMNS = "id BIGINT, key BIGINT, status STRING, n INT, message STRING, note STRING, ts TIMESTAMP"
SELECT = [
    "id",
    "xxhash64(id) AS key",
    "element_at(array('open', 'closed', 'lost', 'found', 'sent'), CAST(id % 5 + 1 AS INT)) AS status",
    "CAST(id % 40 AS INT) AS n",
    "concat('job ', sha1(CAST(id % 300 AS STRING)), ' ended') AS message",
    "concat('note ', sha1(CAST(id AS STRING))) AS note",
    "timestamp_seconds(1767225600 + id * 60 - IF(id % 97 = 0, 8640000, 0)) AS ts",
]
FACTS = ("values(status)", "values(n)", "bloom(key)", "ngrams(message)", "bounds(note)", "bounds(n)", "ranges(ts)")


def build(spark, table: str, facts: str, more: str = "") -> dict[str, object]:
    return {row.part: row for row in product.call(spark, "build_index", table, f", facts => '{facts}'{more}")}


def facts_of(spark, table: str) -> str:
    return product.status(spark, table).facts


def write(spark, name: str, rows_of_files: list[int]) -> str:
    """A table with one data file for each number of rows."""
    table = tables.create(spark, f"lake.facts.{name}", COLUMNS)
    start = 0
    for rows in sorted(set(rows_of_files)):
        files = rows_of_files.count(rows)
        spark.range(start, start + files * rows, 1, files).selectExpr(*SELECT).writeTo(table).append()
        start += files * rows
    return table


SHAPES = {
    "many_small": [60] * 80,
    "few_large": [12_000] * 5,
    "of_all_sizes": [50] * 30 + [400] * 10 + [3_000] * 4 + [20_000, 20_000, 31_000],
    "single": [4_000],
}


@pytest.fixture(scope="module", params=SHAPES)
def shaped(base, request) -> str:
    from support import session

    return write(session.get(), f"costs_{request.param}", SHAPES[request.param])


def test_expected_bytes_are_within_a_fifth_of_the_bytes_written(spark, shaped) -> None:
    facts = ", ".join(FACTS)
    estimated = build(spark, shaped, facts, ", estimate => true")
    assert facts_of(spark, shaped) == ""
    built = build(spark, shaped, facts, ", max_fact_share => 9")
    rows = spark.table(shaped).count()
    for fact in FACTS:
        told, real = estimated[fact], built[fact]
        assert (told.data_files, told.bytes) == (0, 0)
        assert (told.files_read, told.rows_read) == (real.files_read, real.rows_read) == (real.data_files, rows)
        for expected in (told.expected_bytes, real.expected_bytes):
            assert abs(expected / real.bytes - 1) <= 0.2, (fact, expected, real.bytes)
    again = build(spark, shaped, facts)
    assert all(again[fact].rows_read == 0 and again[fact].expected_bytes == again[fact].bytes for fact in FACTS)


def test_an_estimate_for_new_files_comes_from_the_facts_that_exist(spark) -> None:
    table = write(spark, "costs_grown", [500] * 6)
    build(spark, table, "bloom(key), values(n)", ", max_fact_share => 9")
    spark.range(90_000, 92_000, 1, 4).selectExpr(*SELECT).writeTo(table).append()
    told = build(spark, table, "bloom(key), values(n)", ", estimate => true")
    grown = build(spark, table, "bloom(key), values(n)")
    for fact in ("bloom(key)", "values(n)"):
        assert (told[fact].data_files, told[fact].files_read, told[fact].rows_read) == (6, 4, 2_000)
        assert abs(told[fact].expected_bytes / grown[fact].bytes - 1) <= 0.2


def test_an_estimate_for_larger_files_than_those_with_facts_comes_from_a_sample(spark) -> None:
    table = write(spark, "costs_larger", [200] * 10)
    build(spark, table, "bloom(key), values(n)", ", max_fact_share => 9")
    spark.range(90_000, 170_000, 1, 4).selectExpr(*SELECT).writeTo(table).append()
    told = build(spark, table, "bloom(key), values(n), ngrams(message)", ", estimate => true")
    grown = build(spark, table, "bloom(key), values(n), ngrams(message)", ", max_fact_share => 9")
    for fact, lacking in (("bloom(key)", 4), ("values(n)", 4), ("ngrams(message)", 14)):
        assert told[fact].files_read == grown[fact].files_read == lacking
        assert grown[fact].data_files == 14
        for expected in (told[fact].expected_bytes, grown[fact].expected_bytes):
            assert abs(expected / grown[fact].bytes - 1) <= 0.2, (fact, expected, grown[fact].bytes)


def test_the_limit_counts_all_facts_of_a_table(spark) -> None:
    """The bloom alone is within the limit, and so is the second fact; both together are not."""
    table = write(spark, "costs_limit", [6_000] * 4)
    told = build(spark, table, "bloom(key), ngrams(note)", ", estimate => true")
    data = spark.sql(f"SELECT sum(file_size_in_bytes) FROM {table}.files").first()[0]
    bloom, ngrams = (told[fact].expected_bytes / data for fact in ("bloom(key)", "ngrams(note)"))
    share = max(bloom, ngrams) * 1.1
    assert share < bloom + ngrams
    assert (
        min(told["bloom(key)"].expected_bytes, told["ngrams(note)"].expected_bytes) > 4 * 4096
        or share * data > 4 * 4096
    )
    limit = f", max_fact_share => {share}D"
    build(spark, table, "bloom(key)", limit)
    before = facts_of(spark, table)
    files = product.store_files(tables.location(spark, table), "*.zmf")
    with pytest.raises(Exception, match="Cannot build") as refused:
        build(spark, table, "ngrams(note)", limit)
    message = str(refused.value)
    assert f"bloom(key) {_bytes(told, 'bloom(key)', before)}" in message
    assert re.search(r"ngrams\(note\) about [\d,]+", message)
    assert "but the limit is" in message
    assert facts_of(spark, table) == before
    assert product.store_files(tables.location(spark, table), "*.zmf") == files
    proposed = re.search(r"max_fact_share => ([\d.]+)", message)
    assert proposed is not None
    build(spark, table, "ngrams(note)", f", max_fact_share => {proposed.group(1)}")
    assert "ngrams(note)" in facts_of(spark, table)
    # facts that the table has are extended and never refused
    spark.range(90_000, 96_000, 1, 1).selectExpr(*SELECT).writeTo(table).append()
    assert build(spark, table, "bloom(key), ngrams(note)")["ngrams(note)"].files_read == 1


def test_a_refused_build_and_an_estimate_change_no_columns(spark) -> None:
    table = write(spark, "costs_columns", [6_000] * 4)
    build(spark, table, "")
    before = product.status(spark, table).columns
    for facts, more, message in (
        ("values(id)", "", "distinct values"),
        ("bloom(key)", ", max_fact_share => 1e-9D", "but the limit is"),
    ):
        with pytest.raises(Exception, match=message):
            build(spark, table, facts, f", columns => array('n'){more}")
        assert product.status(spark, table).columns == before
    told = build(spark, table, "bloom(key)", ", columns => array('n'), estimate => true")
    assert told["bloom(key)"].expected_bytes > 0
    assert product.status(spark, table).columns == before
    build(spark, table, "bloom(key)", ", columns => array('n'), max_fact_share => 9")
    assert product.status(spark, table).columns == "n"
    assert "bloom(key)" in facts_of(spark, table)


def test_facts_and_columns_of_a_table_without_an_index_are_built_in_one_call(spark) -> None:
    table = write(spark, "costs_columns_new", [500] * 3)
    built = build(spark, table, "bloom(key)", ", columns => array('n'), max_fact_share => 9")
    assert built["bloom(key)"].data_files == 3
    assert product.status(spark, table).columns == "n"
    assert "bloom(key)" in facts_of(spark, table)


def _bytes(told: dict[str, object], fact: str, facts: str) -> str:
    found = re.search(re.escape(fact) + r"=(\d+)", facts)
    assert found is not None, (facts, told)
    return f"{int(found.group(1)):,}"


def test_facts_of_many_small_files_are_not_free(spark) -> None:
    """Each file's bloom is below 4 KB; together they take more than 1 MB and a tenth of the data."""
    table = tables.create(spark, "lake.facts.costs_blooms", "key BIGINT")
    spark.range(0, 300 * 3_300, 1, 300).selectExpr("xxhash64(id) AS key").writeTo(table).append()
    with pytest.raises(Exception, match="more than 10 % of the table's bytes"):
        build(spark, table, "bloom(key)")
    assert facts_of(spark, table) == ""


@pytest.mark.parametrize(
    ("facts", "more", "told"),
    [
        ("", ", estimate => true", "the call names none"),
        ("none", ", estimate => true", "the call names none"),
        ("bloom(key)", ", max_fact_share => 0", "it is not a number above 0"),
        ("bloom(key)", ", max_fact_share => -0.5", "it is not a number above 0"),
        ("bloom(key)", ", max_fact_share => NULL", "it is not a number above 0"),
        ("bloom(key)", ", max_fact_share => double('NaN')", "it is not a number above 0"),
        ("bloom(key)", ", max_fact_share => double('Infinity')", "it is not a number above 0"),
    ],
)
def test_wrong_arguments_are_refused(spark, facts: str, more: str, told: str) -> None:
    table = "lake.facts.costs_refused"
    if not spark.catalog.tableExists(table):
        write(spark, "costs_refused", [10])
    with pytest.raises(Exception, match=told):
        build(spark, table, facts, more)
