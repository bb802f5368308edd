# SPDX-License-Identifier: Apache-2.0
"""Appends with keys that reach the table's folder only and that expire: a REST catalog vends them with each table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from support import product, session
from support.faulty_proxy import faulty_proxy
from support.rest import Vending, rest_server
from support.s3 import KEY, REGION, Store
from support.session import STOCK

from zonemap.common.errors import ZonemapError
from zonemap.ingest import Writer, keys

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

ROOT = "_zonemap_ingest"
PROPERTY = "zonemap.ingest.root"
HOUR_MS = 3_600_000


class Lake:
    """A REST catalog over the S3 server, whose clients have no keys but those that it vends."""

    def __init__(self, store: Store, vending: Vending, url: str) -> None:
        self.store = store
        self.vending = vending
        self.url = url
        self.catalog = RestCatalog("lake", uri=url, **self.client("s3.region"))
        self.catalog.create_namespace("db")

    def client(self, region: str) -> dict[str, str]:
        """The properties with which a client reaches the S3 server; no key is among them."""
        return {"s3.endpoint": self.store.url, "s3.path-style-access": "true", region: REGION}

    def table(self, name: str, properties: dict[str, str] | None = None) -> str:
        schema = Schema(NestedField(1, "id", LongType()))
        self.catalog.create_table(f"db.{name}", schema, properties=properties or {})
        return f"lake.db.{name}"

    def keys_expire(self) -> None:
        """Ends the time of all keys that clients have."""
        self.store.temporary_keys.expire_all()

    def records(self, name: str) -> list[str]:
        return [key for key in self.store.keys("lake", f"/{name}/{ROOT}/") if key.endswith(".rec")]


@pytest.fixture(scope="module")
def lake(store: Store, base: Path) -> Iterator[Lake]:
    permanent = {"s3.access-key-id": KEY, "s3.secret-access-key": KEY, "client.region": REGION}
    properties = {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": store.url,
        "s3.path-style-access": "true",
        **permanent,
    }
    vending = Vending(store.temporary_keys)
    jars = [Path(jar).name for jar in (session.jar("iceberg-aws-bundle"), session.iceberg_jar())]
    with (
        rest_server(base / "vended", "s3://lake/vended", properties, jars) as server,
        faulty_proxy(server, vending) as (_, url),
    ):
        yield Lake(store, vending, url)


@pytest.fixture(params=["with a time", "without a time"])
def vended(request, lake: Lake) -> Lake:
    """The catalog, which gives keys as storage credentials and says when they expire, or does neither."""
    says = request.param == "with a time"
    lake.vending.as_credentials = says
    lake.vending.expires_at_ms = time.time_ns() // 1_000_000 + HOUR_MS if says else None
    return lake


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def test_the_default_root_names_the_remedy(vended: Lake) -> None:
    name = vended.table(f"default_{vended.vending.expires_at_ms is None}".lower())
    with pytest.raises(ZonemapError, match=f"property '{PROPERTY}' of the table to '{ROOT}'"):
        Writer(name, catalog=vended.catalog)


def test_a_writer_lives_longer_than_its_keys(vended: Lake) -> None:
    table = f"lived_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    # The table is not loaded again because of its age.
    with Writer(name, catalog=vended.catalog, lane="a", refresh_seconds=1e9) as writer:
        first = writer.write(rows(1, 2))
        vended.keys_expire()
        assert first.outcome() is None
        vended.keys_expire()
        second = writer.write(rows(3))
        vended.keys_expire()
        with pytest.raises(ZonemapError, match="a record in the spool names it"):
            writer.add_files(second.files)
        vended.keys_expire()
        assert writer.write(rows(3), seq=second.seq).duplicate
    assert len(vended.records(table)) == 2
    with Writer(name, catalog=vended.catalog, lane="a") as again:
        assert again.write(rows(4)).seq > second.seq
    assert len(vended.records(table)) == 3


def test_keys_are_renewed_before_they_expire(vended: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "seconds_of_use", lambda io: 0.0)
    table = f"renewed_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    late = vended.store.temporary_keys.late
    with Writer(name, catalog=vended.catalog, lane="a", refresh_seconds=1e9) as writer:
        for number in range(3):
            receipt = writer.write(rows(number))
            vended.keys_expire()
        writer.add_files(receipt.files, check_duplicates=False)
    assert len(vended.records(table)) == 4
    assert vended.store.temporary_keys.late == late


def test_an_append_fails_while_the_catalog_gives_no_new_keys(vended: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = f"denied_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    with Writer(name, catalog=vended.catalog, lane="a", refresh_seconds=1e9) as writer:
        writer.write(rows(1))
        vended.keys_expire()
        with monkeypatch.context() as patch:
            patch.setattr(vended.catalog, "load_table", _fails)
            with pytest.raises(ZonemapError, match="Cannot write the data files"):
                writer.write(rows(2))
        writer.write(rows(3))
    assert len(vended.records(table)) == 2


def _fails(*_: object) -> None:
    raise OSError("the catalog does not answer")


@pytest.fixture(scope="module")
def sql(on_s3: Callable[[], object], lake: Lake):
    """The session, with the catalog `vended`."""
    spark = on_s3()
    properties = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": lake.url,
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".s3.retry.num-retries": "0",
        **{f".{key}": value for key, value in lake.client("client.region").items()},
    }
    for key, value in properties.items():
        spark.conf.set(f"spark.sql.catalog.vended{key}", value)
    return spark


def ids(spark, table: str) -> list[int]:
    """The ids that Iceberg alone reads, with keys that it has just got."""
    with product.off(spark):
        spark.sql(f"REFRESH TABLE vended.db.{table}")
        return sorted(row.id for row in spark.sql(f"SELECT id FROM vended.db.{table}").collect())


def commit_all(spark, table: str) -> None:
    rows = product.call(spark, "ingest_commit", f"vended.db.{table}", ", timeout_seconds => 60")
    assert {row.outcome for row in rows} == {"committed"}


def test_spark_names_the_remedy_of_the_default_root(sql, vended: Lake) -> None:
    table = f"spark_default_{vended.vending.expires_at_ms is None}".lower()
    vended.table(table)
    for call in (lambda: product.call(sql, "ingest_commit", f"vended.db.{table}"), lambda: append(sql, table, 1)):
        with pytest.raises(Exception, match=f"table property {PROPERTY} to '{ROOT}'"):
            call()


def append(spark, table: str, *numbers: int) -> None:
    frame = spark.createDataFrame([(number,) for number in numbers], "id BIGINT")
    frame.coalesce(1).write.format("zonemap-ingest").mode("append").save(f"vended.db.{table}")


def append_by_name(spark, table: str, *numbers: int) -> None:
    frame = spark.createDataFrame([(number,) for number in numbers], "id BIGINT")
    frame.coalesce(1).writeTo(f"vended.db.{table}").option("zonemap-ingest", "true").append()


def test_batches_and_calls_of_a_session_that_lives_longer_than_its_keys(sql, vended: Lake) -> None:
    table = f"batches_{vended.vending.expires_at_ms is None}".lower()
    vended.table(table, {PROPERTY: ROOT})
    for number, write in enumerate((append, append_by_name, append, append_by_name)):
        write(sql, table, number)
        vended.keys_expire()
        commit_all(sql, table)
        vended.keys_expire()
    assert product.call(sql, "ingest_status", f"vended.db.{table}")[0].pending_records == 0
    assert ids(sql, table) == [0, 1, 2, 3]
    assert vended.records(table) == []


@pytest.mark.parametrize("by_name", [False, True])
def test_a_stream_that_lives_longer_than_its_keys(sql, vended: Lake, tmp_path: Path, by_name: bool) -> None:
    table = f"stream_{by_name}_{vended.vending.expires_at_ms is None}".lower()
    vended.table(table, {PROPERTY: ROOT})
    source = tmp_path / "source"
    source.mkdir()
    writer = sql.readStream.schema("id BIGINT").json(str(source)).writeStream
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    if by_name:
        query = writer.option("zonemap-ingest", "true").toTable(f"vended.db.{table}")
    else:
        query = writer.format("zonemap-ingest").start(f"vended.db.{table}")
    try:
        for number in range(3):
            (source / f"{number}.json").write_text(json.dumps({"id": number}))
            query.processAllAvailable()
            vended.keys_expire()
    finally:
        query.stop()
    commit_all(sql, table)
    assert ids(sql, table) == [0, 1, 2]


def test_a_committer_that_lives_longer_than_its_keys(sql, vended: Lake) -> None:
    table = f"loop_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    with product.raw_conf(sql, {"spark.sql.zonemap.ingest.interval": "200ms"}):
        product.call(sql, "ingest_start", f"vended.db.{table}")
    try:
        with Writer(name, catalog=vended.catalog, lane="a") as writer:
            for number in range(4):
                assert writer.write(rows(number)).wait(60).visible
                vended.keys_expire()
    finally:
        product.call(sql, "ingest_stop", f"vended.db.{table}")
    # The keys may have expired between the last commit and the removal of its record, which the next pass repeats.
    product.call(sql, "ingest_commit", f"vended.db.{table}")
    assert ids(sql, table) == [0, 1, 2, 3]
    assert vended.records(table) == []


def test_a_removal_of_orphan_files_passes_over_the_queue(sql, vended: Lake) -> None:
    """Of Iceberg, with an age at which each file that is not known would be removed."""
    table = f"orphans_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    with Writer(name, catalog=vended.catalog, lane="a") as writer:
        writer.write(rows(1))
        commit_all(sql, table)
        pending = writer.write(rows(2))
    folder = pending.record.split(f"/{ROOT}/")[0].removeprefix("s3://lake/")
    for orphan in ("data/orphan.parquet", "queue/orphan.json"):
        vended.store.client.put_object(Bucket="lake", Key=f"{folder}/{orphan}", Body=b"x")
    queue = vended.store.keys("lake", f"{folder}/{ROOT}/")
    assert any(key.endswith("queue-id.json") for key in queue) and any("/owner/" in key for key in queue)
    removed = orphans_removed(sql, f"vended.db.{table}", prefix_listing=True)
    assert {location.rpartition("/")[2] for location in removed} == {
        "orphan.parquet",
        "orphan.json",
        pending.files[0].rpartition("/")[2],
    }
    assert vended.store.keys("lake", f"{folder}/{ROOT}/") == queue


def orphans_removed(spark, table: str, *, prefix_listing: bool) -> list[str]:
    jvm = spark._jvm
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    action = jvm.org.apache.iceberg.spark.actions.SparkActions.get(spark._jsparkSession).deleteOrphanFiles(loaded)
    action = action.olderThan(time.time_ns() // 1_000_000 + HOUR_MS).usePrefixListing(prefix_listing)
    return list(action.execute().orphanFileLocations())


def test_a_copy_does_not_take_over_a_queue_in_the_folder_that_it_shares(sql, vended: Lake) -> None:
    table = f"original_{vended.vending.expires_at_ms is None}".lower()
    name = vended.table(table, {PROPERTY: ROOT})
    with Writer(name, catalog=vended.catalog, lane="a") as writer:
        writer.write(rows(1))
        metadata = vended.catalog.load_table(f"db.{table}").metadata_location
        sql.sql(f"CALL vended.system.register_table('db.copy_of_{table}', '{metadata}')")
        (result,) = product.call(sql, "ingest_commit", f"vended.db.copy_of_{table}")
        assert (result.outcome, "other-entry" in str(result)) == ("stopped", True), result
        with pytest.raises(ZonemapError, match="belongs to the table"):
            Writer(f"lake.db.copy_of_{table}", catalog=vended.catalog)
    commit_all(sql, table)
    assert ids(sql, table) == [1]
    assert ids(sql, f"copy_of_{table}") == []
