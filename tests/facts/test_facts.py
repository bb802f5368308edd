# SPDX-License-Identifier: Apache-2.0
"""Facts beyond bounds: value sets, bloom filters and n-grams of data files, as users build and query them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import facts, plans, product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.facts import build, files, files_of_each
from support.session import SPARK, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 32
ROWS = 50
COLUMNS = (
    "id BIGINT, user_id STRING, key BIGINT, status STRING, n INT, d DOUBLE, price DECIMAL(20, 2), "
    "message STRING, at STRUCT<code: STRING>"
)
#: File f has the ids from f * ROWS on. For every other column, all files have about the same bounds.
SELECT = f"""
    id,
    concat('u', sha1(CAST(id AS STRING))) AS user_id,
    xxhash64(id) AS key,
    CASE WHEN id = 77 THEN NULL WHEN id = 333 THEN 'failed' ELSE element_at(array('ok', 'done'), CAST(id % 2 + 1 AS INT)) END
      AS status,
    CAST(CASE WHEN id % {ROWS} = 0 THEN -100 WHEN id % {ROWS} = 1 THEN 100 ELSE id div {ROWS} END AS INT) AS n,
    CASE WHEN id = 99 THEN double('NaN') WHEN id % {ROWS} = 0 THEN -9D WHEN id % {ROWS} = 1 THEN 9D
      WHEN id = 222 THEN -0D ELSE 1D END AS d,
    CAST(CASE WHEN id % {ROWS} = 0 THEN -1e12 WHEN id % {ROWS} = 1 THEN 1e12 ELSE id END AS DECIMAL(20, 2)) AS price,
    concat(element_at(array('a: ', 'z: '), CAST(id % 2 + 1 AS INT)), CASE WHEN id = 444 THEN 'disk timeout at node' ELSE 'fine' END)
      AS message,
    named_struct('code', concat(element_at(array('a', 'z'), CAST(id % 2 + 1 AS INT)), id div {ROWS})) AS at
"""
FACTS = "bloom(user_id, key, price), values(status, n, d, at.code), ngrams(message, user_id)"


def insert(spark, table: str, start: int, files: int, file_format: str = "parquet") -> None:
    facts.insert(spark, table, _columns(), ROWS, start, files, file_format)


def _columns() -> list[str]:
    lines = SELECT.strip().split(",\n")
    return [" ".join(line.split()) for line in lines]


def forget(spark) -> None:
    """Drops all indexes from this JVM's memory, so that its state is like that of a new JVM."""
    spark._jvm.zonemap.spark.HeldIndexes.forget()


@pytest.fixture(scope="module")
def events(base) -> str:
    from support import session

    spark = session.get()
    table = tables.create(spark, "lake.facts.events", COLUMNS)
    insert(spark, table, 0, FILES)
    parts = build(spark, table, FACTS)
    assert len(parts) == 10
    assert all(row.data_files == FILES for row in parts.values())
    assert all(row.files_read == FILES and row.bytes > 0 for part, row in parts.items() if part != "index")
    return table


# condition: largest allowed number of files read, of 32
CASES = {
    "user_id = concat('u', sha1('777'))": 2,
    "user_id IN (concat('u', sha1('777')), concat('u', sha1('1')), 'nobody')": 4,
    "key = xxhash64(777L)": 3,
    "price = 1234.00": 3,
    "status <> 'ok' AND status <> 'done'": 1,
    "status NOT IN ('ok', 'done')": 1,
    "status = 'failed'": 1,
    "status IS NULL": 1,
    "status = 'missing'": 0,
    "status LIKE '%il%'": 1,
    "n = 7": 1,
    "n + 1 = 8": 1,
    "CAST(n AS STRING) = '7'": 1,
    "n > 5 AND n < 9": 3,
    "d = 0": 1,
    "d > 1 AND d < 9": 0,
    "d = double('NaN')": 1,
    "at.code IN ('a3', 'z4')": 2,
    "message LIKE '%timeout%'": 1,
    "message LIKE '%disk%node'": 1,
    "contains(message, 'timeout at')": 1,
    "endswith(message, 'node')": 1,
    "message LIKE '%disk_timeout%'": 1,
    "message LIKE '%no such text%'": 0,
    "message LIKE '%fi%'": FILES,
    "message NOT LIKE '%timeout%'": FILES,
    "instr(message, 'timeout') > 0": 1,
    "locate('timeout', message) >= 1": 1,
    "position('timeout' IN message) <> 0": 1,
    "instr(message, 'timeout') = 0": FILES,
    "split(message, ' ')[0] = 'no such text'": 0,
    "split_part(message, ' ', 3) IN ('timeout', 'no such text')": 1,
    "substring_index(message, ' ', 3) LIKE '%timeout'": 1,
    "trim(message) = 'no such text'": 0,
    "trim(message) <> 'no such text'": FILES,
    r"message RLIKE '^a: [a-z]+ timeout (at|by)'": 1,
    "regexp_like(message, 'disk|no such')": FILES,
    "regexp_extract(message, 'disk ([a-z]+) at', 1) = 'timeout'": 1,
    "regexp_count(message, 'no such') > 0": 0,
    "message ILIKE '%Timeout%'": 1,
    "lower(message) LIKE '%timeout at%'": 1,
    "upper(message) LIKE '%NODE%'": 1,
    "upper(message) IN ('NO SUCH CODE', 'NO OTHER CODE')": 0,
    "message NOT ILIKE '%timeout%'": FILES,
    "id = 40 OR status = 'failed'": 2,
    "status = 'failed' OR message LIKE '%timeout%'": 2,
    "status = 'failed' OR length(message) = 7": FILES,
    "(n = 7 OR n = 9) AND message LIKE '%fine%'": 2,
}


