# SPDX-License-Identifier: Apache-2.0
"""The index on an object store: exact requests, hashed data paths, and a store that vanishes or denies access."""

from __future__ import annotations

import pytest
from support import product, session, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on, assert_skips, explain
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

WHERE = "id BETWEEN 25 AND 31"
FOLDER = "_zonemaps_v2"


def make(spark, name: str) -> str:
    """Creates a table of 8 files with 10 rows each under hashed paths."""
    return tables.range_table(spark, f"s3.db.{name}", props={"write.object-storage.enabled": "true"})


def query(table: str) -> str:
    return f"SELECT id, s FROM {table} WHERE {WHERE}"


def manifests(requests: list) -> list:
    return [r for r in requests if r[1].endswith(".avro")]


def of_index(requests: list) -> list:
    return [r for r in requests if FOLDER in r[1] or r[1].startswith("/indexes")]


def check_rows(spark, table: str) -> None:
    rows = assert_rows_equal_off_on(spark, query(table))
    assert sorted(r.id for r in rows) == list(range(25, 32))


def test_life_of_an_index(spark, store) -> None:
    """Build, exact plan, hybrid plan and drop, with the store under the table's location."""
    table = make(spark, "life")
    files = tables.files(spark, table)
    assert len({file.split("/data/")[1].split("/")[0] for file in files}) > 1, "the data paths are not hashed"
    assert product.build(spark, table).data_files == 8
    held = store.keys("lake", f"db/life/{FOLDER}/")
    assert {key.rpartition("/")[2] == "latest" for key in held} == {True, False}
    assert_planned_by_index(spark, query(table), mode="EXACT")
    check_rows(spark, table)
    assert_skips(spark, table, WHERE, at_least=6)

    tables.append(spark, table, tables.ranges(1, 10, 80), tables.RANGES_DDL)
    assert_planned_by_index(spark, f"SELECT * FROM {table} WHERE id = 85", mode="HYBRID")
    assert len(assert_rows_equal_off_on(spark, f"SELECT * FROM {table} WHERE id = 85")) == 1
    assert spark._jvm.zonemap.spark.PlanningCounters.awaitUpkeep(30_000)
    assert product.status(spark, table).covered

    listed = product.drop(spark, table, dry_run=True)
    assert sorted(p.removeprefix("s3://lake/") for p in listed) == store.keys("lake", f"db/life/{FOLDER}/")
    assert product.drop(spark, table) == listed
    assert store.keys("lake", f"db/life/{FOLDER}/") == []
    check_rows(spark, table)


def but_for_the_list(requests: list) -> list:
    """Removes requests for the manifest list, which is read once per snapshot to verify the stored version."""
    return [(method, path) for method, path in requests if "/metadata/snap-" not in path]


def test_requests_of_plans(spark, store, s3_confs) -> None:
    """A fresh JVM reads the index and no manifest; the second plan sends no request at all."""
    table = make(spark, "requests")
    product.build(spark, table)
    spark = session.restart(s3_confs, ingest=True)
    with store.recording() as first:
        told = explain(spark, query(table))
    assert "mode EXACT tier cold" in told
    assert but_for_the_list(manifests(first)) == []
    reads = of_index(first)
    assert 0 < len(reads) <= 4, reads  # the version (size and bytes), its one segment
    assert {method for method, _ in first} <= {"GET", "HEAD"}
    with store.recording() as second:
        told = explain(spark, query(table))
    assert "mode EXACT tier hot" in told
    assert second == []
    with store.recording() as other:
        explain(spark, f"SELECT * FROM {table} WHERE s = 'k00042' OR m > 100")
    assert other == []
    with product.off(spark), store.recording() as stock:
        explain(spark, query(table))
    assert manifests(stock), "Iceberg reads manifests; a recorder that sees none proves nothing"
    check_rows(spark, table)


def test_a_cache_folder_outlives_the_driver(spark, store, s3_confs, tmp_path) -> None:
    """The next driver reads only the version; no plan requests the columns that prewarm has loaded."""
    table = make(spark, "cached")
    product.build(spark, table)
    cached = {**s3_confs, "spark.sql.zonemap.cold.cacheDir": str(tmp_path)}
    spark = session.restart(cached, ingest=True)
    with store.recording() as first:
        assert "mode EXACT tier cold" in explain(spark, query(table))
    assert any("/segments/" in path for _, path in of_index(first))
    assert product.status(spark, table).cold_disk_bytes > 0
    spark = session.restart(cached, ingest=True)
    with store.recording() as again:
        warmed = product.call(spark, "prewarm_index", table, ", columns => array('id', 's')")[0]
    assert warmed.segments == 1 and warmed.bytes > 0
    asked = of_index(again)
    assert asked and all("/versions/" in path for _, path in asked), asked
    with store.recording() as none:
        assert "mode EXACT tier hot" in explain(spark, query(table))
        explain(spark, f"SELECT * FROM {table} WHERE s = 'k00042'")
    assert none == []
    check_rows(spark, table)


