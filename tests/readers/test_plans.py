# SPDX-License-Identifier: Apache-2.0
"""Plans of zonemap.pyiceberg from indexes that Spark builds, against PyIceberg's own plans and against rows."""

from __future__ import annotations

import datetime as dt
import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.expressions import AlwaysTrue, EqualTo, GreaterThan, In
from pyiceberg.table import StaticTable, Table
from support import imports, product, tables
from support.session import STOCK

import zonemap.pyiceberg as zonemap_pyiceberg
from readers import differential
from zonemap.pyiceberg import Fallback

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

EVERY_TYPE = {
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "price": "DECIMAL(9, 2)",
    "big": "DECIMAL(30, 4)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "local": "TIMESTAMP_NTZ",
    "s": "STRING",
    "b": "BINARY",
    "o": "BOOLEAN",
}
EXPRESSIONS = 120


def loaded(spark, table: str) -> Table:
    """The table as PyIceberg reads it from its newest metadata file."""
    operations = tables.java_table(spark, table).operations()
    return StaticTable.from_metadata(operations.current().metadataFileLocation())


def value(seed: random.Random, kind: str, place: int) -> str:
    """A value of a column as SQL: near the place of its file, or NULL, or a special one."""
    if seed.random() < 0.15:
        return "NULL"
    n = place * 8 + seed.randrange(12)
    specials = {"FLOAT": ("NaN", "-0.0", "Infinity"), "DOUBLE": ("NaN", "-0.0", "-Infinity")}
    if kind in specials and seed.random() < 0.1:
        return f"CAST('{seed.choice(specials[kind])}' AS {kind})"
    return {
        "INT": f"{n}",
        "BIGINT": f"CAST({n * 10**11} AS BIGINT)",
        "FLOAT": f"CAST({n / 10} AS FLOAT)",
        "DOUBLE": f"CAST({n / 10} AS DOUBLE)",
        "DECIMAL(9, 2)": f"CAST({n - 40}.25 AS DECIMAL(9, 2))",
        "DECIMAL(30, 4)": f"CAST({(n - 40) * 10**20}.5 AS DECIMAL(30, 4))",
        "DATE": f"DATE_ADD(DATE'2020-01-01', {n})",
        "TIMESTAMP": f"TIMESTAMP'2020-01-01' + INTERVAL {n} HOUR",
        "TIMESTAMP_NTZ": f"TIMESTAMP_NTZ'2020-01-01' + INTERVAL {n} HOUR",
        # Bounds are cut to 16 characters; characters beyond the 16-bit plane sort after U+FFEE in UTF-8 only.
        "STRING": f"'{'p' * seed.choice((0, 15, 16, 20))}{seed.choice(('', 'é', chr(0xFFEE), chr(0x1F600)))}{n:05d}'",
        "BINARY": f"X'{n:06x}{'ff' * seed.choice((0, 16))}'",
        "BOOLEAN": seed.choice(("true", "false")),
    }[kind]


def insert(spark, table: str, seed: random.Random, kinds: dict[str, str], places: range, rows: int = 5) -> None:
    """Appends one file for each place, in one commit."""
    selects = []
    for place in places:
        values = (
            "("
            + ", ".join("NULL" if place == 3 and c in "ifs" else value(seed, k, place) for c, k in kinds.items())
            + ")"
            for _ in range(rows)
        )
        selects.append(f"SELECT * FROM VALUES {', '.join(values)}")
    spark.sql(f"INSERT INTO {table} {' UNION ALL '.join(selects)}")


def every_type(spark, seed: random.Random, name: str) -> str:
    columns = ", ".join(f"{column} {kind}" for column, kind in EVERY_TYPE.items())
    table = tables.create(spark, name, columns)
    insert(spark, table, seed, EVERY_TYPE, range(8))
    return table


