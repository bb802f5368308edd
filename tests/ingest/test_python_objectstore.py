# SPDX-License-Identifier: Apache-2.0
"""A writer without a JVM whose table and spool are in S3."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from zonemap.common.errors import ZonemapError
from zonemap.ingest import Writer

KEYS = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.region": "us-east-1"}


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def catalog(endpoint: str, tmp_path: Path) -> Iterator[SqlCatalog]:
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="lake")
    properties = {**KEYS, "s3.endpoint": endpoint, "warehouse": "s3://lake/warehouse"}
    found = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", **properties)
    found.create_namespace("db")
    found.create_table("db.events", Schema(NestedField(1, "id", LongType())))
    yield found
    found.close()


def records(endpoint: str) -> list[dict[str, Any]]:
    """The records in the bucket, in order of their names."""
    store = fs.S3FileSystem(endpoint_override=endpoint, access_key="key", secret_key="secret", region="us-east-1")
    found = []
    selector = fs.FileSelector("lake/warehouse/db/_zonemap_ingest", recursive=True)
    for info in sorted(store.get_file_info(selector), key=lambda info: info.path):
        if info.path.endswith(".rec"):
            with store.open_input_stream(info.path) as stream:
                line, _, text = stream.read().partition(b"\n")
            assert line.decode() == f"zonemap-ingest 1 {zlib.crc32(text):08x} {len(text)}"
            found.append(json.loads(text))
    return found


def ids(endpoint: str, bodies: list[dict[str, Any]]) -> list[int]:
    store = fs.S3FileSystem(endpoint_override=endpoint, access_key="key", secret_key="secret", region="us-east-1")
    paths = [file["content-file"]["file-path"] for body in bodies for file in body["files"]]
    return [n for path in paths for n in pq.read_table(path.removeprefix("s3://"), filesystem=store)["id"].to_pylist()]


def test_records_and_files_in_s3(catalog: SqlCatalog, endpoint: str) -> None:
    for start in (0, 10):
        with Writer("lake.db.events", catalog=catalog, lane="gate way/7") as writer:
            receipt = writer.write(pa.table({"id": [start, start + 1]}))
            again = writer.write(pa.table({"id": [start, start + 1]}), seq=receipt.seq)
            assert (again.duplicate, again.record) == (True, receipt.record)
            assert receipt.outcome() is None
            with pytest.raises(ZonemapError, match="a record in the spool names it"):
                writer.add_files(receipt.files)
            writer.add_files(receipt.files, check_duplicates=False)
    bodies = records(endpoint)
    # Without a lock, a random count of numbers is left out whenever the lane is read.
    numbers = [body["seq"] for body in bodies]
    assert [body["prev-seq"] for body in bodies] == [-1, *numbers[:-1]]
    assert all(after - before >= 2 for before, after in pairwise([-1, *numbers]))
    assert numbers[-1] > 100
    assert {body["lane"] for body in bodies} == {"gate way/7"}
    assert "/pending/gate%20way%2F7/" in receipt.record
    assert ids(endpoint, bodies) == [0, 1, 0, 1, 10, 11, 10, 11]
    assert all(file["content-file"]["file-path"].startswith("s3://lake/") for body in bodies for file in body["files"])
