# SPDX-License-Identifier: Apache-2.0
"""Facts of elements: of lists, of fields of structs in lists, and of the keys and the values of maps."""

from __future__ import annotations

import re

import pytest
from support import plans, product, session, tables
from support.compare import explain
from support.facts import files_of_each
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 8
ROWS = 10
COLUMNS = (
    "id BIGINT, tags ARRAY<STRING>, nums ARRAY<INT>, reals ARRAY<DOUBLE>, items ARRAY<STRUCT<sku: STRING, n: INT>>, "
    "m MAP<STRING, STRING>, box STRUCT<codes: ARRAY<INT>>, deep ARRAY<ARRAY<INT>>"
)
#: File f has the ids from f * ROWS on, and elements of its own among elements of every file.
SELECT = (
    "id",
    f"""CASE WHEN id = 21 THEN NULL WHEN id = 22 THEN array() WHEN id = 55 THEN array(NULL, 'rare')
        ELSE array(concat('t', id % 7), concat('tag', id div {ROWS})) END AS tags""",
    f"array(-5, CAST(id div {ROWS} * 10 AS INT), 900) AS nums",
    f"array(CASE WHEN id = 33 THEN double('NaN') WHEN id = 44 THEN -0D ELSE 1D + id div {ROWS} END) AS reals",
    f"""CASE WHEN id = 66 THEN array(NULL) ELSE array(
        named_struct('sku', concat('sku', id div {ROWS}), 'n', CAST(id div {ROWS} AS INT)),
        named_struct('sku', 'a', 'n', -1), named_struct('sku', 'z', 'n', 99)) END AS items""",
    f"map('common', 'x', concat('key', id div {ROWS}), concat('val', id div {ROWS})) AS m",
    f"named_struct('codes', array(CAST(id div {ROWS} AS INT), 100)) AS box",
    f"array(array(CAST(id div {ROWS} AS INT))) AS deep",
)
FACTS = (
    "values(tags, items.sku, box.codes, m.key), ngrams(tags), bloom(nums), ranges(nums), values(reals), "
    "bounds(items.n), bloom(m.value), keys(items.element.sku)"
)


def insert(spark, table: str, start: int, files: int, file_format: str = "parquet") -> None:
    frame = spark.range(start, start + files * ROWS, 1, files).selectExpr(*SELECT)
    frame.writeTo(table).option("write-format", file_format).append()


def build(spark, table: str, facts: str) -> dict[str, object]:
    return {row.part: row for row in product.call(spark, "build_index", table, f", facts => '{facts}'")}


@pytest.fixture(scope="module")
def events(base) -> str:
    spark = session.get()
    table = tables.create(spark, "lake.facts.elements", COLUMNS)
    insert(spark, table, 0, FILES)
    parts = build(spark, table, FACTS)
    assert set(parts) == {
        "index",
        "values(tags.element)",
        "values(items.element.sku)",
        "values(box.codes.element)",
        "values(m.key)",
        "ngrams(tags.element)",
        "bloom(nums.element)",
        "ranges(nums.element)",
        "values(reals.element)",
        "bounds(items.element.n)",
        "bloom(m.value)",
        "keys(items.element.sku)",
    }
    assert all(row.data_files == FILES for row in parts.values())
    return table