def evolved(spark, seed: random.Random, name: str) -> str:
    """Columns that are promoted, renamed, dropped and added again, with a default position of files before."""
    kinds = {"i": "INT", "f": "FLOAT", "price": "DECIMAL(9, 2)", "s": "STRING", "gone": "BIGINT"}
    table = tables.create(spark, name, ", ".join(f"{column} {kind}" for column, kind in kinds.items()))
    insert(spark, table, seed, kinds, range(4))
    for change in (
        "ALTER COLUMN i TYPE BIGINT",
        "ALTER COLUMN f TYPE DOUBLE",
        "ALTER COLUMN price TYPE DECIMAL(20, 2)",
        "RENAME COLUMN s TO text",
        "DROP COLUMN gone",
        "ADD COLUMN gone BIGINT",
    ):
        spark.sql(f"ALTER TABLE {table} {change}")
    later = {"i": "BIGINT", "f": "DOUBLE", "price": "DECIMAL(9, 2)", "text": "STRING", "gone": "BIGINT"}
    insert(spark, table, seed, later, range(2, 6))
    return table


def partitioned(spark, seed: random.Random, name: str) -> str:
    """Every transform, two specs, and position deletes of whole files, of rows, and of partitions."""
    kinds = {"i": "INT", "s": "STRING", "at": "TIMESTAMP", "d": "DOUBLE"}
    props = {"write.delete.mode": "merge-on-read"}
    columns = ", ".join(f"{column} {kind}" for column, kind in kinds.items())
    table = tables.create(spark, name, columns, partitioned="bucket(2, i), truncate(3, s), days(at)", props=props)
    insert(spark, table, seed, kinds, range(3), rows=4)
    spark.sql(f"DELETE FROM {table} WHERE i % 3 = 0")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION FIELD days(at)")
    spark.sql(f"ALTER TABLE {table} ADD PARTITION FIELD d")
    insert(spark, table, seed, kinds, range(1, 3), rows=4)
    spark.sql(f"DELETE FROM {table} WHERE i % 5 = 0 OR d > 1.5")
    return table


@pytest.fixture(scope="module", params=[every_type, evolved, partitioned], ids=lambda made: made.__name__)
def table(request: pytest.FixtureRequest, base: Path) -> Table:
    """A random table with an index, read with PyIceberg."""
    from support import session

    spark = session.get()
    make: Callable[..., str] = request.param
    name = make(spark, random.Random(11), f"lake.readers.{make.__name__}")
    product.build(spark, name)
    return loaded(spark, name)


def test_random_filters_keep_the_files_that_pyiceberg_keeps_or_fewer(table: Table) -> None:
    values = differential.values_of(table)
    rows = differential.Rows(table)
    files = len(zonemap_pyiceberg.plan_files(table.scan()))
    kept, planned = 0, 0
    for number in range(EXPRESSIONS):
        seed = random.Random(number)
        expression = differential.random_expression(seed, table, values)
        try:
            _, ours, extra = differential.compare(table, expression, rows)
        except TypeError as error:
            # PyIceberg itself compares None with a literal in a partition of nulls
            assert "NoneType" in str(error), f"{number}: {expression}"
            continue
        # NaN is above all numbers for the index and for SQL, and for no comparison of PyIceberg
        assert not extra or "Than" in str(expression), f"{number}: {extra} files more: {expression}"
        kept, planned = kept + ours, planned + 1
    assert planned > EXPRESSIONS * 0.9
    assert 0.1 < kept / (planned * files) < 0.9


def test_a_plan_names_the_tasks_that_pyiceberg_names(table: Table) -> None:
    stock = list(table.scan().plan_files())
    ours = zonemap_pyiceberg.plan(table.scan())
    assert (ours.is_from_index, ours.data_files, len(ours.tasks)) == (True, len(stock), len(stock))
    rows = differential.Rows(table)
    assert differential.compare(table, AlwaysTrue(), rows) == (len(stock), len(stock), 0)
    assert any(task.delete_files for task in ours.tasks) == ("i_bucket" in str(table.spec()))


