# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from ingest.support import NAME, bodies, content_files, data_of, local, mapped, record_paths, rows, spool_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import Writer
from zonemap.ingest.conversion import Conversion

NAN = float("nan")


def test_record_has_every_field(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="gateway/7", application="tests") as writer:
        first = writer.write(rows(3, 1, 2))
        second = writer.write(rows(4))
    path = spool_of(events) / "pending" / "gateway%2F7" / f"{1:020d}-{first.nonce}.rec"
    assert record_paths(events)[0] == path == local(first.record)
    body, following = bodies(events)
    (file,) = content_files(body)
    assert body["queue-id"] == json.loads((spool_of(events) / "queue-id.json").read_text())["queue-id"]
    assert UUID(body["queue-id"])
    assert body["table-uuid"] == str(events.metadata.table_uuid)
    assert (body["branch"], body["lane"], body["seq"], body["prev-seq"]) == ("main", "gateway/7", 1, -1)
    assert (following["seq"], following["prev-seq"]) == (2, 1)
    assert body["nonce"] == first.nonce != following["nonce"]
    assert body["writer"].endswith(f"/{os.getpid()}/tests")
    assert (body["schema-id"], body["base-snapshot-id"], body["format-version"]) == (0, -1, 2)
    assert (body["rows"], body["bytes"]) == (first.rows, first.bytes) == (3, file["file-size-in-bytes"])
    assert body["files"][0]["spec-id"] == file["spec-id"] == 0
    assert (file["content"], file["file-format"]) == ("DATA", "PARQUET")
    assert file["file-path"].startswith(f"{events.location()}/data/")
    assert first.files == (file["file-path"],)
    assert "partition" not in file
    assert (second.lane, second.seq, second.rows, second.duplicate) == ("gateway/7", 2, 1, False)
    assert data_of(body, following).column("id").to_pylist() == [3, 1, 2, 4]


def test_base_snapshot_is_the_current_one(catalog: SqlCatalog, events: Table) -> None:
    events.append(
        rows(1).cast(pa.schema([("id", pa.int64(), False), ("kind", pa.string()), ("reading", pa.float64())]))
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(2))
    assert bodies(events)[0]["base-snapshot-id"] == events.refresh().metadata.current_snapshot_id


def test_statistics_of_plain_columns(catalog: SqlCatalog, events: Table) -> None:
    data = pa.table({"id": [5, -7], "kind": pa.array(["b", None]), "reading": [NAN, -0.0]})
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(data)
    (file,) = content_files(bodies(events)[0])
    footer = pq.ParquetFile(local(file["file-path"])).metadata
    sizes = {key: footer.row_group(0).column(key - 1).total_compressed_size for key in (1, 2, 3)}
    assert mapped(file["column-sizes"]) == sizes
    assert mapped(file["value-counts"]) == {1: 2, 2: 2, 3: 2}
    assert mapped(file["null-value-counts"]) == {1: 0, 2: 1, 3: 0}
    assert mapped(file["nan-value-counts"]) == {3: 1}
    assert mapped(file["lower-bounds"]) == {
        1: struct.pack("<q", -7).hex().upper(),
        2: "62",
        3: struct.pack("<d", -0.0).hex().upper(),
    }
    assert mapped(file["upper-bounds"]) == {
        1: struct.pack("<q", 5).hex().upper(),
        2: "62",
        3: struct.pack("<d", 0.0).hex().upper(),
    }
    assert file["split-offsets"] == [4]
    assert "sort-order-id" not in file