def test_files_read(spark, events) -> None:
    found = files_of_each(spark, events, CASES)
    wrong = {c: n for c, n in found.items() if (n > CASES[c] if CASES[c] < FILES else n != FILES)}
    assert not wrong
    with product.off(spark):
        assert len(plans.planned_files_of(spark, events, ["message LIKE '%timeout%'"])[0]) == FILES


def test_rows_are_the_same_off_and_on(spark, events) -> None:
    with product.off(spark):
        columns = ", ".join(f"{condition} AS c{i}" for i, condition in enumerate(CASES))
        rows = spark.sql(f"SELECT id, {columns} FROM {events}").collect()
    expected = {(i, row.id) for row in rows for i in range(len(CASES)) if row[f"c{i}"]}
    before = product.counters(spark)
    query = " UNION ALL ".join(f"SELECT {i}, id FROM {events} WHERE {c}" for i, c in enumerate(CASES))
    found = [tuple(row) for row in spark.sql(query).collect()]
    change = product.counters(spark) - before
    assert change.planned_scans >= len(CASES) and change.fallbacks == 0
    # Iceberg's Parquet reader treats -0.0 as less than 0.0
    lost = {(list(CASES).index("d = 0"), 222)}
    assert len(found) == len(set(found))
    assert expected - set(found) <= lost and set(found) <= expected


def test_explain_tells_which_facts_answered(spark, events) -> None:
    told = explain(spark, f"SELECT * FROM {events} WHERE status = 'failed' AND message LIKE '%fine%'")
    assert "kept after zones: 32" in told
    assert "kept after facts: 1 (values(status), ngrams(message))" in told
    assert "kept after facts" not in explain(spark, f"SELECT * FROM {events} WHERE id = 3")


def test_a_text_condition_that_no_fact_tells_of_leaves_the_scan_as_it_is(spark) -> None:
    table = tables.create(spark, "lake.facts.texts", COLUMNS)
    insert(spark, table, 0, 2)
    build(spark, table, "ngrams(message)")
    if SPARK >= (4, 1):  # before, the table of each scan is replaced by one that is pinned to a snapshot
        assert plans.scan_names(spark.sql(f"SELECT * FROM {table} WHERE user_id LIKE '%none%'")) == [table]
        assert plans.scan_names(spark.sql(f"SELECT * FROM {table} WHERE message LIKE '%none%'")) != [table]
    assert "CONDITION_TEXT_INSIDE" in explain(spark, f"SELECT * FROM {table} WHERE user_id LIKE '%none%'")


def test_join_keys_are_asked_of_facts(spark, events) -> None:
    people = tables.create(spark, "lake.facts.people", "user_id STRING, name STRING")
    spark.sql(
        f"INSERT INTO {people} SELECT concat('u', sha1(CAST(id AS STRING))), concat('n', id) FROM range(0, 1600, 100)"
    )
    query = f"SELECT e.id, p.name FROM {events} e JOIN {people} p ON e.user_id = p.user_id WHERE p.name IN ('n700', 'n1500')"
    rows = assert_rows_equal_off_on(spark, query)
    assert {row.id for row in rows} == {700, 1500}
    done = plans.execute(spark.sql(query))
    assert len({path for path in done.files if "/events/" in path}) <= 4


