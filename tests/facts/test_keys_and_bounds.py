# SPDX-License-Identifier: Apache-2.0
"""Facts of chosen map keys, and exact bounds of columns whose manifests have no useful bounds or wrong bounds."""

from __future__ import annotations

import pytest
from support import iceberg_api, plans, product, session, tables
from support.compare import assert_rows_equal_off_on, explain
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 16
ROWS = 20
KEYED = """
    id BIGINT, tags MAP<STRING, STRING>, codes MAP<INT, BIGINT>, at STRUCT<m: MAP<STRING, STRING>>, n MAP<STRING, DOUBLE>
"""
TYPE = f"element_at(array('timer', 'counter', 'gauge', 'meter'), CAST(id div {ROWS} % 4 + 1 AS INT))"
#: File 5 lacks the key 'type', file 6 has a null map, and file 7 has a null value for the key.
KEYED_SELECT = [
    "id",
    f"""CASE id div {ROWS} WHEN 5 THEN map('host', concat('host-', id)) WHEN 6 THEN NULL
      WHEN 7 THEN map('type', NULL, 'host', 'x') ELSE map('host', concat('host-', id), 'type', {TYPE}, 'a,b(''c)', 'odd') END AS tags""",
    f"map(404, id div {ROWS}, 200, id) AS codes",
    f"named_struct('m', map('k', concat('v', id div {ROWS}))) AS at",
    f"map('x', CASE WHEN id div {ROWS} = 3 THEN double('NaN') ELSE id div {ROWS} END) AS n",
]
KEY_FACTS = (
    "values(tags['type'], tags['a,b(''c)'], codes[404], at.m['k']), bloom(tags['host']), ngrams(tags['host']), "
    "values(n['x'])"
)

# condition: largest allowed number of files read, of 16
KEY_CASES = {
    "tags['type'] = 'timer'": 4,
    "element_at(tags, 'type') = 'counter'": 3,
    "tags['type'] IN ('gauge', 'meter')": 6,
    "tags['type'] = 'none'": 0,
    "tags['type'] > 'meter'": 4,
    "tags['type'] LIKE '%unt%'": 3,
    "tags['type'] IS NULL": 3,
    "tags['type'] IS NOT NULL": 13,
    "coalesce(tags['type'], 'timer') = 'timer'": 7,
    "NOT (tags['type'] = 'timer')": 9,
    "upper(tags['type']) = 'TIMER'": 4,
    "tags['host'] = 'host-25'": 2,
    "tags['host'] LIKE '%ost-25%'": 4,
    "tags['host'] IN ('host-25', 'host-85') AND tags['type'] = 'timer'": 2,
    "tags['type'] = 'timer' OR tags['host'] = 'host-25'": 6,
    "tags['a,b(\\'c)'] IS NULL": 3,
    "codes[404] > 10": 5,
    "codes[404] + 1 = 8": 1,
    "codes[200] = 7": FILES,
    "at.m['k'] = 'v3'": 1,
    "n['x'] > 14": 2,
    "tags['other'] = 'timer'": FILES,
}


def append(spark, table: str, select: list[str], files: int = FILES, file_format: str = "parquet") -> str:
    frame = spark.range(0, files * ROWS, 1, files).selectExpr(*(" ".join(column.split()) for column in select))
    frame.writeTo(table).option("write-format", file_format).append()
    return table


def build(spark, table: str, facts: str) -> dict[str, object]:
    quoted = facts.replace("'", "\\'")
    return {row.part: row for row in product.call(spark, "build_index", table, f", facts => '{quoted}'")}


def count(spark, table: str, where: str) -> int:
    return len(plans.planned_files(spark.sql(f"SELECT * FROM {table} WHERE {where}")))


def assert_files_and_rows(spark, table: str, cases: dict[str, int], total: int) -> None:
    """Checks that each condition reads at most the given number of files, or all files if that number is `total`, and
    that the rows equal the rows without the product."""
    kept = [len(paths) for paths in plans.planned_files_of(spark, table, list(cases))]
    wrong = {
        c: n for (c, most), n in zip(cases.items(), kept, strict=True) if n > most or (most == total and n != total)
    }
    assert not wrong
    query = " UNION ALL ".join(f"SELECT {i} AS c, id FROM {table} WHERE {c}" for i, c in enumerate(cases))
    assert_rows_equal_off_on(spark, query, at_least=len(cases))


@pytest.fixture(scope="module")
def keyed(base) -> str:
    spark = session.get()
    table = append(spark, tables.create(spark, "lake.facts.keyed", KEYED), KEYED_SELECT)
    before = [len(paths) for paths in plans.planned_files_of(spark, table, list(KEY_CASES))]
    assert before == [FILES] * len(KEY_CASES)
    parts = build(spark, table, KEY_FACTS)
    assert {"values(tags['type'])", "values(tags['a,b(''c)'])", "values(codes[404])", "values(at.m['k'])"} < set(parts)
    return table


