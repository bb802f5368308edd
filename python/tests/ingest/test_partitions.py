# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import NestedField

from ingest.support import NAME, bodies, content_files, data_of, local
from zonemap.common.errors import ZonemapError
from zonemap.ingest import Writer

BEFORE = datetime(1969, 12, 31, 23, 59, 59, 999999)
LATER = datetime(2024, 2, 29, 13, 0, 0, 1)


def spec_of(*transforms: tuple[int, Transform[Any, Any], str]) -> PartitionSpec:
    fields = [
        PartitionField(source, 1000 + n, transform, name) for n, (source, transform, name) in enumerate(transforms)
    ]
    return PartitionSpec(*fields)


def tuples(table: Table) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The rows of each partition value, read from the files that the record names."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for body in bodies(table):
        for file in body["files"]:
            values = tuple(file["content-file"]["partition"].values())
            rows = data_of({"files": [file]}).to_pylist()
            assert values not in found
            found[values] = rows
    return found


CASES: list[tuple[types.PrimitiveType, pa.DataType, Transform[Any, Any], dict[Any, Any]]] = [
    (types.TimestampType(), pa.timestamp("us"), YearTransform(), {BEFORE: -1, LATER: 54, None: None}),
    (types.TimestampType(), pa.timestamp("us"), MonthTransform(), {BEFORE: -1, LATER: 649, None: None}),
    (types.TimestampType(), pa.timestamp("us"), DayTransform(), {BEFORE: "1969-12-31", LATER: "2024-02-29"}),
    (types.TimestampType(), pa.timestamp("us"), HourTransform(), {BEFORE: -1, LATER: 474781, None: None}),
    (
        types.TimestamptzType(),
        pa.timestamp("us", "UTC"),
        DayTransform(),
        {BEFORE.replace(tzinfo=UTC): "1969-12-31", LATER.replace(tzinfo=UTC): "2024-02-29", None: None},
    ),
    (
        types.TimestamptzType(),
        pa.timestamp("us", "UTC"),
        IdentityTransform(),
        {BEFORE.replace(tzinfo=UTC): "1969-12-31T23:59:59.999999+00:00", None: None},
    ),
    (types.DateType(), pa.date32(), MonthTransform(), {date(1969, 11, 30): -2, date(1970, 1, 31): 0, None: None}),
    (types.DateType(), pa.date32(), IdentityTransform(), {date(1969, 12, 31): "1969-12-31", None: None}),
    (types.IntegerType(), pa.int32(), TruncateTransform(10), {-1: -10, 0: 0, 19: 10, None: None}),
    (types.LongType(), pa.int64(), TruncateTransform(10), {-10: -10, 2**62: 2**62 - 4, None: None}),
    (
        types.StringType(),
        pa.string(),
        TruncateTransform(2),
        {"": "", "äöü": "äö", "\U0001f600ab": "\U0001f600a", None: None},
    ),
    (types.BinaryType(), pa.binary(), TruncateTransform(2), {b"": "", b"\xff\x00\x01": "FF00", None: None}),
    (
        types.DecimalType(9, 2),
        pa.decimal128(9, 2),
        TruncateTransform(50),
        {Decimal("-0.01"): "-0.50", Decimal("10.65"): "10.50", None: None},
    ),
    (types.BooleanType(), pa.bool_(), IdentityTransform(), {True: True, False: False, None: None}),
    (types.DoubleType(), pa.float64(), IdentityTransform(), {1.5: 1.5, -1e300: -1e300, None: None}),
    (types.StringType(), pa.string(), IdentityTransform(), {"a/b=c d": "a/b=c d", "": "", None: None}),
    # The values of the appendix of Iceberg's specification, modulo the number of buckets.
    (types.IntegerType(), pa.int32(), BucketTransform(1000), {34: 2017239379 % 1000, None: None}),
    (types.LongType(), pa.int64(), BucketTransform(1000), {34: 2017239379 % 1000, None: None}),
    (types.StringType(), pa.string(), BucketTransform(1000), {"iceberg": 1210000089 % 1000, None: None}),
    (types.DateType(), pa.date32(), BucketTransform(1000), {date(2017, 11, 16): (-653330422 & (2**31 - 1)) % 1000}),
    (
        types.DecimalType(9, 2),
        pa.decimal128(9, 2),
        BucketTransform(1000),
        {Decimal("14.20"): (-500754589 & (2**31 - 1)) % 1000},
    ),
    (
        types.TimestampType(),
        pa.timestamp("us"),
        BucketTransform(1000),
        {datetime(2017, 11, 16, 22, 31, 8): (-2047944441 & (2**31 - 1)) % 1000},
    ),
    (
        types.UUIDType(),
        pa.binary(16),
        BucketTransform(1000),
        {UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes: 1488055340 % 1000, None: None},
    ),
    (
        types.UUIDType(),
        pa.binary(16),
        IdentityTransform(),
        {UUID(int=7).bytes: "00000000-0000-0000-0000-000000000007", None: None},
    ),
    (types.FixedType(4), pa.binary(4), BucketTransform(1000), {b"\x00\x01\x02\x03": (-188683207 & (2**31 - 1)) % 1000}),
    (types.LongType(), pa.int64(), VoidTransform(), {1: None}),
]


