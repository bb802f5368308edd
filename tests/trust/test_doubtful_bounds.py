# SPDX-License-Identifier: Apache-2.0
"""Bounds that do not describe the values that readers return, or are not extremes: rows must equal Iceberg's rows.

Imports (`add_files`) set a name mapping; readers then find the columns of files without field ids by name, read a
timestamp in another unit than the manifest's, and take a partition column from the folder's name.
"""

from __future__ import annotations

import struct

import pytest
from support import iceberg_api, plans, product, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows, explain
from support.imports import import_files
from support.session import STOCK


@pytest.fixture(scope="module")
def millis(base, tmp_path_factory) -> str:
    """Ten files whose timestamps are stored in milliseconds, with one row per hour; and a table of keys to join."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("millis")
    with product.raw_conf(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        for i in range(10):
            spark.sql(
                f"SELECT id, timestamp_seconds(1700000000 + id * 3600) AS ts FROM range({i * 20}, {i * 20 + 20}, 1, 1)"
            ).write.mode("append").parquet(str(folder))
    spark.sql("CREATE TABLE lake.trust.keys (k TIMESTAMP, v INT) USING iceberg")
    spark.sql(
        "INSERT INTO lake.trust.keys SELECT timestamp_seconds(1700000000 + id * 3600), CAST(id AS INT) "
        "FROM (SELECT explode(array(5, 150)) AS id)"
    )
    return import_files(spark, "lake.trust.millis", folder, "id BIGINT, ts TIMESTAMP")


MILLIS_QUERIES = (
    "SELECT id, ts FROM {t} ORDER BY ts LIMIT 3",
    "SELECT id, ts FROM {t} ORDER BY ts DESC LIMIT 3",
    "SELECT id FROM {t} WHERE id >= 10 ORDER BY ts DESC LIMIT 3 OFFSET 2",
    "SELECT min(ts), max(ts) FROM {t} WHERE id >= 0",
    "SELECT count(*) FROM {t} WHERE date_format(ts, 'yyyy-MM-dd') = '2023-11-20'",
    "SELECT count(*) FROM {t} WHERE year(ts) = 2023",
    "SELECT count(*) FROM {t} WHERE date_trunc('DAY', ts) = TIMESTAMP '2023-11-20 00:00:00'",
    "SELECT count(*) FROM {t} WHERE unix_timestamp(ts) > 1700300000",
    "SELECT id FROM {t} JOIN lake.trust.keys ON ts = k",
    "SELECT /*+ BROADCAST(keys) */ id FROM {t} JOIN lake.trust.keys ON ts = k WHERE v > 10",
    "SELECT v, id FROM lake.trust.keys LEFT JOIN {t} ON ts = k",
    "SELECT id FROM {t} WHERE ts IN (SELECT k FROM lake.trust.keys)",
    "SELECT count(*) FROM {t} WHERE ts > TIMESTAMP '2023-11-18 00:00:00'",
    "SELECT count(ts), count(*) FROM {t} WHERE id < 100",
    "SELECT id FROM {t} WHERE ts IS NOT NULL AND coalesce(ts, current_timestamp()) > TIMESTAMP '2023-11-21 00:00:00'",
)


@pytest.mark.parametrize("query", MILLIS_QUERIES)
def test_timestamps_imported_in_milliseconds(spark, millis, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=millis))


@pytest.mark.skipif(STOCK, reason="about the product")
@pytest.mark.parametrize(
    "command",
    [
        "MERGE INTO {t} t USING lake.trust.keys s ON t.ts = s.k WHEN MATCHED THEN UPDATE SET id = -s.v "
        "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (s.v, s.k)",
        "DELETE FROM {t} WHERE ts IN (SELECT k FROM lake.trust.keys)",
        "UPDATE {t} SET id = -1 WHERE ts IN (SELECT k FROM lake.trust.keys)",
    ],
)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_commands_on_timestamps_imported_in_milliseconds(
    spark, base, millis, tmp_path, command: str, mode: str
) -> None:
    name = f"{command.split(maxsplit=1)[0]}_{mode}".replace("-", "_").lower()
    found = {}
    for switch in ("false", "true"):
        table = f"lake.trust.{name}_{switch}"
        folder = tmp_path / switch
        with product.raw_conf(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
            spark.table(millis).repartitionByRange(8, "id").write.parquet(str(folder))
        import_files(spark, table, folder, "id BIGINT, ts TIMESTAMP")
        for kind in ("delete", "update", "merge"):
            spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.{kind}.mode' = '{mode}')")
        with product.conf(spark, enabled=switch):
            spark.sql(command.format(t=table))
        with product.off(spark):
            found[switch] = spark.sql(f"SELECT id, ts FROM {table}").collect()
    assert_same_rows(found["true"], found["false"], command)


@pytest.mark.skipif(STOCK, reason="about the product")
def test_facts_prune_imported_files(spark, base, millis, tmp_path) -> None:
    """Facts come from the values that readers return, so facts prune even if bounds are doubtful."""
    folder = tmp_path / "facts"
    with product.raw_conf(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        spark.table(millis).repartitionByRange(8, "id").write.parquet(str(folder))
    table = import_files(spark, "lake.trust.with_facts", folder, "id BIGINT, ts TIMESTAMP")
    product.call(spark, "build_index", table, ", facts => 'bounds(ts), bounds(id)'")
    day = f"SELECT id FROM {table} WHERE date_format(ts, 'yyyy-MM-dd') = '2023-11-20'"
    assert len(assert_rows_equal_off_on(spark, day)) == 24
    late = f"SELECT id FROM {table} WHERE unix_timestamp(ts) >= {1700000000 + 190 * 3600}"
    assert len(assert_rows_equal_off_on(spark, late)) == 10
    assert len(plans.planned_files(spark.sql(late))) == 1


MOVED_QUERIES = (
    "SELECT count(a2), max(a2), min(a2) FROM {t} WHERE id >= 0",
    "SELECT id, a2 FROM {t} ORDER BY a2 DESC, id LIMIT 3",
    "SELECT id, a FROM {t} ORDER BY a DESC, id LIMIT 3",
    "SELECT count(*) FROM {t} WHERE coalesce(a2, -1) = -1",
    "SELECT count(*) FROM {t} WHERE a + 1 = 8",
    "SELECT count(*) FROM {t} WHERE a = 7",
    "SELECT a, count(*) FROM {t} WHERE id < 50 GROUP BY a",
    "SELECT id FROM {t} WHERE a IN (SELECT id FROM {t} WHERE id < 3)",
    "SELECT count(*) FROM (SELECT id FROM {t} WHERE a > 10 LIMIT 5)",
)


@pytest.fixture(scope="module")
def moved(base, tmp_path_factory) -> str:
    """A table whose name mapping now maps the files' column `a` to another field than at the import."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("moved")
    for i in range(10):
        spark.sql(f"SELECT id, CAST(id AS INT) AS a FROM range({i * 10}, {i * 10 + 10}, 1, 1)").write.mode(
            "append"
        ).parquet(str(folder))
    table = import_files(spark, "lake.trust.moved", folder, "id BIGINT, a INT", footers=0)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN a TO a2")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN a INT")
    spark.sql(f"INSERT INTO {table} SELECT id, 500 + CAST(id AS INT), -5 FROM range(1000, 1010, 1, 1)")
    if not STOCK:
        product.call(spark, "refresh_index", table, ", footers => 0")
    return table