def test_keys_of_maps(spark, keyed) -> None:
    assert_files_and_rows(spark, keyed, KEY_CASES, FILES)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_missing_key_is_null_in_either_ansi_mode(spark, keyed, ansi: str) -> None:
    with product.raw_conf(spark, {"spark.sql.ansi.enabled": ansi}):
        assert count(spark, keyed, "tags['type'] = 'timer'") == 4
        assert count(spark, keyed, "element_at(tags, 'type') IS NULL") == 3
        rows = assert_rows_equal_off_on(spark, f"SELECT id FROM {keyed} WHERE element_at(tags, 'type') IS NULL")
        assert len(rows) == 3 * ROWS


def test_scans_stay_as_they_are_where_no_fact_tells_of_the_key(spark, keyed) -> None:
    def is_ours(where: str) -> bool:
        return plans.scan_names(spark.sql(f"SELECT * FROM {keyed} WHERE {where}")) != [keyed]

    assert is_ours("tags['type'] = 'timer'")
    assert not is_ours("tags['other'] = 'timer'") and not is_ours("codes[200] = 7")
    assert "(values(tags['type']))" in explain(spark, f"SELECT * FROM {keyed} WHERE tags['type'] = 'timer'")


def test_status_names_keys_and_drop_takes_one(spark) -> None:
    table = append(spark, tables.create(spark, "lake.facts.key_drop", KEYED), KEYED_SELECT, files=4)
    build(spark, table, "values(tags['type'], tags['host'])")
    told = product.status(spark, table).facts
    assert told.startswith("values(tags['host'])=") and " values(tags['type'])=" in told
    product.call(spark, "drop_index", table, ", facts => 'values(tags[''host''])', dry_run => false")
    assert "host" not in product.status(spark, table).facts
    spark._jvm.zonemap.spark.HeldIndexes.forget()
    assert (count(spark, table, "tags['type'] = 'gauge'"), count(spark, table, "tags['host'] = 'x'")) == (1, 4)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN tags TO labels")
    assert count(spark, table, "labels['type'] = 'gauge'") == 1
    assert product.status(spark, table).facts.startswith("values(labels['type'])=")


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_keys_and_bounds_of_other_formats(spark, file_format: str) -> None:
    name = f"lake.facts.key_{file_format}"
    table = append(spark, tables.create(spark, name, KEYED), KEYED_SELECT, 8, file_format)
    build(spark, table, "values(tags['type'], codes[404], n['x']), bounds(at.m['k'], id)")
    cases = {
        "tags['type'] = 'timer'": 2,
        "codes[404] = 3": 1,
        "n['x'] = double('NaN')": 1,
        "at.m['k'] = 'v5'": 1,
        "id = 7": 1,
    }
    assert_files_and_rows(spark, table, cases, 8)


BOUNDED = "id BIGINT, a STRING, n STRING, c INT, d DOUBLE"
BOUNDED_PROPS = {"write.metadata.metrics.column.n": "none", "write.metadata.metrics.column.c": "counts"}
BOUNDED_SELECT = [
    "id",
    f"concat('a prefix of more than sixteen characters ', lpad(id div {ROWS}, 3, '0')) AS a",
    f"IF(id div {ROWS} = 9, NULL, concat('n', lpad(id, 5, '0'))) AS n",
    "CAST(id AS INT) AS c",
    f"IF(id = 45, double('NaN'), id div {ROWS}) AS d",
]
# condition: number of files read before, and largest allowed number after, of 16
BOUND_CASES = {
    "a = 'a prefix of more than sixteen characters 003'": (FILES, 1),
    "a > 'a prefix of more than sixteen characters 013'": (FILES, 2),
    "n BETWEEN 'n00025' AND 'n00045'": (FILES, 2),
    "n IS NULL": (FILES, 1),
    "n IS NOT NULL": (FILES, 15),
    "c < 25 OR c = 100": (FILES, 3),
    "c IN (7, 77)": (FILES, 2),
    "d < 1": (1, 1),
    "n LIKE 'n0020%'": (FILES, 1),
    "c % 2 = 0": (FILES, FILES),
}


def test_bounds_read_from_the_data(spark) -> None:
    table = tables.create(spark, "lake.facts.bounded", BOUNDED, props=BOUNDED_PROPS)
    append(spark, table, BOUNDED_SELECT)
    product.build(spark, table)
    kept = [len(paths) for paths in plans.planned_files_of(spark, table, list(BOUND_CASES))]
    assert all(n >= before for n, (before, _) in zip(kept, BOUND_CASES.values(), strict=True))
    parts = build(spark, table, "bounds(a, n, c, d)")
    assert all(part.wrong_bounds == 0 and part.data_files == FILES for part in parts.values())
    cases = {c: after for c, (_, after) in BOUND_CASES.items()}
    assert_files_and_rows(spark, table, cases, FILES)


