# SPDX-License-Identifier: Apache-2.0
"""The life of an index in every kind of catalog in one session, and commits by another engine."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest
from support import product, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, assert_skips, files_off_on
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

WHERE = "id BETWEEN 25 AND 31"
TABLE_CLASSES = {
    "lake.db.t": "BaseTable",
    "hdfs.db.t": "BaseTable",
    "jdbc.db.t": "BaseTable",
    "rest.db.t": "BaseTable",
    "hive.db.t": "BaseTable",
    "spark_catalog.db.t": "BaseTable",
}


def make(spark, table: str) -> str:
    """Creates a table of 8 files with 10 rows each; ids ascend by file."""
    catalog, namespace, _ = table.split(".")
    if catalog != "spark_catalog":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.{namespace}")
    else:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    return tables.range_table(spark, table)


def life(spark, read: str, call: str, append) -> None:
    """Tests the life of an index: build, exact plan, append by Spark, hybrid plan, refresh, status, drop.

    `read` is the relation for FROM; `call` is the table name for the procedures.
    """
    sql = f"SELECT * FROM {read} WHERE {WHERE}"
    built = product.build(spark, call)
    assert (built.data_files, built.segments) == (8, 1)
    assert_planned_by_index(spark, sql, mode="EXACT")
    rows = assert_rows_equal_off_on(spark, sql, at_least=7)
    assert sorted(row.id for row in rows) == list(range(25, 32))
    theirs, ours = files_off_on(spark, sql)
    assert ours == theirs
    assert_skips(spark, read, WHERE, at_least=6)

    append()
    later = f"SELECT * FROM {read} WHERE {WHERE} OR id = 85"
    assert_planned_by_index(spark, later, mode="HYBRID")
    rows = assert_rows_equal_off_on(spark, later)
    assert sorted(row.id for row in rows) == [*range(25, 32), 85]
    assert_skips(spark, read, "id = 85", at_least=8)

    assert product.refresh(spark, call).data_files == 9
    status = product.status(spark, call)
    assert (status.covered, status.lag_snapshots, status.data_files) == (True, 0, 9)
    listed = product.drop(spark, call, dry_run=True)
    assert any(path.endswith("/latest") for path in listed)
    assert product.drop(spark, call) == listed
    assert product.drop(spark, call) == []
    assert_rows_equal_off_on(spark, later, at_least=8)


@pytest.mark.parametrize("table", list(TABLE_CLASSES))
def test_life_of_an_index(catalogs, table: str) -> None:
    """Every catalog has one table, and all tables are used in one session."""
    make(catalogs, table)
    assert tables.java_table(catalogs, table).getClass().getSimpleName() == TABLE_CLASSES[table]
    life(catalogs, table, table, lambda: tables.append(catalogs, table, tables.ranges(1, 10, 80), tables.RANGES_DDL))


def test_same_name_in_two_catalogs(catalogs) -> None:
    """Tables with equal names in two catalogs have separate indexes."""
    for table, start in (("lake.twin.t", 0), ("jdbc.twin.t", 1000)):
        catalogs.sql(f"CREATE NAMESPACE IF NOT EXISTS {table.rpartition('.')[0]}")
        tables.create(catalogs, table, tables.RANGES_DDL)
        tables.append(catalogs, table, tables.ranges(4, 10, start), tables.RANGES_DDL)
        product.build(catalogs, table)
    sql = "SELECT id FROM {} WHERE id IN (5, 1005)"
    assert [r.id for r in assert_rows_equal_off_on(catalogs, sql.format("lake.twin.t"))] == [5]
    assert [r.id for r in assert_rows_equal_off_on(catalogs, sql.format("jdbc.twin.t"))] == [1005]
    assert_planned_by_index(
        catalogs, "SELECT a.id FROM lake.twin.t a JOIN jdbc.twin.t b ON a.id = b.id - 1000 WHERE a.id = 5", scans=2
    )


@pytest.fixture
def path_table(catalogs, base: Path) -> Iterator[str]:
    """A table of Iceberg's HadoopTables, which no catalog contains."""
    location = str(base / "paths" / "t")
    jvm = catalogs._jvm
    make(catalogs, "lake.db.model")
    schema = tables.java_table(catalogs, "lake.db.model").schema()
    found = jvm.org.apache.iceberg.hadoop.HadoopTables(catalogs.sparkContext._jsc.hadoopConfiguration())
    properties = jvm.java.util.HashMap()
    for key, value in {"format-version": "2", **tables.ONE_FILE_A_TASK}.items():
        properties.put(key, value)
    found.create(schema, jvm.org.apache.iceberg.PartitionSpec.unpartitioned(), properties, location)
    yield location