@pytest.mark.parametrize("query", MOVED_QUERIES)
def test_a_name_mapping_that_moved(spark, moved, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=moved))


@pytest.fixture(scope="module")
def unmapped(base, tmp_path_factory) -> str:
    """Files whose columns are in another order than the table's, without the name mapping of the import: readers find
    the columns by position, but the manifest has bounds by name."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("unmapped")
    for i in range(6):
        spark.sql(f"SELECT id + 100 AS b, id AS a FROM range({i * 10}, {i * 10 + 10}, 1, 1)").write.mode(
            "append"
        ).parquet(str(folder))
    spark.sql("CREATE TABLE lake.trust.unmapped (a BIGINT, b BIGINT) USING iceberg")
    spark.sql(f"CALL lake.system.add_files(table => 'trust.unmapped', source_table => '`parquet`.`{folder}`')")
    spark.sql("ALTER TABLE lake.trust.unmapped UNSET TBLPROPERTIES ('schema.name-mapping.default')")
    product.build(spark, "lake.trust.unmapped")
    return "lake.trust.unmapped"


UNMAPPED_QUERIES = (
    "SELECT * FROM {t} WHERE a + 1 = 101",
    "SELECT * FROM {t} WHERE abs(b) = 30",
    "SELECT * FROM {t} WHERE coalesce(a, 130) = 130",
    "SELECT a FROM {t} WHERE a <= 130 ORDER BY a DESC LIMIT 3",
    "SELECT count(*) FROM (SELECT * FROM {t} WHERE b >= 59 LIMIT 2)",
    "SELECT a FROM {t} ORDER BY a LIMIT 2",
)


@pytest.mark.parametrize("query", UNMAPPED_QUERIES)
def test_a_name_mapping_that_was_removed(spark, unmapped, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=unmapped))


@pytest.mark.skipif(STOCK, reason="about the product")
def test_files_that_an_engine_wrote_into_a_mapped_table_are_pruned(spark, moved) -> None:
    """The inserted file has field ids, so a condition on a function prunes it; the imported files are kept."""
    query = f"SELECT id FROM {moved} WHERE a2 + 1 = 3"
    assert len(plans.planned_files(spark.sql(query))) == 10
    assert product.status(spark, moved).bounds == "extremes=1 valid=0 doubtful=10"
    assert "bounds of 10 files prune only by Iceberg's own filter" in explain(spark, query)


PARTITION_QUERIES = (
    "SELECT id, p FROM {t} ORDER BY p DESC, id LIMIT 3",
    "SELECT id, p FROM {t} WHERE p >= 2 ORDER BY id LIMIT 3",
    "SELECT count(*) FROM {t} WHERE p + 1 = 3",
    "SELECT count(*) FROM {t} WHERE p = 3",
    "SELECT a.id FROM {t} a JOIN {t} b ON a.p = b.p AND b.id = 45",
    "SELECT id FROM {t} WHERE p IN (SELECT p FROM {t} WHERE id = 45)",
    "SELECT p, count(*), min(id), max(id) FROM {t} GROUP BY p",
    "SELECT min(p), max(p) FROM {t} WHERE id >= 0",
    "SELECT count(*), min(p > 1) FROM (SELECT p FROM {t} WHERE p > 1 LIMIT 30)",
    "SELECT count(*) FROM {t} WHERE p % 2 = 1",
)


@pytest.fixture(scope="module")
def folders(base, tmp_path_factory) -> str:
    """Six folders `p=n` whose files have `p` = n + 1: the partition tuples disagree with the files' bounds."""
    from support import session

    spark = session.get()
    folder = tmp_path_factory.mktemp("hive")
    for p in range(6):
        spark.sql(f"SELECT id, CAST({p + 1} AS INT) AS p FROM range({p * 20}, {p * 20 + 20}, 1, 1)").write.parquet(
            str(folder / f"p={p}")
        )
    spark.sql("CREATE TABLE lake.trust.folders (id BIGINT, p INT) USING iceberg PARTITIONED BY (p)")
    spark.sql(f"CALL lake.system.add_files(table => 'trust.folders', source_table => '`parquet`.`{folder}`')")
    product.build(spark, "lake.trust.folders")
    return "lake.trust.folders"