# condition: files read, of 8; what must read a file stands beside what must not
CASES = {
    "array_contains(tags, 'tag3')": 1,
    "array_contains(tags, 'tag3') AND array_contains(tags, 'tag4')": 0,
    "array_contains(nums, -5) AND array_contains(nums, 900)": FILES,
    "exists(nums, x -> x > 30 AND x < 50)": 1,
    "exists(nums, x -> x > 30) AND exists(nums, x -> x < 50)": FILES,
    "array_contains(tags, 'nobody')": 0,
    "NOT array_contains(tags, 'tag3')": FILES,
    "array_contains(tags, 'rare')": 1,
    "exists(tags, x -> x IN ('tag3', 'tag5'))": 2,
    "exists(tags, x -> x IS NULL)": 1,
    "exists(tags, x -> x LIKE '%ag3%')": 1,
    "exists(tags, x -> upper(x) = 'TAG3')": 1,
    "exists(tags, x -> length(x) = 3)": 0,
    "exists(tags, x -> x = concat('tag', id div 10))": FILES,
    "arrays_overlap(tags, array('tag3', 'nobody'))": 1,
    "array_position(tags, 'tag3') > 0": 1,
    "array_position(tags, 'tag3') = 0": FILES,
    "size(filter(tags, x -> x = 'tag3')) > 0": 1,
    "get(tags, 1) = 'tag3'": 1,
    "get(tags, 1) IS NULL": FILES,
    "size(tags) = 0": FILES,
    "forall(tags, x -> x = 'nobody')": FILES,
    "NOT forall(tags, x -> x <> 'tag3')": 1,
    "exists(nums, x -> x = 30)": 1,
    "exists(nums, x -> x >= 30 AND x <= 45)": 2,
    "array_contains(nums, 31)": 0,
    "exists(reals, x -> x > 1000)": 1,
    "array_contains(reals, double('NaN'))": 1,
    "array_contains(reals, 0D)": 1,
    "exists(items, i -> i.sku = 'sku3')": 1,
    "array_contains(items.sku, 'sku3')": 1,
    "exists(items, i -> i.sku = 'sku3' AND i.n = -1)": 1,
    "exists(items, i -> i.n > 99)": 0,
    "exists(items, i -> i.sku IS NULL)": 1,
    "map_contains_key(m, 'key3')": 1,
    "map_contains_key(m, 'common')": FILES,
    "array_contains(map_values(m), 'val3')": 1,
    "m['key3'] = 'val3'": 1,
    "m['key3'] = 'val4'": 0,
    "m['common'] = 'val3'": 1,
    "m['common'] = 'x'": FILES,
    "m['key3'] IS NOT NULL": 1,
    "m['key3'] IS NULL": FILES,
    "array_contains(box.codes, 3)": 1,
    "exists(deep, x -> array_contains(x, 3))": FILES,
    "id < 30 OR array_contains(tags, 'tag5')": 4,
}


def test_files_read(spark, events) -> None:
    assert files_of_each(spark, events, CASES) == CASES
    fails = "tags[1] = 'tag3'"
    assert len(plans.planned_files_of(spark, events, [fails])[0]) == FILES, "an error for a list without the item"
    with product.off(spark):
        assert len(plans.planned_files_of(spark, events, ["array_contains(tags, 'tag3')"])[0]) == FILES


def test_rows_are_the_same_off_and_on(spark, events) -> None:
    with product.off(spark):
        columns = ", ".join(f"count_if({condition}) AS c{i}" for i, condition in enumerate(CASES))
        expected = list(spark.sql(f"SELECT {columns} FROM {events}").first())
    before = product.counters(spark)
    query = " UNION ALL ".join(f"SELECT {i} AS i, id FROM {events} WHERE {c}" for i, c in enumerate(CASES))
    found = [0] * len(CASES)
    for row in spark.sql(query).collect():
        found[row.i] += 1
    change = product.counters(spark) - before
    assert change.planned_scans >= len(CASES) and change.fallbacks == 0
    assert found == expected
    assert sum(count > 0 for count in expected) > 20


def test_explain_names_the_fact(spark, events) -> None:
    shown = explain(spark, f"SELECT * FROM {events} WHERE array_contains(tags, 'tag3')")
    assert "kept after facts: 1 (values(tags.element), ngrams(tags.element))" in shown
    assert "used as ANY ELEMENT WITH (tags.element IN ['tag3', 'tag3'])" in shown


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats_and_new_files(spark, base, file_format: str) -> None:
    table = tables.create(spark, f"lake.facts.elements_{file_format}", COLUMNS)
    insert(spark, table, 0, 4, file_format)
    facts = "values(tags, items.n, m.key)"
    build(spark, table, facts)
    conditions = ["array_contains(tags, 'tag3')", "array_contains(items.n, 3)", "map_contains_key(m, 'key3')"]
    assert [len(paths) for paths in plans.planned_files_of(spark, table, conditions)] == [1, 1, 1]
    insert(spark, table, 4 * ROWS, 2, file_format)
    assert [len(paths) for paths in plans.planned_files_of(spark, table, conditions)] == [3, 3, 3]
    build(spark, table, facts)
    assert [len(paths) for paths in plans.planned_files_of(spark, table, conditions)] == [1, 1, 1]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_fields_that_files_lack(spark, base, file_format: str) -> None:
    """Iceberg's reader of Parquet omits all structs of a list if it reads only fields that the file lacks."""
    table = tables.create(spark, f"lake.facts.elements_added_{file_format}", "id INT, items ARRAY<STRUCT<n: INT>>")
    old = [[(f, [(f,), None])] * 2 for f in range(2)] + [[(2, None), (2, [])]]
    tables.append(spark, table, old, "id INT, items ARRAY<STRUCT<n: INT>>", file_format=file_format)
    spark.sql(f"ALTER TABLE {table} ADD COLUMN items.element.sku STRING")
    new = [[(3, [(3, "a"), (3, "b")])], [(4, [(4, "c")])]]
    tables.append(spark, table, new, "id INT, items ARRAY<STRUCT<n: INT, sku: STRING>>", file_format=file_format)
    build(spark, table, "values(items.sku)")
    conditions = {
        "exists(items, i -> i.sku IS NULL)": [0, 0, 1, 1],
        "exists(items, i -> coalesce(i.sku, 'x') = 'x')": [0, 0, 1, 1],
        "exists(items, i -> i.n IS NOT NULL AND NOT i.sku <=> 'a')": [0, 0, 1, 1, 3, 4],
        "array_contains(items.sku, 'c')": [4],
    }
    for condition, ids in conditions.items():
        rows = spark.sql(f"SELECT * FROM {table} WHERE {condition}").collect()
        assert sorted(row.id for row in rows) == ids, condition
    assert len(plans.planned_files_of(spark, table, ["array_contains(items.sku, 'c')"])[0]) == 1


