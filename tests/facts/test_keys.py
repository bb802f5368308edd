# SPDX-License-Identifier: Apache-2.0
"""The index of keys: which files a key is looked up in, and what it does not have."""

from __future__ import annotations

import hashlib
import random

import pytest
from support import facts, loglines, plans, product, session, tables
from support.compare import assert_rows_equal_off_on, explain
from support.facts import files, files_of_each
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 24
ROWS = 50
#: File f has the ids from f * ROWS on. The bounds of every other column are about the same in all files.
COLUMNS = "id BIGINT, user_id STRING, key BIGINT, n INT, d DOUBLE, tags MAP<STRING, BIGINT>"
SELECT = (
    "id",
    "concat('u', sha1(CAST(id AS STRING))) AS user_id",
    "CASE WHEN id = 77 THEN NULL ELSE xxhash64(id) END AS key",
    f"CAST(CASE WHEN id % {ROWS} = 0 THEN -100 WHEN id % {ROWS} = 1 THEN 100 ELSE id div {ROWS} END AS INT) AS n",
    f"CASE WHEN id = 99 THEN double('NaN') WHEN id % {ROWS} = 0 THEN -9D WHEN id % {ROWS} = 1 THEN 9D "
    "WHEN id = 333 THEN 0D ELSE 1D END AS d",
    "map('order', xxhash64(id)) AS tags",
)
FACTS = r"keys(user_id, key, n, d, tags[\'order\'])"
UNLIMITED = ", max_fact_share => 9"


def insert(spark, table: str, start: int, files: int, rows: int = ROWS) -> None:
    facts.insert(spark, table, SELECT, rows, start, files)


def build(spark, table: str, columns: str) -> dict[str, object]:
    return facts.build(spark, table, columns, UNLIMITED)


def user(number: int) -> str:
    return f"concat('u', sha1('{number}'))"


@pytest.fixture(scope="module")
def orders(base) -> str:
    spark = session.get()
    table = tables.create(spark, "lake.facts.orders", COLUMNS)
    insert(spark, table, 0, FILES)
    parts = build(spark, table, FACTS)
    assert all(row.data_files == FILES for row in parts.values())
    assert all(row.files_read == FILES and row.bytes > 0 for part, row in parts.items() if part != "index")
    return table


#: condition: files read
CASES = {
    f"user_id = {user(777)}": 1,
    f"user_id IN ({user(777)}, {user(1)}, {user(2)}, 'nobody')": 2,
    "user_id = 'nobody'": 0,
    "key = xxhash64(1001L)": 1,
    "key = xxhash64(77L)": 0,
    "key IN (xxhash64(1001L), xxhash64(3L))": 2,
    "key IS NULL": 1,
    "n = 7": 1,
    "n + 1 = 8": FILES,  # the greatest INT, for which the sum fails, is in the condition, and it is not a single value
    "n = 100": FILES,
    "d = 0": 1,
    "d = double('NaN')": 1,
    "d = 2": 0,
    "tags['order'] = xxhash64(1001L)": 1,
    f"user_id = {user(777)} OR key = xxhash64(1001L)": 2,
    f"user_id = {user(777)} AND key = xxhash64(1001L)": 0,
    "user_id > 'u5' AND user_id < 'u6'": FILES,
    f"user_id <> {user(777)}": FILES,
}


def test_files_read(spark, orders) -> None:
    assert files_of_each(spark, orders, CASES) == CASES
    with product.off(spark):
        assert files(spark, orders, "user_id = 'uaaaa'") == FILES


def test_rows_are_the_same_off_and_on(spark, orders) -> None:
    for condition in CASES:
        assert_rows_equal_off_on(spark, f"SELECT * FROM {orders} WHERE {condition}")
    told = explain(spark, f"SELECT * FROM {orders} WHERE user_id = {user(777)}")
    assert "kept after facts: 1 (keys(user_id))" in told


def test_join_keys_find_their_files(spark, orders) -> None:
    people = tables.create(spark, "lake.facts.people_of_keys", "user_id STRING, name STRING")
    spark.sql(f"INSERT INTO {people} SELECT concat('u', sha1(CAST(id AS STRING))), 'n' || id FROM range(0, 1200, 100)")
    query = f"SELECT o.id, p.name FROM {orders} o JOIN {people} p ON o.user_id = p.user_id WHERE p.name IN ('n700', 'n1100')"
    rows = assert_rows_equal_off_on(spark, query)
    assert {row.id for row in rows} == {700, 1100}
    assert len({path for path in plans.execute(spark.sql(query)).files if "/orders/" in path}) == 2


def test_a_merge_by_keys_reads_their_files(spark) -> None:
    props = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
    table = tables.create(spark, "lake.facts.merged_keys", COLUMNS, props=props)
    insert(spark, table, 0, 8)
    build(spark, table, "keys(user_id)")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW changes AS SELECT {user(120)} AS user_id, 5 AS n UNION ALL SELECT 'new', 6")
    before = product.counters(spark)
    spark.sql(
        f"MERGE INTO {table} t USING changes s ON t.user_id = s.user_id WHEN MATCHED THEN UPDATE SET n = s.n "
        "WHEN NOT MATCHED THEN INSERT (user_id, n) VALUES (s.user_id, s.n)"
    )
    assert (product.counters(spark) - before).planned_scans >= 1
    product.refresh(spark, table)
    rows = assert_rows_equal_off_on(spark, f"SELECT id, n FROM {table} WHERE user_id IN ({user(120)}, 'new')")
    assert {(row.id, row.n) for row in rows} == {(120, 5), (None, 6)}
    assert spark.table(table).count() == 8 * ROWS + 1