def append_to_path(spark, location: str, slices) -> None:
    tables.sliced(spark, slices, tables.RANGES_DDL).write.format("iceberg").mode("append").save(location)


def view_of(spark, location: str) -> str:
    """Creates a view of the table's current state, because a table that only its path identifies has no name in SQL."""
    spark.read.format("iceberg").load(location).createOrReplaceTempView("by_path")
    return "by_path"


def test_path_table(catalogs, path_table: str) -> None:
    """The first query indexes a table that only its path identifies; CALL fails, because the table has no name."""
    append_to_path(catalogs, path_table, tables.ranges(8, 10))
    sql = f"SELECT * FROM {view_of(catalogs, path_table)} WHERE {WHERE} OR id = 85"
    assert_planned_by_index(catalogs, sql, mode="EXACT")
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == list(range(25, 32))
    assert_skips(catalogs, "by_path", WHERE, at_least=6)
    append_to_path(catalogs, path_table, tables.ranges(1, 10, 80))
    view_of(catalogs, path_table)
    assert_planned_by_index(catalogs, sql, mode="HYBRID")
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == [*range(25, 32), 85]
    assert not product.store_folder(path_table).exists()
    with pytest.raises(Exception, match="Name an existing Iceberg table"):
        product.build(catalogs, f"lake.`{path_table}`")


def test_catalog_table_by_its_path(catalogs) -> None:
    """An index built under the catalog's name also serves load(path)."""
    table = make(catalogs, "lake.db.named")
    product.build(catalogs, table)
    location = tables.location(catalogs, table)
    with product.conf(catalogs, upkeep="off"):
        sql = f"SELECT * FROM {view_of(catalogs, location)} WHERE {WHERE}"
        assert_planned_by_index(catalogs, sql, mode="EXACT")
        assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == list(range(25, 32))


def test_pyiceberg_appends(catalogs, sqlite: Path, base: Path) -> None:
    """Another engine commits through the JDBC catalog: the index plans the next query, which returns the new rows."""
    from pyiceberg.catalog.sql import SqlCatalog

    table = make(catalogs, "jdbc.foreign.t")
    product.build(catalogs, table)
    assert_planned_by_index(catalogs, f"SELECT * FROM {table} WHERE {WHERE}", mode="EXACT")
    metadata = {path.name for path in (base / "jdbc" / "foreign" / "t").iterdir()}

    theirs = SqlCatalog("jdbc", uri=f"sqlite:///{sqlite}", warehouse=f"file://{base / 'jdbc'}")
    loaded = theirs.load_table("foreign.t")
    ids = list(range(5000, 5010))
    loaded.append(
        pyarrow.table(
            {
                "id": pyarrow.array(ids, pyarrow.int64()),
                "s": [f"p{i}" for i in ids],
                "d": [i / 2 for i in ids],
                "m": pyarrow.array([i % 10 for i in ids], pyarrow.int32()),
            }
        )
    )
    # A caching catalog shows other engines' commits after REFRESH, with and without the index
    catalogs.sql(f"REFRESH TABLE {table}")
    sql = f"SELECT id, s FROM {table} WHERE id >= 75"
    assert_planned_by_index(catalogs, sql, mode="HYBRID")
    rows = assert_rows_equal_off_on(catalogs, sql)
    assert sorted((r.id, r.s) for r in rows) == [
        *((i, f"k{i:05d}") for i in range(75, 80)),
        *((i, f"p{i}") for i in ids),
    ]
    assert_skips(catalogs, table, "id = 5003", at_least=8)

    # the other engine also keeps working on a table that has an index, deletes included
    loaded = theirs.load_table("foreign.t")
    loaded.delete("id >= 5005")
    assert sorted(theirs.load_table("foreign.t").scan(row_filter="id >= 75").to_arrow()["id"].to_pylist()) == [
        *range(75, 80),
        *range(5000, 5005),
    ]
    catalogs.sql(f"REFRESH TABLE {table}")
    assert_planned_by_index(catalogs, sql)
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == [*range(75, 80), *range(5000, 5005)]
    assert {path.name for path in (base / "jdbc" / "foreign" / "t").iterdir()} == metadata