ALL = Schema(
    NestedField(1, "bool", types.BooleanType()),
    NestedField(2, "int", types.IntegerType()),
    NestedField(3, "long", types.LongType()),
    NestedField(4, "float", types.FloatType()),
    NestedField(5, "double", types.DoubleType()),
    NestedField(6, "dec9", types.DecimalType(9, 2)),
    NestedField(7, "dec18", types.DecimalType(18, 4)),
    NestedField(8, "dec38", types.DecimalType(38, 6)),
    NestedField(9, "date", types.DateType()),
    NestedField(10, "time", types.TimeType()),
    NestedField(11, "ts", types.TimestampType()),
    NestedField(12, "tstz", types.TimestamptzType()),
    NestedField(13, "string", types.StringType()),
    NestedField(14, "uuid", types.UUIDType()),
    NestedField(15, "fixed", types.FixedType(3)),
    NestedField(16, "binary", types.BinaryType()),
    NestedField(
        17,
        "struct",
        types.StructType(NestedField(20, "a", types.LongType()), NestedField(21, "d", types.DoubleType())),
    ),
    NestedField(18, "list", types.ListType(22, types.StructType(NestedField(23, "x", types.DoubleType())), False)),
    NestedField(19, "map", types.MapType(24, types.StringType(), 25, types.LongType(), False)),
)
VALUES: dict[str, list[Any]] = {
    "bool": [True, None, False],
    "int": [-(2**31), 2**31 - 1, None],
    "long": [None, -(2**63), 2**63 - 1],
    "float": [NAN, 1.5, None],
    "double": [-1e300, NAN, 1e300],
    "dec9": [Decimal("-1.29"), Decimal("1.27"), None],
    "dec18": [Decimal("-99999999999999.9999"), None, Decimal("0.0128")],
    "dec38": [Decimal("9" * 32 + "." + "9" * 6), Decimal("-0.000001"), None],
    "date": [date(1, 1, 1), date(9999, 12, 31), None],
    "time": [time(0), time(23, 59, 59, 999999), None],
    "ts": [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None],
    "tstz": [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2024, 2, 29, tzinfo=UTC), None],
    "string": ["", "ä" * 17, None],
    "uuid": [UUID(int=1).bytes, UUID(int=2**128 - 1).bytes, None],
    "fixed": [b"\x00\x00\x01", b"\xff\xff\xff", None],
    "binary": [b"", b"\xff" * 15 + b"\x01\x02", None],
    "struct": [{"a": 1, "d": NAN}, None, {"a": None, "d": 2.0}],
    "list": [None, [], [{"x": 1.0}, None, {"x": None}]],
    "map": [None, [], [("k", 1), ("l", None)]],
}
ARROW = pa.schema(
    [
        ("map", pa.map_(pa.string(), pa.int64())),
        ("bool", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("dec9", pa.decimal128(9, 2)),
        ("dec18", pa.decimal128(18, 4)),
        ("dec38", pa.decimal128(38, 6)),
        ("date", pa.date32()),
        ("time", pa.time64("us")),
        ("ts", pa.timestamp("us")),
        ("tstz", pa.timestamp("us", "UTC")),
        ("string", pa.string()),
        ("uuid", pa.binary(16)),
        ("fixed", pa.binary(3)),
        ("binary", pa.binary()),
        ("struct", pa.struct([("d", pa.float64()), ("a", pa.int64())])),
        ("list", pa.list_(pa.struct([("x", pa.float64())]))),
    ]
)


def text_of(values: list[Any]) -> list[str]:
    """The values as texts, in which NaN equals NaN; fields of structs in order of their names."""
    return [repr(dict(sorted(value.items())) if isinstance(value, dict) else value) for value in values]


def bound(value: bytes) -> str:
    return value.hex().upper()


def test_all_types_are_written_and_bounded(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    table = make(ALL)
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.Table.from_pydict(VALUES, schema=ARROW))
    body = bodies(table)[0]
    (file,) = content_files(body)
    read = data_of(body)
    for name, values in VALUES.items():
        column = read.column(name)
        found = column.cast(pa.binary(16)).to_pylist() if name == "uuid" else column.to_pylist()
        if name == "tstz":
            found = [None if value is None else value.astimezone(UTC) for value in found]
        assert text_of(found) == text_of(values), name
    micros = (datetime(9999, 12, 31, 23, 59, 59, 999999) - datetime(1970, 1, 1)) // (datetime.resolution)
    lower, upper = mapped(file["lower-bounds"]), mapped(file["upper-bounds"])
    assert {key: (lower.get(key), upper.get(key)) for key in lower.keys() | upper.keys()} == {
        1: ("00", "01"),
        2: (bound(struct.pack("<i", -(2**31))), bound(struct.pack("<i", 2**31 - 1))),
        3: (bound(struct.pack("<q", -(2**63))), bound(struct.pack("<q", 2**63 - 1))),
        4: (bound(struct.pack("<f", 1.5)), bound(struct.pack("<f", 1.5))),
        5: (bound(struct.pack("<d", -1e300)), bound(struct.pack("<d", 1e300))),
        6: ("FF7F", "7F"),
        7: (bound((-999999999999999999).to_bytes(8, "big", signed=True)), "0080"),
        8: ("FF", bound((10**38 - 1).to_bytes(16, "big", signed=True))),
        9: (bound(struct.pack("<i", -719162)), bound(struct.pack("<i", 2932896))),
        10: (bound(struct.pack("<q", 0)), bound(struct.pack("<q", 86_399_999_999))),
        11: (bound(struct.pack("<q", -719162 * 86_400_000_000)), bound(struct.pack("<q", micros))),
        12: (bound(struct.pack("<q", -1)), bound(struct.pack("<q", 1_709_164_800_000_000))),
        13: ("", bound(("ä" * 15 + "å").encode())),
        15: ("000001", "FFFFFF"),
        16: ("", "FF" * 15 + "02"),
        20: (bound(struct.pack("<q", 1)), bound(struct.pack("<q", 1))),
        21: (bound(struct.pack("<d", 2.0)), bound(struct.pack("<d", 2.0))),
    }
    assert mapped(file["nan-value-counts"]) == {4: 1, 5: 1, 21: 1}
    nulls = mapped(file["null-value-counts"])
    assert {key: nulls[key] for key in range(1, 17)} == {key: 0 if key == 5 else 1 for key in range(1, 17)}
    assert (nulls[20], nulls[21]) == (2, 1)


def test_field_ids_are_in_the_file(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    table = make(ALL)
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.Table.from_pydict(VALUES, schema=ARROW))
    (file,) = content_files(bodies(table)[0])
    found: dict[str, int] = {}

    def visit(field: pa.Field, above: str) -> None:
        path = f"{above}{field.name}"
        if b"PARQUET:field_id" in (field.metadata or {}):
            found[path] = int(field.metadata[b"PARQUET:field_id"])
        for number in range(field.type.num_fields):
            visit(field.type.field(number), f"{path}.")

    for field in pq.ParquetFile(local(file["file-path"])).schema_arrow:
        visit(field, "")
    assert {ALL.find_column_name(key): key for key in range(1, 26)} == {
        path.replace("map.map.", "map."): key for path, key in found.items()
    }


def test_sliced_and_dictionary_input_keeps_its_rows(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    table = make(ALL)
    whole = pa.Table.from_pydict({name: values * 5 for name, values in VALUES.items()}, schema=ARROW)
    sliced = whole.slice(4, 7)
    encoded = sliced.set_column(
        sliced.schema.get_field_index("string"), "string", sliced.column("string").dictionary_encode()
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(encoded)
    read = data_of(bodies(table)[0])
    for name in ("list", "map", "struct", "string", "dec38", "ts"):
        assert text_of(read.column(name).to_pylist()) == text_of(sliced.column(name).to_pylist()), name


class _Streams:
    """Makes the same rows as a table, a batch, a reader and a generator."""

    table = rows(*range(10))

    def all(self) -> list[Any]:
        batches = self.table.to_batches(max_chunksize=3)
        return [
            self.table,
            self.table.to_batches()[0],
            pa.RecordBatchReader.from_batches(self.table.schema, batches),
            (batch for batch in batches),
            [self.table.slice(0, 4), self.table.slice(4)],
        ]


@pytest.mark.parametrize("form", range(5))
def test_forms_of_input(catalog: SqlCatalog, events: Table, form: int) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        receipt = writer.write(_Streams().all()[form])
    assert (receipt.rows, len(receipt.files)) == (10, 1)
    assert data_of(*bodies(events)).column("id").to_pylist() == list(range(10))


@pytest.mark.parametrize("data", [rows(), [], rows().to_batches(), iter([])])
def test_no_rows_leave_nothing(catalog: SqlCatalog, events: Table, data: Any) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipt = writer.write(data)
        assert (receipt.seq, receipt.rows, receipt.files, receipt.record) == (-1, 0, (), "")
        assert receipt.wait(1).visible
        assert writer.write(rows(1)).seq == 1
    assert len(record_paths(events)) == 1
    assert len(list(local(events.location()).glob("data/**/*.parquet"))) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pa.table({"id": [1], "nope": [1]}), "the table has no column 'nope'"),
        (pa.table({"kind": ["a"]}), "the required column 'id' is missing"),
        (pa.table({"id": pa.array([1, None], pa.int64())}), "the required column 'id' has 1 nulls"),
        (pa.table({"id": ["1"]}), "column 'id' has the type string, and the table has long"),
        (pa.table({"id": [1], "reading": [Decimal("1.0")]}), "and the table has double"),
        (pa.table({"id": pa.array([2**63], pa.uint64())}), "a value of column 'id' does not fit into long"),
        (pa.table([[1], [2]], names=["id", "id"]), "more than one column 'id'"),
        (pa.table({"id": [1.0]}), "column 'id' has the type double"),
    ],
)
def test_data_that_does_not_fit(catalog: SqlCatalog, events: Table, data: pa.Table, message: str) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match=message) as caught:
            writer.write(data)
        assert str(caught.value).startswith("Cannot write to 'lake.db.events'")
        assert writer.write(rows(1)).seq == 0
    assert len(record_paths(events)) == 1