def test_a_snapshot_without_a_version_is_planned_by_pyiceberg(spark) -> None:
    name = tables.range_table(spark, "lake.readers.behind", files=4)
    product.build(spark, name)
    assert len(zonemap_pyiceberg.plan_files(loaded(spark, name).scan(row_filter=EqualTo("id", 11)))) == 1
    tables.append(spark, name, tables.ranges(1, 10, start=40), tables.RANGES_DDL)
    later = loaded(spark, name)
    plan = zonemap_pyiceberg.plan(later.scan(row_filter=GreaterThan("id", 38)))
    assert (plan.fallback, len(plan.tasks)) == (Fallback.NO_VERSION, 2)
    # the snapshot before still has its version
    before = later.metadata.snapshots[0].snapshot_id
    old = zonemap_pyiceberg.plan(later.scan(row_filter=GreaterThan("id", 35), snapshot_id=before))
    assert (old.is_from_index, len(old.tasks)) == (True, 1)
    product.call(spark, "refresh_index", name)
    assert zonemap_pyiceberg.plan(later.scan(row_filter=GreaterThan("id", 38))).is_from_index


def test_a_long_list_prunes_where_pyiceberg_reads_everything(spark) -> None:
    name = tables.range_table(spark, "lake.readers.long_list", files=8)
    product.build(spark, name)
    scan = loaded(spark, name).scan(row_filter=In("id", {*range(30, 40), *range(1000, 1300)}))
    assert len(list(scan.plan_files())) == 8
    assert len(zonemap_pyiceberg.plan_files(scan)) == 1


@pytest.mark.parametrize("unread", [False, True], ids=["footers read", "no footer read"])
def test_statistics_that_nothing_proves_leave_out_no_row(spark, unread: bool) -> None:
    """PyIceberg compares no bounds with a long list, so the index leaves out files only by statistics that are proven."""
    suffix = "_unread" if unread else ""
    nulls = imports.unknown_nulls(spark, f"reader_nulls{suffix}")
    times = imports.cut_times(spark, f"reader_times{suffix}")
    micros = [1700000000000000 + i * 1001 + i // 1000 * 1000000 for i in (*range(907, 4000, 1000), *range(9000, 9300))]
    moments = {(dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=m)).isoformat() for m in micros}
    for name, expression, planned in (
        (nulls, In("v", set(range(1000, 1300))), 4),
        (nulls, In("id", {*range(10), *range(1000, 1300)}), 4 if unread else 1),
        (times, In("ts", moments), 4),
        (times, In("id", {*range(10), *range(9000, 9300)}), 4 if unread else 1),
    ):
        table = loaded(spark, name)
        assert differential.compare(table, expression, differential.Rows(table))[:2] == (4, planned), expression


def test_inexact_codes_of_a_large_segment(spark) -> None:
    """More files than a dictionary of 120 boundaries tells apart, so that exact bounds decide."""
    files = 280
    name = tables.create(spark, "lake.readers.many", "id BIGINT, s STRING, d DOUBLE, m INT")
    rows = [[(i * 7919 % 6007, f"k{i * 31 % 997:04d}-{i}", i / 3, i)] for i in range(files)]
    tables.append(spark, name, rows, "id BIGINT, s STRING, d DOUBLE, m INT")
    product.build(spark, name)
    table = loaded(spark, name)
    rows_of = differential.Rows(table)
    values = differential.values_of(table)
    for number in range(25):
        expression = differential.random_expression(random.Random(1000 + number), table, values, depth=1)
        stock, ours, extra = differential.compare(table, expression, rows_of)
        assert not extra, f"{number}: {expression}"
        assert ours <= stock


