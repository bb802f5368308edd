# SPDX-License-Identifier: Apache-2.0
"""Input that programs give by accident: columns without values, other zones, files that are known, full disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import NestedField

from ingest.support import EVENTS, NAME, bodies, data_of, local, record_paths, rows, spool_of
from zonemap.common.errors import ZonemapError
from zonemap.ingest import EnqueueUnknownError, Writer
from zonemap.ingest.spool import Spool
from zonemap.ingest.storage import LocalStorage

NESTED = Schema(
    NestedField(1, "id", types.LongType()),
    NestedField(2, "l", types.ListType(10, types.StringType(), element_required=True)),
    NestedField(3, "s", types.StructType(NestedField(11, "a", types.LongType(), required=True))),
    NestedField(4, "m", types.MapType(12, types.StringType(), 13, types.LongType())),
    NestedField(5, "t", types.TimestampType()),
    NestedField(6, "z", types.TimestamptzType()),
)
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)


def one(name: str, array: pa.Array) -> pa.Table:
    return pa.table({"id": pa.array(range(len(array)), pa.int64()), name: array})


@pytest.mark.parametrize(
    ("name", "array", "found"),
    [
        ("l", pa.nulls(2), [None, None]),
        ("l", pa.array([[], None], pa.list_(pa.null())), [[], None]),
        ("s", pa.nulls(2), [None, None]),
        ("m", pa.nulls(2), [None, None]),
        ("t", pa.nulls(1), [None]),
        ("z", pa.array([MOMENT], pa.timestamp("us", "Europe/Berlin")), [MOMENT]),
        ("z", pa.array([MOMENT, None], pa.timestamp("us", "-05:30")), [MOMENT, None]),
        ("z", pa.array([MOMENT], pa.timestamp("ns", "UTC")), [MOMENT]),
        ("t", pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("ns")), [MOMENT.replace(tzinfo=None)]),
        ("z", pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")).dictionary_encode(), [MOMENT]),
    ],
)
def test_columns_without_values_and_times(
    catalog: SqlCatalog, make: Callable[..., Table], name: str, array: pa.Array, found: list[Any]
) -> None:
    table = make(NESTED)
    with Writer(NAME, catalog=catalog) as writer:
        assert writer.write(one(name, array)).rows == len(found)
    assert data_of(*bodies(table)).column(name).to_pylist() == found


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("l", pa.array([[None]], pa.list_(pa.null())), "the required field 'element' has 1 nulls"),
        ("s", pa.array([{"a": None}]), "the required field 'a' has 1 nulls"),
        ("t", pa.array([1], pa.int64()).cast(pa.timestamp("ns")), "would lose data: 1"),
        ("t", pa.array([MOMENT], pa.timestamp("us", "Europe/Berlin")), "has the type timestamptz"),
        ("z", pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("us")), "has the type timestamp"),
    ],
)
def test_values_that_the_column_cannot_hold(
    catalog: SqlCatalog, make: Callable[..., Table], name: str, array: pa.Array, message: str
) -> None:
    table = make(NESTED)
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=message):
        writer.write(one(name, array))
    assert record_paths(table) == []


def test_a_required_column_of_nulls_is_refused(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match="required column 'id' has 1 nulls"):
        writer.write(pa.table({"id": pa.nulls(1)}))
    assert record_paths(events) == []


class _Frame:
    """As a DataFrame: has columns, and an iterator over their names."""

    columns = ("id",)

    def __iter__(self) -> Any:
        return iter(self.columns)


@pytest.mark.parametrize(("data", "kind"), [({"id": [1]}, "dict"), (_Frame(), "_Frame")])
def test_containers_of_columns_are_named(catalog: SqlCatalog, events: Table, data: Any, kind: str) -> None:
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=f"Cannot write a {kind}: give"):
        writer.write(data)
    assert record_paths(events) == []


@pytest.fixture
def placed(events: Table) -> Path:
    """A data file of the table that no record names."""
    path = local(events.location()) / "data" / "a.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows(1, 2).cast(schema_to_pyarrow(EVENTS, include_field_ids=True)), path)
    return path


def test_a_file_that_is_queued_is_not_added_again(catalog: SqlCatalog, events: Table, placed: Path) -> None:
    with Writer(NAME, catalog=catalog) as first, Writer(NAME, catalog=catalog) as second:
        first.add_files([placed])
        for location in (placed, f"file:{placed}", f"file://{placed}"):
            with pytest.raises(ZonemapError, match="a record in the spool names it"):
                second.add_files([location])
        with pytest.raises(ZonemapError, match="its location is not absolute"):
            second.add_files([placed.parent / ".." / "data" / placed.name])
        assert len(record_paths(events)) == 1
        assert second.add_files([placed], check_duplicates=False).rows == 2
    assert len(record_paths(events)) == 2


def test_a_file_of_the_table_is_not_added_again(catalog: SqlCatalog, events: Table, placed: Path) -> None:
    events.append(rows(5).cast(schema_to_pyarrow(EVENTS)))
    (path,) = events.inspect.data_files().column("file_path").to_pylist()
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match="the table has it already"):
            writer.add_files([placed, path])
        assert record_paths(events) == []
        assert writer.add_files([placed]).rows == 2


def test_a_folder_and_a_damaged_footer_are_refused(catalog: SqlCatalog, events: Table, placed: Path) -> None:
    whole = placed.read_bytes()
    damaged = placed.with_name("b.parquet")
    damaged.write_bytes(whole[:4] + bytes(len(whole) - 12) + whole[-8:])
    with Writer(NAME, catalog=catalog) as writer:
        with pytest.raises(ZonemapError, match="it is no file"):
            writer.add_files([placed.parent])
        with pytest.raises(ZonemapError, match=r"(?s)it cannot be read .*Check the file"):
            writer.add_files([damaged])
    assert record_paths(events) == []


@pytest.mark.parametrize("at", ["create", "sync"])
def test_a_storage_that_is_full(catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Writer(NAME, catalog=catalog, lane="a") as writer:
        with monkeypatch.context() as patch:
            if at == "create":
                patch.setattr(PyArrowFileIO, "new_output", full)
            else:
                patch.setattr(LocalStorage, "make_durable", full)
            with pytest.raises(ZonemapError, match=r"No space left.*Nothing was appended") as caught:
                writer.write(rows(1))
        assert not isinstance(caught.value, EnqueueUnknownError)
        assert record_paths(events) == []
        assert writer.write(rows(1)).rows == 1
    assert data_of(*bodies(events)).column("id").to_pylist() == [1]


def test_a_huge_file_in_the_place_of_a_record_is_not_read(
    catalog: SqlCatalog, events: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        path = local(writer.write(rows(1), seq=0).record)
    with path.open("r+b") as file:
        file.truncate(100 * 2**20)
    read = LocalStorage.read

    def small(storage: LocalStorage, location: str) -> bytes | None:
        assert local(location) != path
        return read(storage, location)

    monkeypatch.setattr(LocalStorage, "read", small)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert writer.write(rows(1), seq=0).duplicate is False
        assert list(Spool(str(spool_of(events)), LocalStorage()).data_files()) != []
    path.unlink()
    assert data_of(*bodies(events)).column("id").to_pylist() == [1]