@pytest.mark.parametrize("data", [7, "rows", {"id": 1}.keys(), [1], [rows(1), pa.table({"id": [1]})]])
def test_data_of_another_kind(catalog: SqlCatalog, events: Table, data: Any) -> None:
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match="Cannot write"):
        writer.write(data)
    assert record_paths(events) == []


def test_decimals_of_another_scale_are_refused(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    make(Schema(NestedField(1, "d", types.DecimalType(9, 2))))
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match=r"decimal\(9, 3\)"):
            writer.write(pa.table({"d": pa.array([Decimal("1.234")], pa.decimal128(9, 3))}))
        assert writer.write(pa.table({"d": pa.array([Decimal("1.23")], pa.decimal128(5, 2))})).rows == 1


def test_names_are_sanitized_as_iceberg_does(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    table = make(
        Schema(NestedField(1, "a.b", types.LongType()), NestedField(2, "9 x", types.StringType())),
        **{"write.metadata.metrics.column.9 x": "truncate(1)"},
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"9 x": ["abc"], "a.b": [1]}))
    (file,) = content_files(bodies(table)[0])
    assert pq.ParquetFile(local(file["file-path"])).schema_arrow.names == ["a_x2Eb", "_9_x20x"]
    assert mapped(file["lower-bounds"]) == {1: "0100000000000000", 2: "61"}
    assert mapped(file["upper-bounds"]) == {1: "0100000000000000", 2: "62"}