def test_hybrid_reads_only_what_is_new(spark, store) -> None:
    """After an append, the plan reads only the new manifest; this JVM made the commit and has its manifest list."""
    table = make(spark, "hybrid")
    product.build(spark, table)
    tables.append(spark, table, tables.ranges(1, 10, 80), tables.RANGES_DDL)
    with product.conf(spark, upkeep="memory"):
        with store.recording() as requests:
            assert "mode HYBRID" in explain(spark, query(table))
        read = {path for _, path in manifests(requests) if "/snap-" not in path}
        assert len(read) == 1, read
        asked = of_index(requests)  # checks whether the store has an index of the new snapshot; it does not
        assert [method for method, _ in asked] == ["GET"], asked
        with store.recording() as requests:
            assert "mode EXACT tier hot" in explain(spark, query(table))
        assert requests == []


def test_store_vanishes(spark, store, s3_confs) -> None:
    """Another program removes parts of the index: during a session, and before the next session starts."""
    vanishing = {make(spark, f"vanish{i}"): part for i, part in enumerate(("/segments/", "/versions/", "/"))}
    for table, part in vanishing.items():
        product.build(spark, table)
        check_rows(spark, table)
        keys = [k for k in store.keys("lake", f"db/{table.rpartition('.')[2]}/{FOLDER}/") if part in k]
        assert keys
        store.delete("lake", keys)
        assert_planned_by_index(spark, query(table), mode="EXACT")  # from memory
        check_rows(spark, table)
    spark = session.restart(s3_confs, ingest=True)
    for table in vanishing:
        check_rows(spark, table)
        assert product.build(spark, table).data_files == 8
        assert_planned_by_index(spark, query(table), mode="EXACT")


def test_store_that_may_not_be_read(spark, store, s3_confs) -> None:
    """The store returns 403 for every object of the index: correct rows, a warning, and no failure."""
    table = make(spark, "unreadable")
    product.build(spark, table)
    spark = session.restart(s3_confs, ingest=True)
    mark = len(session.log_lines())
    with store.refusing(lambda method, path: FOLDER in path):
        check_rows(spark, table)
        check_rows(spark, table)
    warnings = [line for line in session.warnings_since(mark) if "unreadable" in line]
    assert 1 <= len(warnings) <= 2, warnings
    assert FOLDER in warnings[0]


def test_store_that_may_not_be_written(spark, store) -> None:
    """The store returns 403 for writes: CALL reports the location and a remedy; queries return correct rows."""
    table = make(spark, "unwritable")
    with store.refusing(lambda method, path: FOLDER in path and method in ("PUT", "POST")):
        with pytest.raises(Exception) as failed:
            product.build(spark, table)
        check_rows(spark, table)
    message = str(failed.value)
    assert "Cannot write the index store 's3://lake/warehouse/db/unwritable/_zonemaps_v2/" in message
    assert "spark.sql.zonemap.store.location" in message
    assert store.keys("lake", f"db/unwritable/{FOLDER}/") == []


def test_store_elsewhere(spark, store, s3_confs) -> None:
    """With store.location in another bucket, the table's bucket has no object of the index."""
    table = make(spark, "elsewhere")
    with product.conf(spark, store_location="s3://indexes/zonemap/"):
        assert product.build(spark, table).data_files == 8
        assert product.status(spark, table).store.startswith("s3://indexes/zonemap/")
    assert store.keys("lake", f"db/elsewhere/{FOLDER}") == []
    assert store.keys("indexes")
    spark = session.restart({**s3_confs, "spark.sql.zonemap.store.location": "s3://indexes/zonemap"}, ingest=True)
    with store.recording() as requests:
        assert "mode EXACT tier cold" in explain(spark, query(table))
    assert but_for_the_list(manifests(requests)) == []
    check_rows(spark, table)
    assert product.drop(spark, table)
    assert store.keys("indexes") == []


def test_store_in_a_missing_bucket(spark, store) -> None:
    """The bucket does not exist: the build reports a clear error, and queries work."""
    table = make(spark, "nowhere")
    with product.conf(spark, store_location="s3://no-such-bucket/zonemap"):
        with pytest.raises(Exception) as failed:
            product.build(spark, table)
        check_rows(spark, table)
    message = str(failed.value)
    assert "Cannot write the index store 's3://no-such-bucket/zonemap/" in message
    assert "spark.sql.zonemap.store.location" in message