@pytest.mark.parametrize(("kind", "arrow", "transform", "expected"), CASES, ids=lambda value: str(value)[:40])
def test_values_of_transforms(
    catalog: SqlCatalog,
    make: Callable[..., Table],
    kind: types.PrimitiveType,
    arrow: pa.DataType,
    transform: Transform[Any, Any],
    expected: dict[Any, Any],
) -> None:
    table = make(
        Schema(NestedField(1, "c", kind), NestedField(2, "n", types.LongType())), spec=spec_of((1, transform, "p"))
    )
    values = list(expected) * 3
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"c": pa.array(values, arrow), "n": range(len(values))}))
    found = tuples(table)
    assert {key: [row["n"] for row in rows] for key, rows in found.items()} == {
        (json,): [n for n, value in enumerate(values) if expected[value] == json] for json in expected.values()
    }


@pytest.mark.parametrize(
    ("kind", "arrow", "least"),
    [
        (types.IntegerType(), pa.int32(), -(2**31)),
        (types.LongType(), pa.int64(), -(2**63)),
        (types.DecimalType(9, 2), pa.decimal128(9, 2), Decimal("-9999999.99")),
    ],
    ids=str,
)
def test_a_value_whose_transform_overflows_is_refused(
    catalog: SqlCatalog, make: Callable[..., Table], kind: types.PrimitiveType, arrow: pa.DataType, least: Any
) -> None:
    table = make(Schema(NestedField(1, "c", kind)), spec=spec_of((1, TruncateTransform(10), "p")))
    expected = pytest.raises(
        ZonemapError, match=r"partition field 'p': truncate\[10\] of a value does not fit into .*out\.$"
    )
    with Writer(NAME, catalog=catalog) as writer, expected:
        writer.write(pa.table({"c": pa.array([least], arrow)}))
    assert bodies(table) == []


def test_several_fields_of_one_column_and_of_a_struct(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    schema = Schema(
        NestedField(1, "ts", types.TimestampType()),
        NestedField(2, "place", types.StructType(NestedField(3, "city", types.StringType()))),
    )
    spec = spec_of((1, DayTransform(), "day"), (1, HourTransform(), "hour"), (3, IdentityTransform(), "city"))
    table = make(schema, spec=spec)
    data = pa.table(
        {
            "ts": pa.array([LATER, LATER, BEFORE, None], pa.timestamp("us")),
            "place": pa.array([{"city": "Ulm"}, None, {"city": None}, {"city": "Ulm"}]),
        }
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(data)
    assert set(tuples(table)) == {
        ("2024-02-29", 474781, "Ulm"),
        ("2024-02-29", 474781, None),
        ("1969-12-31", -1, None),
        (None, None, "Ulm"),
    }


def test_folders_name_the_partition(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    schema = Schema(NestedField(1, "kind", types.StringType()), NestedField(2, "ts", types.TimestampType()))
    table = make(schema, spec=spec_of((1, IdentityTransform(), "kind"), (2, DayTransform(), "day")))
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"kind": ["a/b", None], "ts": pa.array([LATER, None], pa.timestamp("us"))}))
    paths = [local(file["file-path"]).relative_to(local(table.location())) for file in content_files(bodies(table)[0])]
    assert {unquote_plus(str(path.parent)) for path in paths} == {
        "data/kind=a/b/day=2024-02-29",
        "data/kind=null/day=null",
    }