def test_status_names_facts_and_drop_takes_them(spark) -> None:
    table = tables.create(spark, "lake.facts.dropped", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "values(status), bloom(user_id)")
    status = product.status(spark, table)
    assert status.facts.split("=")[0] == "values(status)" and "bloom(user_id)=" in status.facts
    assert status.fact_bytes > 4 * 32
    dropped = product.call(spark, "drop_index", table, ", facts => 'bloom(user_id)', dry_run => false")
    assert len(dropped) == 1, dropped
    assert "/facts/bloom/" in dropped[0].path
    assert product.status(spark, table).facts.startswith("values(status)=")
    forget(spark)
    assert files(spark, table, "status = 'failed'") == 0
    assert files(spark, table, "user_id = 'nobody'") == 0 or files(spark, table, "user_id = 'uc'") == 4
    build(spark, table, "none")
    assert product.status(spark, table).facts == ""
    assert files(spark, table, "status = 'failed'") == 4
    garbage = product.call(spark, "collect_garbage", table, ", dry_run => false, older_than_hours => 0")
    assert sum("/facts/" in row.path for row in garbage) == 2
    assert not product.store_files(tables.location(spark, table), "*.zmf")


def test_appended_files_are_kept_until_built_and_then_only_they_are_read(spark) -> None:
    table = tables.create(spark, "lake.facts.appended", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "values(status)")
    insert(spark, table, 10_000, 1)
    query = "status = 'missing'"
    assert files(spark, table, query) == 1
    product.refresh(spark, table)
    assert files(spark, table, query) == 1, "a refresh carries the facts along"
    product.build(spark, table)
    assert files(spark, table, query) == 1, "and so does a build without facts"
    assert build(spark, table, "values(status)")["values(status)"].files_read == 1
    assert files(spark, table, query) == 0
    assert build(spark, table, "values(status)")["values(status)"].files_read == 0
    forget(spark)
    assert files(spark, table, query) == 0
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE status <> 'ok'", at_least=10)


def test_many_small_builds_are_joined(spark) -> None:
    table = tables.create(spark, "lake.facts.joined", COLUMNS)
    for start in range(3):
        insert(spark, table, 1000 * start, 1)
        part = build(spark, table, "values(n)")["values(n)"]
    assert part.segments == 1 and part.data_files == 3 and part.files_read == 1
    assert files(spark, table, "n = 40") == 1


def test_deleted_rows_are_in_the_facts_for_time_travel(spark) -> None:
    props = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
    table = tables.create(spark, "lake.facts.deleted", COLUMNS, props=props)
    insert(spark, table, 0, 8)
    before = tables.snapshot_id(spark, table)
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id = 333")
    build(spark, table, "values(status), bloom(user_id), ngrams(user_id)")
    old = f"{table} VERSION AS OF {before}"
    for where in (
        "status = 'failed'",
        "user_id = concat('u', sha1('333'))",
        "user_id LIKE '%' || right(sha1('333'), 9)",
    ):
        rows = assert_rows_equal_off_on(spark, f"SELECT * FROM {old} WHERE {where}")
        assert [row.id for row in rows] == [333], where
        assert files(spark, old, where) == 1, where
        assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}") == [], where


def test_compaction_keeps_what_it_did_not_touch(spark) -> None:
    table = tables.create(spark, "lake.facts.compacted", COLUMNS, partitioned="truncate(1000, id)")
    for start in (0, 1000):
        insert(spark, table, start, 4)
    build(spark, table, "values(status)")
    assert files(spark, table, "status = 'missing'") == 0
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{table}', where => 'id < 1000', options => map('rewrite-all', 'true'))"
    )
    product.refresh(spark, table)
    total = len(tables.files(spark, table))
    assert total == 5
    assert files(spark, table, "status = 'missing'") == 1
    assert build(spark, table, "values(status)")["values(status)"].files_read == 1
    assert files(spark, table, "status = 'missing'") == 0
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE status = 'done'", at_least=1)


def test_columns_renamed_promoted_and_added_again(spark) -> None:
    table = tables.create(spark, "lake.facts.evolved", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "values(n, status, price), bloom(n)")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN status TO state")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN price TYPE DECIMAL(30, 2)")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN message")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN status STRING")
    spark.sql(
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ 9, 'x', 9, 'new', 9999999999, 1D, 5, named_struct('code', 'b'), 'ok'"
    )
    product.refresh(spark, table)
    expected = {
        "state = 'failed'": 0,
        "n = 2": 1,
        "n = 9999999999": 1,
        "n IN (1, 12)": 1,
        "price = 160.00": 1,
        "price = 123456789012345678901.00": 0,
        "status = 'ok'": 5,
    }
    for where, kept in expected.items():
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}")
        assert files(spark, table, where) == kept, where
    build(spark, table, "values(n, state, status)")
    assert files(spark, table, "n = 2") == 1
    assert files(spark, table, "n = 5") == 0
    assert files(spark, table, "status = 'ok'") == 1
    assert files(spark, table, "status = 'no'") == 0