def test_a_merge_of_random_keys_reads_only_files_that_hold_one(spark) -> None:
    """The files that hold a key are counted in the data; 30 keys are in about half of the 40 files."""
    props = {f"write.{command}.mode": "merge-on-read" for command in ("delete", "update", "merge")}
    table = tables.create(spark, "lake.facts.merged_randomly", COLUMNS, props=props)
    insert(spark, table, 0, 40, rows=20)
    build(spark, table, "keys(user_id)")
    source = tables.create(spark, "lake.facts.random_keys", "user_id STRING, n INT")
    chosen = sorted(random.Random(7).sample(range(800), 30))
    rows = [(f"u{hashlib.sha1(str(number).encode()).hexdigest()}", -number) for number in chosen]
    tables.append(spark, source, [[*rows, ("nobody", -1)]], "user_id STRING, n INT")
    holding = {number // 20 for number in chosen}
    with product.off(spark):
        found = spark.sql(f"SELECT DISTINCT t._file FROM {table} t JOIN {source} s ON t.user_id = s.user_id").collect()
    assert len(found) == len(holding) and 10 < len(holding) < 30
    mark = len(session.log_lines())
    spark.sql(
        f"MERGE INTO {table} t USING {source} s ON t.user_id = s.user_id WHEN MATCHED THEN UPDATE SET n = s.n "
        "WHEN NOT MATCHED THEN INSERT (id, user_id, n) VALUES (-1, s.user_id, s.n)"
    )
    assert loglines.join_cuts(session.log_lines()[mark:], table, "user_id")[-1] == (40, len(holding))
    with product.off(spark):
        merged = f"SELECT * FROM {table} t JOIN {source} s ON t.user_id = s.user_id AND t.n = s.n"
        assert (spark.table(table).count(), spark.sql(merged).count()) == (801, 31)


def test_deleted_rows_have_keys_for_time_travel(spark) -> None:
    props = {"write.delete.mode": "merge-on-read"}
    table = tables.create(spark, "lake.facts.deleted_keys", COLUMNS, props=props)
    insert(spark, table, 0, 8)
    before = tables.snapshot_id(spark, table)
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id = 333")
    build(spark, table, "keys(user_id)")
    old, where = f"{table} VERSION AS OF {before}", f"user_id = {user(333)}"
    assert [row.id for row in assert_rows_equal_off_on(spark, f"SELECT * FROM {old} WHERE {where}")] == [333]
    assert files(spark, old, where) == 1
    assert assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}") == []


def test_a_promoted_column_is_found_by_the_type_that_was_stored(spark) -> None:
    table = tables.create(spark, "lake.facts.promoted_keys", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "keys(n)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE BIGINT")
    spark.range(1).selectExpr("1L AS id", "9999999999L AS n").createOrReplaceTempView("wide")
    spark.sql(f"INSERT INTO {table} (id, n) SELECT /*+ COALESCE(1) */ id, n FROM wide UNION ALL SELECT 2L, 2L")
    product.refresh(spark, table)
    for built in (False, True):
        if built:
            assert build(spark, table, "keys(n)")["keys(n)"].data_files == len(tables.files(spark, table))
        for where, rows in {"n = 2": ROWS - 1, "n = 9999999999": 1, "n IN (1, 12)": ROWS - 2}.items():
            assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE {where}")) == rows, where
    assert files(spark, table, "n = 9999999999") == 1
    assert files(spark, table, "n = 3") == 1
    assert files(spark, table, "n = 55") == 0


def test_new_files_are_kept_until_they_are_covered(spark) -> None:
    table = tables.create(spark, "lake.facts.appended_keys", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "keys(user_id)")
    where = "user_id = 'u7'"
    assert files(spark, table, where) == 0
    insert(spark, table, 10_000, 2)
    assert files(spark, table, where) == 2
    with product.raw_conf(spark, {"spark.sql.zonemap.upkeep.maintainFacts.enabled": "true"}):
        product.refresh(spark, table)
    assert files(spark, table, where) == 0
    assert files(spark, table, f"user_id IN ({user(10_001)}, {user(3)})") == 2
    part = build(spark, table, "keys(user_id)")["keys(user_id)"]
    assert (part.files_read, part.segments, part.data_files) == (0, 1, 6), "small files of keys are joined"
    assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE user_id = {user(10_001)}", at_least=1)
    assert "keys(user_id)=" in product.status(spark, table).facts
    dropped = product.call(spark, "drop_index", table, ", facts => 'keys(user_id)', dry_run => false")
    assert [("/facts/keys/" in row.path) for row in dropped] == [True]
    assert files(spark, table, where) == 6


def test_a_damaged_file_of_keys_is_a_miss(spark) -> None:
    table = tables.create(spark, "lake.facts.damaged_keys", COLUMNS)
    insert(spark, table, 0, 4)
    build(spark, table, "keys(user_id)")
    (path,) = product.store_files(tables.location(spark, table), "*.zmf")
    whole = path.read_bytes()
    for content in (whole[:-1] + bytes([whole[-1] ^ 1]), whole[:-1], whole[:40], b""):
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_bytes(content)
        spark._jvm.zonemap.spark.HeldIndexes.forget()
        assert files(spark, table, "user_id = 'u7'") == 4
        assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE user_id = {user(3)}", at_least=1)