def test_defaults_of_missing_columns() -> None:
    """The default for writing counts, and not the one for reading older files."""
    schema = Schema(
        NestedField(1, "id", types.LongType()),
        NestedField(2, "read", types.LongType(), initial_default=5),
        NestedField(3, "written", types.LongType(), initial_default=5, write_default=6),
        NestedField(4, "needed", types.StringType(), required=True, initial_default="a", write_default="b"),
    )
    batch = pa.record_batch({"id": [1]})
    converted = Conversion(NAME, schema, batch.schema).convert(batch)
    assert converted.to_pylist() == [{"id": 1, "read": None, "written": 6, "needed": "b"}]


def test_schema_change_between_writes(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, refresh_seconds=1e-9) as writer:
        writer.write(rows(1))
        with events.update_schema() as change:
            change.add_column("more", types.LongType())
            change.rename_column("kind", "sort")
        writer.write(pa.table({"id": [2], "more": [3], "sort": ["s"]}))
    first, second = bodies(events)
    assert (first["schema-id"], second["schema-id"]) == (0, 1)
    assert set(mapped(content_files(second)[0]["value-counts"])) == {1, 2, 3, 4}
    assert data_of(second).to_pylist() == [{"id": 2, "sort": "s", "reading": None, "more": 3}]


def test_table_that_is_created_again_is_noticed(catalog: SqlCatalog, events: Table, make: Callable[..., Table]) -> None:
    with Writer(NAME, catalog=catalog, refresh_seconds=1e-9) as writer:
        writer.write(rows(1))
        catalog.drop_table("db.events")
        with pytest.raises(ZonemapError, match="has no table"):
            writer.write(rows(2))
        make()
        with pytest.raises(ZonemapError, match="was dropped and created again"):
            writer.write(rows(2))


@pytest.mark.parametrize(
    ("properties", "message"),
    [({"write.format.default": "orc"}, "is 'orc'"), ({"encryption.key-id": "k"}, "it is encrypted")],
)
def test_tables_that_need_another_writer(
    catalog: SqlCatalog, make: Callable[..., Table], properties: dict[str, str], message: str
) -> None:
    make(**properties)
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=message):
        writer.write(rows(1))