def test_the_index_under_a_location_of_its_own(spark, base: Path) -> None:
    name = tables.range_table(spark, "lake.readers.elsewhere", files=3)
    with product.conf(spark, store_location=str(base / "indexes")):
        product.build(spark, name)
    scan = loaded(spark, name).scan(row_filter="id = 5")
    assert zonemap_pyiceberg.plan(scan).fallback is Fallback.NO_VERSION
    found = zonemap_pyiceberg.plan(scan, location=str(base / "indexes"))
    assert (found.is_from_index, len(found.tasks)) == (True, 1)


def test_tags_branches_and_old_snapshots(spark) -> None:
    name = tables.range_table(spark, "lake.readers.branched", files=4)
    product.build(spark, name)
    spark.sql(f"ALTER TABLE {name} CREATE TAG first")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH side")
    spark.sql(f"INSERT INTO {name}.branch_side SELECT * FROM {name} WHERE id < 10")
    spark.sql(f"DELETE FROM {name} WHERE id >= 20")
    product.call(spark, "refresh_index", name)
    table = loaded(spark, name)
    snapshots = {
        reference: table.metadata.snapshot_by_name(reference).snapshot_id for reference in ("first", "side", "main")
    }
    assert len(set(snapshots.values())) == 3
    for snapshot in snapshots.values():
        for text in ("id = 5", "id >= 20", "id < 35", "id is null"):
            scan = table.scan(row_filter=text, snapshot_id=snapshot)
            ours = {task.file.file_path for task in zonemap_pyiceberg.plan_files(scan)}
            assert ours == {task.file.file_path for task in scan.plan_files()}, text
    planned = {
        reference: zonemap_pyiceberg.plan(table.scan(row_filter="id = 25", snapshot_id=snapshot))
        for reference, snapshot in snapshots.items()
    }
    assert {reference: len(found.tasks) for reference, found in planned.items()} == {"first": 1, "side": 1, "main": 0}
    assert planned["first"].is_from_index and planned["main"].is_from_index
    assert planned["side"].fallback in {None, Fallback.NO_VERSION}


def test_plans_while_spark_appends_drops_the_index_and_collects_garbage(spark) -> None:
    """A plan is made of the snapshot that it was asked for, whatever becomes of the versions of others."""
    name = tables.range_table(spark, "lake.readers.busy", files=6)
    product.build(spark, name)
    first = loaded(spark, name)
    wanted = {text: plans_of(first, text) for text in ("id = 15", "id >= 30 AND id < 45", "id > -1")}
    assert [len(files) for files in wanted.values()] == [1, 2, 6]
    gc = f"CALL zonemap.system.collect_garbage(table => '{name}', dry_run => false, older_than_hours => 0)"
    expire = f"CALL lake.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP'2100-01-01 00:00:00')"
    spark.sql(f"ALTER TABLE {name} CREATE TAG first")
    collected = 0
    ended, planned, faults = threading.Event(), Counter[Fallback | None](), []

    def read() -> None:
        while not ended.is_set():
            for text, files in wanted.items():
                found = zonemap_pyiceberg.plan(first.scan(row_filter=text))
                planned[found.fallback] += 1
                if {task.file.file_path for task in found.tasks} != files:
                    faults.append((text, found.reason, len(found.tasks)))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(6):
            tables.append(spark, name, tables.ranges(2, 10, start=100 + 20 * turn), tables.RANGES_DDL)
            product.call(spark, "refresh_index", name)
            if turn == 3:
                product.call(spark, "drop_index", name, ", dry_run => false")
                product.build(spark, name)
            spark.sql(expire)
            collected += len(spark.sql(gc).collect())
    finally:
        ended.set()
        for reader in readers:
            reader.join(60)
    assert not faults
    assert planned[None] > 10 and planned[Fallback.NO_VERSION] and collected
    assert set(planned) <= {None, Fallback.NO_VERSION, Fallback.DAMAGED, Fallback.UNREADABLE}


def plans_of(table: Table, text: str) -> set[str]:
    """The files that PyIceberg itself plans."""
    return {task.file.file_path for task in table.scan(row_filter=text).plan_files()}