def test_facts_are_of_the_names_that_the_mapping_has(spark) -> None:
    """The mapping names the columns of files without field ids: facts built under other names must not be used."""

    def mapped(names: str) -> None:
        spark.sql(
            f"""ALTER TABLE {table} SET TBLPROPERTIES (
            'schema.name-mapping.default'='[{{"field-id":{status},"names":[{names}]}}]')"""
        )

    table = tables.create(spark, "lake.facts.mapped", COLUMNS)
    insert(spark, table, 0, 2)
    status = tables.java_table(spark, table).schema().findField("status").fieldId()
    where = "status = 'missing'"
    build(spark, table, "values(status)")
    assert files(spark, table, where) == 0
    mapped('"status"')
    assert files(spark, table, where) == 2
    build(spark, table, "values(status)")
    assert files(spark, table, where) == 0
    mapped('"status", "other"')
    assert files(spark, table, where) == 2
    mapped('"status"')
    assert files(spark, table, where) == 0
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('schema.name-mapping.default')")
    assert files(spark, table, where) == 2


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats(spark, file_format: str) -> None:
    table = tables.create(spark, f"lake.facts.{file_format}s", COLUMNS)
    insert(spark, table, 0, 4, file_format)
    build(spark, table, FACTS.replace("ngrams(message, user_id)", "ngrams(message)"))
    for where, kept in {
        "user_id = concat('u', sha1('77'))": 1,
        "status IS NULL": 1,
        "n = 2": 1,
        "d = double('NaN')": 1,
        "at.code = 'a3'": 1,
        "price = 123.00": 1,
        "message LIKE '%timeout%'": 0,
    }.items():
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}")
        assert files(spark, table, where) == kept, where


def test_damaged_and_vanished_facts_are_a_miss(spark) -> None:
    table = tables.create(spark, "lake.facts.damaged", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "values(status), bloom(key)")
    where = "status = 'missing'"
    facts = {path.parts[-3]: path for path in product.store_files(tables.location(spark, table), "*.zmf")}
    values, bloom = facts["values"], facts["bloom"]
    whole = values.read_bytes()
    for content in (whole[:-1], whole[:40], b"", bytes([whole[0] ^ 1]) + whole[1:], whole[:-1] + b"\0"):
        _overwrite(values, content)
        forget(spark)
        kept = files(spark, table, where)
        # if the head of the file is intact, the facts before the damaged fact still prune
        assert kept == 4 if len(content) < len(whole) or content[0] != whole[0] else 1 <= kept <= 4
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where} OR id = 3", at_least=1)
    values.unlink()
    bloom.unlink()
    forget(spark)
    assert files(spark, table, where) == 4
    assert files(spark, table, "key = 17") == 4
    assert build(spark, table, "values(status)")["values(status)"].files_read == 4
    assert files(spark, table, where) == 0


def _overwrite(path: Path, content: bytes) -> None:
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ("bloom(nope)", "the table has no such column"),
        ("blooms(key)", "'blooms' is not one of values, bloom, ngrams"),
        ("key", "'key' is not of the form kind(column)"),
        ("values()", "lacks a column"),
        ("ngrams(n)", "Name a string column"),
        ("bloom(at)", "of a simple type"),
        ("values(user_id)", "more than 256 distinct values"),
        ("bloom(key)", "more than 10 % of the table's bytes"),
        ("values(part)", "it is a partition column"),
    ],
)
def test_what_cannot_be_built_is_refused(spark, facts: str, told: str) -> None:
    table = _wide(spark)
    with pytest.raises(Exception, match="Cannot") as refused:
        build(spark, table, facts)
    assert told in str(refused.value)
    assert not product.store_files(tables.location(spark, table), "*.zmf")


def _wide(spark) -> str:
    """Creates two files with many distinct keys that compress to almost nothing."""
    table = "lake.facts.wide"
    if not spark.catalog.tableExists(table):
        columns = "key BIGINT, user_id STRING, n INT, at STRUCT<code: STRING>, part STRING"
        tables.create(spark, table, columns, partitioned="part")
        frame = spark.range(0, 16_000, 1, 2).selectExpr("id AS key", "CAST(id AS STRING) AS user_id", "1 AS n")
        frame.selectExpr("*", "named_struct('code', 'x') AS at", "'p' AS part").writeTo(table).append()
    return table
