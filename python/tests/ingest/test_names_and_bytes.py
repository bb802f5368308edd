# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import zlib
from decimal import Decimal
from typing import Any

import pytest
from pyiceberg import types

from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import lanes, wire
from zonemap.ingest.content_file import single_value
from zonemap.ingest.errors import RecordError


@pytest.mark.parametrize(
    ("lane", "folder"),
    [
        ("gateway-7", "gateway-7"),
        ("a/b", "a%2Fb"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        (".hidden", ".hidden"),
        ("50%", "50%25"),
        ("Zähler", "Z%C3%A4hler"),
        ("a b\x00", "a%20b%00"),
        ("x" * 200, "x" * 200),
    ],
)
def test_folder_of_a_lane(lane: str, folder: str) -> None:
    assert lanes.folder(lane) == folder


@pytest.mark.parametrize("lane", ["", "x" * 201, "ä" * 34, "\ud800", None, 7])
def test_lane_without_a_folder(lane: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot use lane="):
        lanes.folder(lane)


def test_record_names_sort_by_number_and_are_read_back() -> None:
    names = [lanes.record_name(seq, "0123456789abcdef") for seq in (0, 9, 10, 2**63 - 1)]
    assert names == sorted(names)
    assert lanes.parse_record_name(names[2]) == (10, "0123456789abcdef")
    for other in (f".{names[0]}.12ab.tmp", names[0] + "x", names[0].upper(), "1-0123456789abcdef.rec"):
        assert lanes.parse_record_name(other) is None


def record(**changes: Any) -> wire.IngestRecord:
    values: dict[str, Any] = {
        "queue_id": "q",
        "table_uuid": "t",
        "branch": "main",
        "lane": "Zähler",
        "seq": 4,
        "prev_seq": 3,
        "nonce": "0123456789abcdef",
        "writer": "host/1/app",
        "created_ms": 1,
        "schema_id": 2,
        "base_snapshot_id": -1,
        "format_version": 2,
        "rows": 5,
        "size": 6,
        "files": (wire.FileEntry(0, {"file-path": "p"}),),
    }
    return wire.IngestRecord(**{**values, **changes})


def test_bytes_of_a_record() -> None:
    line, _, body = record().to_bytes().partition(b"\n")
    assert line.decode() == f"zonemap-ingest 1 {zlib.crc32(body):08x} {len(body)}"
    assert json.loads(body) == {
        "queue-id": "q",
        "table-uuid": "t",
        "branch": "main",
        "lane": "Zähler",
        "seq": 4,
        "prev-seq": 3,
        "nonce": "0123456789abcdef",
        "writer": "host/1/app",
        "created-ms": 1,
        "schema-id": 2,
        "base-snapshot-id": -1,
        "format-version": 2,
        "rows": 5,
        "bytes": 6,
        "files": [{"spec-id": 0, "content-file": {"file-path": "p"}}],
    }
    assert wire.IngestRecord.from_bytes(record().to_bytes()) == record()


def test_every_shortened_or_flipped_record_is_refused() -> None:
    data = record().to_bytes()
    for length in range(len(data)):
        with pytest.raises(RecordError):
            wire.IngestRecord.from_bytes(data[:length])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x20
        with pytest.raises(RecordError):
            wire.IngestRecord.from_bytes(bytes(damaged))


def test_later_version_is_refused() -> None:
    with pytest.raises(RecordError, match="version 2 is unknown"):
        wire.unframe(record().to_bytes().replace(b"zonemap-ingest 1", b"zonemap-ingest 2", 1))


def test_record_above_64_mib_is_not_written() -> None:
    huge = wire.FileEntry(0, {"file-path": "p" * 1024 * 1024})
    with pytest.raises(ZonemapError, match="more than 67,108,864"):
        record(files=(huge,) * 65).to_bytes()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (types.BooleanType(), True, True),
        (types.IntegerType(), -1, -1),
        (types.LongType(), 2**63 - 1, 2**63 - 1),
        (types.FloatType(), 0.1, 0.10000000149011612),
        (types.DoubleType(), 0.1, 0.1),
        (types.DecimalType(9, 2), Decimal("-0.05"), "-0.05"),
        (types.DecimalType(9, 2), Decimal("12"), "12.00"),
        (types.DecimalType(9, 0), Decimal("-7"), "-7"),
        (types.DecimalType(38, 10), Decimal("9999999999999999999999999999.9999999999"), "9" * 28 + "." + "9" * 10),
        (types.StringType(), "ä", "ä"),
        (types.DateType(), -1, "1969-12-31"),
        (types.TimeType(), 86_399_999_999, "23:59:59.999999"),
        (types.TimestampType(), -1, "1969-12-31T23:59:59.999999"),
        (types.TimestamptzType(), 0, "1970-01-01T00:00:00.000000+00:00"),
        (types.TimestampNanoType(), 1_000_000_001, "1970-01-01T00:00:01.000000001"),
        (types.TimestamptzNanoType(), -1, "1969-12-31T23:59:59.999999999+00:00"),
        (types.UUIDType(), bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (types.FixedType(2), b"\x00\xff", "00FF"),
        (types.BinaryType(), b"\xab", "AB"),
        (types.LongType(), None, None),
    ],
)
def test_json_form_of_a_partition_value(kind: types.IcebergType, value: Any, expected: Any) -> None:
    assert single_value(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (types.DoubleType(), float("nan")),
        (types.FloatType(), float("inf")),
        (types.TimestampType(), 2**62),
        (types.DateType(), 2**31 - 1),
    ],
)
def test_value_without_a_json_form(kind: types.IcebergType, value: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        single_value(kind, value)