def test_renamed_and_deleted(spark, base) -> None:
    table = tables.create(spark, "lake.facts.elements_renamed", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "values(tags, items.sku)")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN tags TO labels")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN items.element.sku TO code")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN tags ARRAY<STRING>")
    conditions = [
        "array_contains(labels, 'tag3')",
        "array_contains(items.code, 'sku3')",
        "array_contains(tags, 'tag3')",
    ]
    assert [len(paths) for paths in plans.planned_files_of(spark, table, conditions)] == [1, 1, 4]
    snapshot = tables.snapshot_id(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE array_contains(labels, 'tag3')")
    assert spark.sql(f"SELECT * FROM {table} WHERE array_contains(labels, 'tag3')").count() == 0
    before = f"SELECT * FROM {table} VERSION AS OF {snapshot} WHERE array_contains(tags, 'tag3')"
    assert spark.sql(before).count() == ROWS


def test_the_statement_of_why_not_prunes(spark, base) -> None:
    table = tables.create(spark, "lake.facts.elements_advised", COLUMNS)
    insert(spark, table, 0, FILES)
    product.build(spark, table)
    condition = "array_contains(tags, 'tag3')"
    assert len(plans.planned_files_of(spark, table, [condition])[0]) == FILES
    remedies = " ".join(row.remedy for row in zonemap.why_not(spark, f"SELECT * FROM {table} WHERE {condition}").rows)
    statement = re.search(r"CALL zonemap.*?\'\)", remedies)
    assert statement and "(tags.element)" in statement.group(), remedies
    spark.sql(statement.group())
    assert len(plans.planned_files_of(spark, table, [condition])[0]) == 1


def test_values_that_readers_omit_are_refused(spark, base) -> None:
    columns = (
        "items ARRAY<STRUCT<n: INT>>, m MAP<STRING, STRUCT<n: INT>>, k MAP<STRUCT<n: INT>, INT>, box STRUCT<n: INT>"
    )
    table = tables.create(spark, "lake.facts.elements_omitted", columns, version=3)
    struct = "named_struct('n', 1)"
    spark.sql(f"INSERT INTO {table} VALUES (array({struct}), map('k', {struct}), map({struct}, 1), {struct})")
    types, literal = spark._jvm.org.apache.iceberg.types.Types, spark._jvm.org.apache.iceberg.expressions.Expressions
    for parent in ("items", "m", "box"):
        change = tables.java_table(spark, table).updateSchema()
        change.addColumn(parent, "later", types.IntegerType.get(), None, literal.lit(7)).commit()
    spark.sql(f"REFRESH TABLE {table}")
    for column in ("items.later", "m.value.later", "m.key", "k.key.n"):
        with pytest.raises(Exception, match="readers of this column alone can omit"):
            build(spark, table, f"values({column})")
    assert "values(items.element.n)" in build(spark, table, "values(items.n, m.value.n, box.later)")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("values(deep)", "within two lists or maps has no facts"),
        ("values(deep.element.element)", "within two lists or maps has no facts"),
        ("values(items)", "a column of type struct"),
        ("values(m)", "a column of type map"),
        ("ngrams(nums)", "it is of type int"),
    ],
)
def test_what_cannot_be_built_is_refused(spark, events, facts: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        build(spark, events, facts)