def test_ranges_of_files_with_late_rows(spark) -> None:
    """Each file covers an hour plus a few much older rows, so its bounds span a long time that is mostly empty."""
    table = tables.create(spark, "lake.facts.late", "id BIGINT, ts TIMESTAMP, tags MAP<STRING, INT>")
    hour = f"timestamp_seconds(1767225600 + IF(id % {ROWS} = 0, id * 7 - 8640000, id div {ROWS} * 3600 + id % {ROWS} * 60))"
    append(spark, table, ["id", f"{hour} AS ts", f"map('late', CAST(IF(id % {ROWS} = 0, -1, id) AS INT)) AS tags"])
    where = "ts >= TIMESTAMP'2026-01-01 05:00:00Z' AND ts < TIMESTAMP'2026-01-01 06:00:00Z'"
    product.build(spark, table)
    assert count(spark, table, where) == 11
    build(spark, table, "ranges(ts, tags['late'])")
    cases = {where: 1, "ts < TIMESTAMP'2025-10-01'": FILES, "year(ts) = 2024": 0, "tags['late'] BETWEEN 45 AND 50": 1}
    assert_files_and_rows(spark, table, cases, FILES)


def test_bounds_of_many_columns(spark) -> None:
    columns = [f"c{i}" for i in range(104)]
    table = tables.create(spark, "lake.facts.columns", "id BIGINT, " + ", ".join(f"{c} INT" for c in columns))
    append(spark, table, ["id", *(f"CAST(id AS INT) AS {c}" for c in columns)], files=4)
    product.build(spark, table)
    assert (count(spark, table, "c3 = 25"), count(spark, table, "c102 = 25")) == (1, 4)
    build(spark, table, "bounds(c102)")
    assert count(spark, table, "c102 = 25") == 1


def test_wrong_bounds_of_manifests_are_told_of(spark) -> None:
    table = tables.create(spark, "lake.facts.forged", BOUNDED)
    append(spark, table, BOUNDED_SELECT, files=4)

    def forge(path: str, metrics) -> None:
        lower = int.from_bytes(bytes(metrics.lower.get(metrics.field_id("id")).array()), "little")
        if lower in (ROWS, 2 * ROWS):
            metrics.bounds("id", (3 if lower == ROWS else 0).to_bytes(8, "little"), (3).to_bytes(8, "little"))

    iceberg_api.forge_metrics(spark, table, forge)
    with product.off(spark):
        assert spark.sql(f"SELECT id FROM {table} WHERE id = 45").collect() == []
    mark = len(session.log_lines())
    parts = build(spark, table, "bounds(id, c)")
    assert (parts["bounds(id)"].wrong_bounds, parts["bounds(c)"].wrong_bounds) == (2, 0)
    told = [line for line in session.warnings_since(mark) if "wrong bounds or counts of 'id' for 2 data files" in line]
    assert len(told) == 1 and ".parquet" in told[0]
    assert [row.id for row in spark.sql(f"SELECT id FROM {table} WHERE id = 45").collect()] == [45]
    assert [count(spark, table, w) for w in ("id = 45", "id = 2", "id > 1000", "c = 45 AND id > 3")] == [1, 1, 0, 1]
    last = [row.id for row in spark.sql(f"SELECT id FROM {table} WHERE id < 60 ORDER BY id DESC LIMIT 2").collect()]
    assert last == [59, 58]
    groups = spark.sql(f"SELECT id, count(*) FROM {table} WHERE d = 1 GROUP BY id").collect()
    assert sorted(tuple(row) for row in groups) == [(id, 1) for id in range(ROWS, 2 * ROWS)]
    spark._jvm.zonemap.spark.HeldIndexes.forget()
    assert count(spark, table, "id = 45") == 1


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ("values(id['x'])", "id is not a map"),
        ("values(tags[404])", "its keys are of type string"),
        ("values(codes['404'])", "its keys are of type int"),
        ("values(tags)", "of a simple type"),
        ("values(none['x'])", "the table has no such column"),
        ("ngrams(codes[404])", "Name a string column"),
        ("ranges(tags['type'])", "Name a column of numbers, dates or times"),
        ("values(tags[type])", "the table has no such column"),
        ("values(codes['x)", "the table has no such column"),
    ],
)
def test_what_cannot_be_built_is_refused(spark, keyed, facts: str, told: str) -> None:
    with pytest.raises(Exception, match="Cannot") as refused:
        build(spark, keyed, facts)
    assert told in str(refused.value)