def test_two_followers_index_what_another_engine_commits(catalogs, sqlite: Path, base: Path) -> None:
    """Two followers index another engine's commits without conflict; this application runs no query and no write."""
    from pyiceberg.catalog.sql import SqlCatalog

    from zonemap.index import follow

    table = make(catalogs, "jdbc.foreign.followed")
    product.build(catalogs, table)
    stop, lines = threading.Event(), []
    arguments = {"every_seconds": 0.1, "stop": stop, "report": lines.append}
    followers = [threading.Thread(target=follow.follow, args=(catalogs, [table]), kwargs=arguments) for _ in range(2)]
    for follower in followers:
        follower.start()
    try:
        theirs = SqlCatalog("jdbc", uri=f"sqlite:///{sqlite}", warehouse=f"file://{base / 'jdbc'}")
        for first in (6000, 6010):
            loaded = theirs.load_table("foreign.followed")
            ids = pyarrow.array(range(first, first + 10), pyarrow.int64())
            names = [f"p{i}" for i in range(first, first + 10)]
            tens = pyarrow.array([1] * 10, pyarrow.int32())
            loaded.append(pyarrow.table({"id": ids, "s": names, "d": [0.5] * 10, "m": tens}))
            committed = theirs.load_table("foreign.followed").current_snapshot().snapshot_id
            deadline = time.monotonic() + 60
            while not any(f"snapshot {committed}," in line for line in lines):
                assert time.monotonic() < deadline, lines
                time.sleep(0.05)
    finally:
        stop.set()
        for follower in followers:
            follower.join()
    assert not any("rror" in line or "xception" in line for line in lines), "\n".join(lines)
    catalogs.sql(f"REFRESH TABLE {table}")
    sql = f"SELECT id FROM {table} WHERE id >= 6005 AND id < 6012"
    assert_planned_by_index(catalogs, sql, mode="EXACT")
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == list(range(6005, 6012))


def test_a_table_whose_location_changes(catalogs, base: Path) -> None:
    """The index stays at the old location; the index in memory remains usable, and a new build uses a new folder."""
    table = make(catalogs, "jdbc.moved.t")
    product.build(catalogs, table)
    before = tables.location(catalogs, table)
    catalogs.sql(f"ALTER TABLE {table} SET LOCATION '{base / 'jdbc' / 'elsewhere'}'")
    sql = f"SELECT * FROM {table} WHERE {WHERE} OR id = 85"
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == list(range(25, 32))
    assert_planned_by_index(catalogs, sql)
    tables.append(catalogs, table, tables.ranges(1, 10, 80), tables.RANGES_DDL)
    assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == [*range(25, 32), 85]
    assert_planned_by_index(catalogs, sql)
    assert product.build(catalogs, table).data_files == 9
    after = tables.location(catalogs, table)
    assert after != before
    assert product.store_files(after) and product.store_files(before)
    assert_skips(catalogs, table, "id = 85", at_least=8)


def test_a_copy_with_rewritten_paths(catalogs, base: Path) -> None:
    """rewrite_table_path keeps the uuid and the snapshot ids; queries on the copy must read the copy's files."""
    table = make(catalogs, "jdbc.copied.t")
    product.build(catalogs, table)
    assert_planned_by_index(catalogs, f"SELECT * FROM {table} WHERE {WHERE}", mode="EXACT")
    source, target = tables.location(catalogs, table), str(base / "jdbc" / "the_copy")
    result = catalogs.sql(
        f"CALL jdbc.system.rewrite_table_path(table => '{table}', source_prefix => '{source}', target_prefix => '{target}')"
    ).collect()[0]
    moves = Path(result.file_list_location.removeprefix("file:"))
    for part in sorted(moves.rglob("part-*")) if moves.is_dir() else [moves]:
        for line in part.read_text().splitlines():
            old, new = (Path(p.removeprefix("file:")) for p in line.split(","))
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(old, new)
    catalogs.sql(
        f"CALL jdbc.system.register_table(table => 'copied.copy', "
        f"metadata_file => '{target}/metadata/{result.latest_version}')"
    )
    where = f"{WHERE} OR id = 5"
    theirs, ours = files_off_on(catalogs, f"SELECT * FROM jdbc.copied.copy WHERE {where}")
    assert ours == theirs
    assert all(path.removeprefix("file:").startswith(target) for path in ours)
    assert product.build(catalogs, "jdbc.copied.copy").data_files == 8
    for name, folder in (("jdbc.copied.copy", target), (table, source)):
        sql = f"SELECT * FROM {name} WHERE {where}"
        assert sorted(r.id for r in assert_rows_equal_off_on(catalogs, sql)) == [5, *range(25, 32)]
        assert_planned_by_index(catalogs, sql)
        _, files = files_off_on(catalogs, sql)
        assert len(files) == 3 and all(
            path.removeprefix("file:").startswith(folder.removeprefix("file:")) for path in files
        )