def test_locations_and_codec_follow_the_properties(
    catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path
) -> None:
    table = make(
        **{
            "write.data.path": f"file://{tmp_path}/elsewhere",
            "write.object-storage.enabled": "true",
            "write.parquet.compression-codec": "gzip",
        }
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    (file,) = content_files(bodies(table)[0])
    assert file["file-path"].startswith(f"file://{tmp_path}/elsewhere/")
    assert len(local(file["file-path"]).relative_to(tmp_path / "elsewhere").parts) == 5
    assert pq.ParquetFile(local(file["file-path"])).metadata.row_group(0).column(0).compression == "GZIP"


def test_files_roll_at_the_target_size_and_row_groups_at_theirs(
    catalog: SqlCatalog, make: Callable[..., Table]
) -> None:
    table = make(
        **{"write.target-file-size-bytes": "20000", "write.parquet.row-group-limit": "1000"},
    )
    ids = list(range(20_000))
    data = pa.table({"id": ids, "kind": [f"{number * 7919 % 1000003:010d}" for number in ids]})
    with Writer(NAME, catalog=catalog, memory_bytes=2**20) as writer:
        receipt = writer.write(data.to_batches(max_chunksize=500))
    body = bodies(table)[0]
    assert len(receipt.files) > 3
    assert data_of(body).column("id").to_pylist() == ids
    for file in content_files(body):
        footer = pq.ParquetFile(local(file["file-path"])).metadata
        assert max(footer.row_group(number).num_rows for number in range(footer.num_row_groups)) <= 1000
        assert len(file["split-offsets"]) == footer.num_row_groups
        assert file["split-offsets"] == sorted(file["split-offsets"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("write.target-file-size-bytes", "many"),
        ("write.parquet.row-group-size-bytes", "1 GB"),
        ("write.parquet.row-group-limit", ""),
        ("write.parquet.page-size-bytes", "1.5"),
        ("write.parquet.compression-level", "high"),
        ("write.parquet.compression-codec", "snapppy"),
        ("write.metadata.metrics.max-inferred-column-defaults", "all"),
    ],
)
def test_a_property_that_cannot_be_used_is_named_and_nothing_is_appended(
    catalog: SqlCatalog, make: Callable[..., Table], key: str, value: str
) -> None:
    table = make(**{key: value})
    expected = pytest.raises(ZonemapError, match=f"{key}.*{value}|{value}.*{key}")
    with Writer(NAME, catalog=catalog) as writer, expected:
        writer.write(rows(1))
    assert bodies(table) == []


@pytest.mark.parametrize(("codec", "written"), [("UNCOMPRESSED", "UNCOMPRESSED"), ("Zstd", "ZSTD"), ("lz4_raw", "LZ4")])
def test_the_compression_is_named_as_in_spark(
    catalog: SqlCatalog, make: Callable[..., Table], codec: str, written: str
) -> None:
    table = make(**{"write.parquet.compression-codec": codec})
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    (file,) = content_files(bodies(table)[0])
    assert pq.ParquetFile(local(file["file-path"])).metadata.row_group(0).column(0).compression == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"memory_bytes": 5}, "memory_bytes of 1 MiB"),
        ({"memory_bytes": -1}, "memory_bytes=-1"),
        ({"open_files": 0}, "open_files from 1"),
        ({"refresh_seconds": 0}, "refresh_seconds=0"),
        ({"lane": ""}, "lane=''"),
        ({"root": "relative/root"}, "it is not absolute"),
    ],
)
def test_malformed_arguments(catalog: SqlCatalog, events: Table, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Writer(NAME, catalog=catalog, **arguments)


@pytest.mark.parametrize("seq", [-1, True, 1.0, "1", 2**63])
def test_malformed_seq(catalog: SqlCatalog, events: Table, seq: Any) -> None:
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(InvalidArgumentError, match="Cannot use seq="):
        writer.write(rows(1), seq=seq)


def test_root_of_the_spool(catalog: SqlCatalog, events: Table, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="lies in the table's folder"):
        Writer(NAME, catalog=catalog, root=f"{local(events.location())}/spool")
    with Writer(NAME, catalog=catalog, root=tmp_path / "spool") as writer:
        receipt = writer.write(rows(1))
    assert local(receipt.record).is_relative_to(tmp_path / "spool" / str(events.metadata.table_uuid) / "pending")


@pytest.mark.parametrize("name", ["lake.db.events", "db.events", "lake.`db`.events"])
def test_names_of_the_table(catalog: SqlCatalog, events: Table, name: str) -> None:
    with Writer(name, catalog=catalog) as writer:
        assert writer.write(rows(1)).seq == 0


def test_catalog_by_properties(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog={**catalog.properties, "type": "sql"}) as writer:
        assert writer.write(rows(1)).seq == 0


def test_unknown_table(catalog: SqlCatalog, events: Table) -> None:
    with pytest.raises(ZonemapError, match=r"the catalog 'lake' has no table db\.nope"):
        Writer("lake.db.nope", catalog=catalog)


def test_closed_writer(catalog: SqlCatalog, events: Table) -> None:
    writer = Writer(NAME, catalog=catalog)
    writer.close()
    writer.close()
    with pytest.raises(ZonemapError, match="this writer is closed"):
        writer.write(rows(1))