def test_zero_and_negative_zero_are_two_partitions(
    catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path
) -> None:
    """Iceberg's readers take the value of an identity partition for the value of each row."""
    make(Schema(NestedField(1, "c", types.DoubleType())), spec=spec_of((1, IdentityTransform(), "p")))
    table = pa.table({"c": [0.0, -0.0, 0.0]})
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(table)
        ids = pa.schema([pa.field("c", pa.float64(), metadata={"PARQUET:field_id": "1"})])
        pq.write_table(table.cast(ids), tmp_path / "a.parquet")
        with pytest.raises(ZonemapError, match="more than one partition"):
            writer.add_files([tmp_path / "a.parquet"])
    (body,) = bodies(catalog.load_table("db.events"))
    found = {
        str(file["content-file"]["partition"]["1000"]): [
            str(row["c"]) for row in data_of({"files": [file]}).to_pylist()
        ]
        for file in body["files"]
    }
    assert found == {"0.0": ["0.0", "0.0"], "-0.0": ["-0.0"]}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_partition_value_without_a_json_form_is_refused_before_a_record(
    catalog: SqlCatalog, make: Callable[..., Table], value: float
) -> None:
    table = make(Schema(NestedField(1, "c", types.DoubleType())), spec=spec_of((1, IdentityTransform(), "p")))
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match="Cannot write partition field 'p'"):
            writer.write(pa.table({"c": [1.0, value]}))
        assert writer.write(pa.table({"c": [1.0]})).seq == 0
    assert len(bodies(table)) == 1


def test_many_partitions_with_few_open_files_and_little_memory(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    schema = Schema(NestedField(1, "n", types.LongType()), NestedField(2, "text", types.StringType()))
    table = make(schema, spec=spec_of((1, BucketTransform(40), "p")))
    batches = [
        pa.record_batch({"n": list(range(start, start + 500)), "text": [f"{n:0100d}" for n in range(500)]})
        for start in range(0, 30_000, 500)
    ]
    with Writer(NAME, catalog=catalog, memory_bytes=2**20, open_files=3) as writer:
        receipt = writer.write(batches)
    assert receipt.rows == 30_000
    body = bodies(table)[0]
    bucket = BucketTransform(40).transform(types.LongType())
    seen = []
    for file in body["files"]:
        (value,) = file["content-file"]["partition"].values()
        found = data_of({"files": [file]}).column("n").to_pylist()
        assert {bucket(n) for n in found} == {value}
        seen += found
    assert sorted(seen) == list(range(30_000))


ORDER = SortOrder(
    SortField(
        source_id=2, transform=IdentityTransform(), direction=SortDirection.DESC, null_order=NullOrder.NULLS_FIRST
    ),
    SortField(source_id=1, transform=IdentityTransform(), direction=SortDirection.ASC, null_order=NullOrder.NULLS_LAST),
)


def test_rows_are_in_the_sort_order_of_the_table(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    schema = Schema(NestedField(1, "n", types.LongType()), NestedField(2, "text", types.StringType()))
    table = make(schema, order=ORDER)
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"n": [1, None, 3, 2, 5], "text": ["a", "b", None, "b", "ä"]}))
    (file,) = content_files(bodies(table)[0])
    assert file["sort-order-id"] == table.metadata.default_sort_order_id == 1
    read = data_of(bodies(table)[0]).to_pylist()
    assert [(row["text"], row["n"]) for row in read] == [(None, 3), ("ä", 5), ("b", 2), ("b", None), ("a", 1)]


def test_a_file_of_several_sorted_parts_claims_no_order(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    schema = Schema(NestedField(1, "n", types.LongType()), NestedField(2, "text", types.StringType()))
    table = make(schema, order=ORDER, **{"write.parquet.row-group-limit": "2"})
    with Writer(NAME, catalog=catalog) as writer:
        writer.write([pa.record_batch({"n": [n, n], "text": ["a", "b"]}) for n in range(3)])
    (file,) = content_files(bodies(table)[0])
    assert len(file["split-offsets"]) == 3
    assert "sort-order-id" not in file


@pytest.mark.parametrize("transform", [BucketTransform(4), DayTransform()])
def test_orders_that_are_not_applied_are_not_claimed(
    catalog: SqlCatalog, make: Callable[..., Table], transform: Transform[Any, Any]
) -> None:
    schema = Schema(NestedField(1, "ts", types.TimestampType()))
    table = make(schema, order=SortOrder(SortField(source_id=1, transform=transform)))
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"ts": pa.array([LATER, BEFORE], pa.timestamp("us"))}))
    (file,) = content_files(bodies(table)[0])
    assert "sort-order-id" not in file
    assert data_of(bodies(table)[0]).column("ts").to_pylist() == [LATER, BEFORE]
