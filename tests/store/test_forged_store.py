# SPDX-License-Identifier: Apache-2.0
"""A store with valid checksums but foreign content: rows are the rows of Spark without the product."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from support import product, session, tables
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

HEADER_BYTES = 18


def crc32c(raw: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in raw:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def text_end(payload: bytes, at: int) -> int:
    """Returns the end of the text that begins at `at`: a varint of its length, then its bytes."""
    length = shift = 0
    while True:
        byte = payload[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return at + length


def parts(version: Path) -> tuple[bytes, bytes]:
    """Splits a version file: the identity of table and snapshot, and the rest (sequence number, counts, segments)."""
    payload = version.read_bytes()[HEADER_BYTES:]
    end = text_end(payload, text_end(payload, 0) + 8)
    return payload[:end], payload[end:]


def write(version: Path, payload: bytes) -> None:
    header = version.read_bytes()[:10]
    version.write_bytes(header + struct.pack("<II", len(payload), crc32c(payload)) + payload)
    (version.parent / f".{version.name}.crc").unlink(missing_ok=True)  # without it, only the product checks


def store(spark, table: str) -> tuple[Path, Path]:
    """Returns the folder of a table's store, and its only version."""
    files = product.store_files(tables.location(spark, table))
    version = next(p for p in files if p.parent.name == "versions" and not p.name.startswith("."))
    return version.parent.parent, version


def make(spark, table: str, value: str) -> str:
    spark.sql(f"CREATE TABLE {table} (id INT, s STRING) USING iceberg")
    for i in range(3):
        spark.sql(f"INSERT INTO {table} VALUES ({i}, '{value}')")
    product.build(spark, table)
    return table


def test_version_that_names_the_segments_of_another_table(spark) -> None:
    ours = make(spark, "lake.store.forged_a", "own")
    others = make(spark, "lake.store.forged_b", "SECRET")
    (root, version), (other_root, other_version) = store(spark, ours), store(spark, others)
    for segment in other_root.rglob("*.zm"):
        target = root / segment.relative_to(other_root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(segment, target)
    write(version, parts(version)[0] + parts(other_version)[1])
    spark = session.restart()
    query = f"SELECT id, s FROM {ours} ORDER BY id"
    with product.conf(spark, upkeep="off"):
        with product.off(spark):
            expected = spark.sql(query).collect()
        mark = len(session.log_lines())
        assert spark.sql(query).collect() == expected
        assert [r.s for r in expected] == ["own"] * 3
        assert any("lacks 3 manifests that its snapshot lists" in w for w in session.warnings_since(mark))
        assert not product.status(spark, ours).covered
    product.build(spark, ours)
    assert product.status(spark, ours).covered
    assert spark.sql(query).collect() == expected


def test_store_location_that_cannot_hold_an_index(spark) -> None:
    """The path is relative or in the table's folders: procedures fail and name the key; queries log one warning."""
    table = tables.range_table(spark, "lake.store.placed", files=3)
    own = f"{tables.location(spark, table)}/data/indexes"
    for place, why in (("indexes", "allowed are an absolute folder"), (own, "the table's own data folder")):
        mark = len(session.log_lines())
        with product.conf(spark, store_location=str(place)):
            with pytest.raises(Exception, match=why) as refused:
                product.build(spark, table)
            assert "spark.sql.zonemap.store.location" in str(refused.value)
            for _ in range(2):
                assert len(spark.sql(f"SELECT id FROM {table} WHERE id = 3").collect()) == 1
        assert len([w for w in session.warnings_since(mark) if "store.location" in w]) == 1