@pytest.mark.parametrize("query", PARTITION_QUERIES)
def test_a_folder_of_another_value(spark, folders, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=folders))


@pytest.fixture(scope="module")
def forged_partition(base) -> str:
    """Like `folders`, but written without a name mapping: the column's bounds do not contain the tuple's value."""
    from support import session

    spark = session.get()
    table = "lake.trust.forged_partition"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) USING iceberg PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, CAST(id DIV 20 AS INT) FROM range(120)")

    def edit(path: str, metrics: iceberg_api.Metrics) -> None:
        p = int(path.split("/p=")[1].split("/", maxsplit=1)[0])
        metrics.bounds("p", struct.pack("<i", p + 1), struct.pack("<i", p + 1))

    iceberg_api.forge_metrics(spark, table, edit)
    product.build(spark, table)
    return table


@pytest.mark.parametrize("query", PARTITION_QUERIES)
def test_bounds_that_miss_the_partition_value(spark, forged_partition, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=forged_partition))


LOOSE_QUERIES = (
    "SELECT max(x), min(x) FROM {t} WHERE id < 50",
    "SELECT p, max(x) FROM {t} GROUP BY p",
    "SELECT max(ts) FROM {t} WHERE id < 73",
    "SELECT id, x FROM {t} ORDER BY x DESC LIMIT 3",
    "SELECT count(*) FROM {t} WHERE x <> 30",
    "SELECT x FROM {t} WHERE x % 7 = 3",
    "SELECT count(*), min(x >= 300) FROM (SELECT x FROM {t} WHERE x >= 300 LIMIT 15)",
)


@pytest.fixture(scope="module")
def loose(base) -> str:
    """Valid bounds that are wider than the values, as other engines may write."""
    from support import session

    spark = session.get()
    table = "lake.trust.loose"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, x BIGINT, ts TIMESTAMP, p INT) USING iceberg PARTITIONED BY (p)")
    for i in range(10):
        spark.sql(
            f"INSERT INTO {table} SELECT id, id * 10, timestamp_micros(1700000000000000 + id * 1234567), {i % 2} "
            f"FROM range({i * 10}, {i * 10 + 10}, 1, 1)"
        )

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        for column in ("x", "ts"):
            field = metrics.field_id(column)
            lower, upper = (
                struct.unpack("<q", bytes(held.get(field).array()))[0] for held in (metrics.lower, metrics.upper)
            )
            metrics.bounds(column, struct.pack("<q", lower - 7), struct.pack("<q", upper + 7))

    iceberg_api.forge_metrics(spark, table, edit)
    product.build(spark, table)
    return table


@pytest.mark.parametrize("query", LOOSE_QUERIES)
def test_bounds_that_are_no_extremes(spark, loose, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=loose))


@pytest.mark.skipif(STOCK, reason="about the product")
def test_extremes_of_files_that_spark_wrote_are_answered_from_the_index(spark, base) -> None:
    table = tables.range_table(spark, "lake.trust.native")
    product.build(spark, table)
    query = f"SELECT max(id), min(id) FROM {table} WHERE id >= 0"
    assert_rows_equal_off_on(spark, query)
    assert "answered from the index" in "\n".join(r[0] for r in spark.sql(f"EXPLAIN {query}").collect())
