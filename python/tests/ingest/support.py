# SPDX-License-Identifier: Apache-2.0
"""The tests' own reading of records and data files; it shares no code with the product."""

from __future__ import annotations

import json
import uuid
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

NAME = "lake.db.events"
EVENTS = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "kind", StringType()),
    NestedField(3, "reading", DoubleType()),
)


def rows(*ids: int, kind: str | None = "k", reading: float | None = 1.5) -> pa.Table:
    count = len(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "kind": pa.array([kind] * count, pa.string()),
            "reading": pa.array([reading] * count, pa.float64()),
        }
    )


def spool_of(table: Table) -> Path:
    """The folder of the spool, computed here from the design and not with the product's code."""
    parent = Path(table.location().removeprefix("file://")).parent
    return parent / "_zonemap_ingest" / str(table.metadata.table_uuid)


def record_paths(table: Table) -> list[Path]:
    return sorted(spool_of(table).glob("pending/*/*.rec"))


def body_of(path: Path) -> dict[str, Any]:
    """The body of a record or state file, after a check of its first line."""
    line, _, text = path.read_bytes().partition(b"\n")
    word, version, checksum, length = line.decode().split(" ")
    assert (word, version) == ("zonemap-ingest", "1")
    assert len(checksum) == 8
    assert int(checksum, 16) == zlib.crc32(text)
    assert int(length) == len(text)
    return json.loads(text)


def bodies(table: Table) -> list[dict[str, Any]]:
    return [body_of(path) for path in record_paths(table)]


def content_files(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [file["content-file"] for file in body["files"]]


def local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def data_of(*records: dict[str, Any]) -> pa.Table:
    """The rows of the data files that records name, read by nothing but pyarrow."""
    tables = []
    for body in records:
        for file in content_files(body):
            path = local(file["file-path"])
            assert path.stat().st_size == file["file-size-in-bytes"]
            tables.append(pq.ParquetFile(path).read())
            assert tables[-1].num_rows == file["record-count"]
    return pa.concat_tables(tables)


def mapped(values: dict[str, list[Any]]) -> dict[int, Any]:
    assert len(values["keys"]) == len(values["values"])
    return dict(zip(values["keys"], values["values"], strict=True))


def commit(
    table: Table,
    lanes: dict[str, int],
    *,
    quarantined: list[dict[str, Any]] | None = None,
    holes: dict[str, list[int]] | None = None,
    marks: dict[str, dict[str, Any]] | None = None,
    settle: bool = True,
) -> None:
    """Changes table and spool as the committer does: state file, pointer, settled records. Adds no data files.

    ``marks`` are further fields of the watermarks.
    """
    spool = spool_of(table)
    fresh = table.catalog.load_table(table.name())
    old = fresh.metadata.properties.get("zonemap.ingest.pointer.main")
    number = int(old.split("|")[1]) + 1 if old else 1
    nonce = uuid.uuid4().hex[:16]
    queue_id = json.loads((spool / "queue-id.json").read_text())["queue-id"]
    body = {
        "format": 1,
        "no": number,
        "nonce": nonce,
        "queue-id": queue_id,
        "table-uuid": str(table.metadata.table_uuid),
        "branch": "main",
        "prev-pointer": old,
        "base-snapshot-id": -1,
        "lanes": {
            lane: {"seq": seq, "at-ms": 0}
            | ({"holes": holes[lane]} if holes and lane in holes else {})
            | (marks or {}).get(lane, {})
            for lane, seq in lanes.items()
        },
        "quarantined": quarantined or [],
        "stats": {},
    }
    text = json.dumps(body).encode()
    state = spool / "state" / f"{number:020d}-{nonce}.json"
    state.parent.mkdir(exist_ok=True)
    state.write_bytes(f"zonemap-ingest 1 {zlib.crc32(text):08x} {len(text)}\n".encode() + text)
    pointer = f"v1|{number}|{nonce}|{queue_id}|{table.metadata.table_uuid}"
    with fresh.transaction() as change:
        change.set_properties({"zonemap.ingest.pointer.main": pointer})
    if settle:
        for path in record_paths(table):
            record = body_of(path)
            if record["seq"] <= lanes.get(record["lane"], -1):
                path.unlink()
