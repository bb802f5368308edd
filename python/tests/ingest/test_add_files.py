# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import NestedField

from ingest.support import NAME, bodies, content_files, data_of, mapped, record_paths, rows
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import Writer

NAN = float("nan")
IDS = {"id": 1, "kind": 2, "reading": 3}


def with_ids(table: pa.Table, ids: dict[str, int] = IDS) -> pa.Table:
    """The table with field ids, as another engine's writer has them in its files."""
    fields = [
        field.with_metadata({"PARQUET:field_id": str(ids[field.name])}) if field.name in ids else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


@pytest.fixture
def place(events: Table, tmp_path: Path) -> Callable[..., str]:
    folder = tmp_path / "warehouse" / "db" / "events" / "data"
    folder.mkdir(parents=True, exist_ok=True)

    def put(table: pa.Table, name: str = "a.parquet", **options: Any) -> str:
        pq.write_table(table, folder / name, **options)
        return str(folder / name)

    return put


def test_files_in_place_are_enqueued(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    first = place(with_ids(rows(2, 1, kind="x" * 20)))
    second = place(with_ids(rows(3)), "b.parquet")
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipt = writer.add_files([first, Path(second)])
        assert writer.write(rows(4)).seq == 2
    assert (receipt.seq, receipt.rows, receipt.files) == (1, 3, (f"file://{first}", f"file://{second}"))
    body = bodies(events)[0]
    assert body["existing"] is True and "existing" not in bodies(events)[1]
    file = content_files(body)[0]
    assert file["file-path"].startswith(events.location())
    assert mapped(file["value-counts"]) == {1: 2, 2: 2, 3: 2}
    assert mapped(file["lower-bounds"]) == {
        1: struct.pack("<q", 1).hex().upper(),
        2: (b"x" * 16).hex().upper(),
    }
    assert mapped(file["upper-bounds"])[2] == (b"x" * 15 + b"y").hex().upper()
    assert data_of(body).column("id").to_pylist() == [2, 1, 3]


def test_floats_have_no_bounds_because_nans_are_not_counted(
    catalog: SqlCatalog, events: Table, place: Callable[..., str]
) -> None:
    with Writer(NAME, catalog=catalog) as writer:
        writer.add_files([place(with_ids(pa.concat_tables([rows(1, reading=2.0), rows(2, reading=NAN)])))])
    (file,) = content_files(bodies(events)[0])
    assert "nan-value-counts" not in file
    assert set(mapped(file["lower-bounds"])) == set(mapped(file["upper-bounds"])) == {1, 2}
    assert mapped(file["null-value-counts"]) == {1: 0, 2: 0, 3: 0}


def test_file_without_statistics_has_no_bounds(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    location = place(
        with_ids(rows(1)).cast(
            with_ids(rows()).schema.set(0, pa.field("id", pa.int64(), False, {"PARQUET:field_id": "1"}))
        ),
        write_statistics=False,
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.add_files([location])
    (file,) = content_files(bodies(events)[0])
    assert mapped(file["lower-bounds"]) == mapped(file["upper-bounds"]) == mapped(file["null-value-counts"]) == {}
    assert mapped(file["value-counts"]) == {1: 1, 2: 1, 3: 1}


def test_renamed_columns_are_found_by_their_ids(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    location = place(with_ids(rows(7)))
    with events.update_schema() as change:
        change.rename_column("id", "number")
        change.delete_column("kind")
    with Writer(NAME, catalog=catalog) as writer:
        writer.add_files([location])
    (file,) = content_files(bodies(events)[0])
    assert mapped(file["lower-bounds"])[1] == struct.pack("<q", 7).hex().upper()
    assert set(mapped(file["value-counts"])) == {1, 3}


def test_a_name_mapping_replaces_field_ids(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    location = place(rows(5))
    with Writer(NAME, catalog=catalog, refresh_seconds=1e-9) as writer:
        with pytest.raises(ZonemapError, match=r"schema\.name-mapping\.default"):
            writer.add_files([location])
        mapping = events.schema().name_mapping.model_dump_json()
        with events.transaction() as change:
            change.set_properties({"schema.name-mapping.default": mapping})
        assert writer.add_files([location]).rows == 1
    (file,) = content_files(bodies(events)[0])
    assert mapped(file["upper-bounds"])[1] == struct.pack("<q", 5).hex().upper()


def test_types_that_iceberg_promotes(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    narrow = pa.table({"id": pa.array([-5], pa.int32()), "reading": pa.array([0.1], pa.float32())})
    with Writer(NAME, catalog=catalog) as writer:
        writer.add_files([place(with_ids(narrow))])
    (file,) = content_files(bodies(events)[0])
    assert mapped(file["lower-bounds"]) == {1: struct.pack("<q", -5).hex().upper()}
    assert mapped(file["value-counts"]) == {1: 1, 3: 1}


REFUSED = [
    (pa.table({"kind": ["a"]}), IDS, "the required column 'id' is missing"),
    (rows(1).set_column(0, "id", pa.array([None], pa.int64())), IDS, "its column 'id' has nulls, and is required"),
    (rows(1), {"id": 1, "kind": 2}, "its column 'reading' has no field id"),
    (pa.table({"id": ["1"]}), IDS, "its column 'id' has the type string, and the table has long"),
    (pa.table({"id": pa.array([1], pa.uint64())}), IDS, "is stored as uint64"),
    (
        pa.table({"id": pa.array([datetime(2024, 1, 1)], pa.timestamp("ns"))}),
        IDS,
        r"Column 'id' has an unsupported type: timestamp\[ns\]",
    ),
]


@pytest.mark.parametrize(("table", "ids", "message"), REFUSED)
def test_files_that_do_not_fit(
    catalog: SqlCatalog, events: Table, place: Callable[..., str], table: pa.Table, ids: dict[str, int], message: str
) -> None:
    location = place(with_ids(table, ids))
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=message) as caught:
        writer.add_files([location])
    assert str(caught.value).startswith(f"Cannot add the file 'file://{location}' to '{NAME}'")
    assert record_paths(events) == []


def test_timestamps_in_milliseconds_are_refused(
    catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path
) -> None:
    make(Schema(NestedField(1, "ts", types.TimestampType())))
    table = with_ids(pa.table({"ts": pa.array([datetime(2024, 1, 1)], pa.timestamp("ms"))}), {"ts": 1})
    pq.write_table(table, tmp_path / "a.parquet")
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=r"stored as timestamp\[ms\]"):
        writer.add_files([tmp_path / "a.parquet"])


def test_floats_of_16_bits_are_refused(catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path) -> None:
    make(Schema(NestedField(1, "f", types.FloatType())))
    pq.write_table(with_ids(pa.table({"f": pa.array([1.5], pa.float16())}), {"f": 1}), tmp_path / "a.parquet")
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match="stored as halffloat"):
        writer.add_files([tmp_path / "a.parquet"])


def test_files_that_are_missing_damaged_or_old(catalog: SqlCatalog, events: Table, place: Callable[..., str]) -> None:
    location = place(with_ids(rows(1)))
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match="it does not exist"):
            writer.add_files([location, f"{location}.gone"])
        with pytest.raises(ZonemapError, match="its location is not absolute"):
            writer.add_files(["a.parquet"])
        for locations in ("a.parquet", [location, location], [location, f"file://{location}"]):
            with pytest.raises(InvalidArgumentError):
                writer.add_files(locations)
        whole = Path(location).read_bytes()
        for length in (0, 3, len(whole) // 2, len(whole) - 1):
            torn = Path(location).with_name(f"torn{length}.parquet")
            torn.write_bytes(whole[:length])
            with pytest.raises(ZonemapError, match="Cannot add the file"):
                writer.add_files([torn])
        day_old = time.time() - 40 * 3600
        os.utime(location, (day_old, day_old))
        with pytest.raises(ZonemapError, match="it was written 40 hours ago"):
            writer.add_files([location])
        assert writer.add_files([location], greatest_age_hours=48).seq == 0
    assert len(record_paths(events)) == 1


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([datetime(2024, 2, 29, 1), datetime(2024, 2, 29, 23)], ["2024-02-29", None]),
        ([None, None], [None, None]),
        ([datetime(2024, 2, 29, 1), datetime(2024, 3, 1)], None),
        ([datetime(2024, 2, 29, 1), None], None),
    ],
)
def test_partition_comes_from_the_rows(
    catalog: SqlCatalog,
    make: Callable[..., Table],
    tmp_path: Path,
    values: list[datetime | None],
    expected: list[Any] | None,
) -> None:
    spec = PartitionSpec(
        PartitionField(1, 1000, DayTransform(), "day"), PartitionField(2, 1001, IdentityTransform(), "kind")
    )
    table = make(
        Schema(NestedField(1, "ts", types.TimestampType()), NestedField(2, "kind", types.StringType())), spec=spec
    )
    data = with_ids(pa.table({"when": pa.array(values, pa.timestamp("us"))}), {"when": 1})
    pq.write_table(data, tmp_path / "a.parquet", row_group_size=1)
    with Writer(NAME, catalog=catalog) as writer:
        if expected is None:
            with pytest.raises(ZonemapError, match="rows are of more than one partition"):
                writer.add_files([tmp_path / "a.parquet"])
            return
        writer.add_files([tmp_path / "a.parquet"])
    (file,) = content_files(bodies(table)[0])
    assert file["partition"] == {"1000": expected[0], "1001": expected[1]}


def test_buckets_are_computed_from_the_rows(catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(8), "bucket"))
    table = make(Schema(NestedField(1, "n", types.LongType())), spec=spec)
    bucket = BucketTransform(8).transform(types.LongType())
    same = [n for n in range(100) if bucket(n) == 3]
    pq.write_table(with_ids(pa.table({"n": same}), {"n": 1}), tmp_path / "a.parquet")
    pq.write_table(with_ids(pa.table({"n": range(100)}), {"n": 1}), tmp_path / "b.parquet")
    with Writer(NAME, catalog=catalog) as writer:
        writer.add_files([tmp_path / "a.parquet"])
        with pytest.raises(ZonemapError, match="more than one partition"):
            writer.add_files([tmp_path / "b.parquet"])
    assert [file["partition"] for file in content_files(bodies(table)[0])] == [{"1000": 3}]
