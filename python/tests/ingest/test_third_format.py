# SPDX-License-Identifier: Apache-2.0
"""Tables of format version 3: columns that data files do not have, and times in nanoseconds."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ingest.support import NAME, bodies, content_files, data_of, local
from zonemap.common.errors import ZonemapError
from zonemap.ingest import Writer

UNKNOWN_LIST = {"type": "list", "element-id": 90, "element-required": False, "element": "unknown"}
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901)


def field(number: int, name: str, kind: Any, *, required: bool = False) -> dict[str, Any]:
    return {"id": number, "name": name, "required": required, "type": kind}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def upgrade(table: Table, *fields: dict[str, Any]) -> None:
    """Makes the metadata that of a table of version 3 with these columns behind ``a``; PyIceberg writes none."""
    path = local(table.metadata_location)
    body = json.loads(path.read_text())
    columns = [field(1, "a", "long"), *fields, field(3, "b", "double")]
    schema = {"type": "struct", "schema-id": 0, "identifier-field-ids": [], "fields": columns}
    path.write_text(
        json.dumps(body | {"format-version": 3, "next-row-id": 0, "last-column-id": 99, "schemas": [schema]})
    )


def written(catalog: SqlCatalog, data: pa.Table) -> pq.ParquetFile:
    with Writer(NAME, catalog=catalog) as writer:
        (path,) = writer.write(data).files
    return pq.ParquetFile(local(path))


@pytest.mark.parametrize(
    "kind",
    ["unknown", "geometry", "geography", UNKNOWN_LIST, struct(field(11, "u", "unknown"))],
    ids=["unknown", "geometry", "geography", "list", "struct"],
)
@pytest.mark.parametrize("given", [True, False])
def test_data_files_lack_columns_without_a_form_in_parquet(
    catalog: SqlCatalog, events: Table, kind: Any, given: bool
) -> None:
    upgrade(events, field(2, "v", kind))
    data = pa.table({"a": [1, 2], "b": [1.5, float("nan")]} | ({"v": pa.nulls(2)} if given else {}))
    file = written(catalog, data)
    assert file.schema.names == ["a", "b"]
    assert file.read().to_pydict()["a"] == [1, 2]
    (entry,) = content_files(bodies(events)[0])
    assert set(entry["value-counts"]["keys"]) == {1, 3}
    assert dict(zip(entry["nan-value-counts"]["keys"], entry["nan-value-counts"]["values"], strict=True)) == {3: 1}


def test_the_other_fields_of_a_struct_are_written(catalog: SqlCatalog, events: Table) -> None:
    upgrade(events, field(2, "v", struct(field(11, "u", "unknown"), field(12, "x", "long"))))
    kind = pa.struct([("x", pa.int64()), ("u", pa.null())])
    file = written(catalog, pa.table({"v": pa.array([{"x": 7, "u": None}, None], kind)}))
    assert file.read()["v"].to_pylist() == [{"x": 7}, None]


@pytest.mark.parametrize(
    ("kind", "array", "path"),
    [
        ("unknown", pa.array([1]), "v"),
        ("geometry", pa.array([b"wkb"]), "v"),
        (UNKNOWN_LIST, pa.array([[None]], pa.list_(pa.null())), "v"),
        (struct(field(11, "u", "unknown"), field(12, "x", "long")), pa.array([{"u": 1, "x": 2}]), "v.u"),
    ],
)
def test_values_without_a_form_in_parquet_are_refused(
    catalog: SqlCatalog, events: Table, kind: Any, array: pa.Array, path: str
) -> None:
    upgrade(events, field(2, "v", kind))
    match = rf"column '{path}' has the type .*, whose values this writer"
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=match) as found:
        writer.write(pa.table({"v": array}))
    assert str(found.value).endswith("Leave the column out of the data, or write with Spark.")


def test_a_required_column_without_a_form_in_parquet_is_refused(catalog: SqlCatalog, events: Table) -> None:
    upgrade(events, field(2, "v", "geometry", required=True))
    with Writer(NAME, catalog=catalog) as writer:
        for data in (pa.table({"a": [1]}), pa.table({"v": pa.nulls(1)})):
            with pytest.raises(ZonemapError, match="column 'v' has the type geometry, whose values this writer cannot"):
                writer.write(data)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_of_each_unit_fit_into_nanoseconds(
    catalog: SqlCatalog, events: Table, unit: str, zone: str | None
) -> None:
    upgrade(events, field(2, "v", "timestamp_ns" if zone is None else "timestamptz_ns"))
    moment = MOMENT.replace(microsecond=0) if unit in {"s", "ms"} else MOMENT
    array = pa.array([moment, None], pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    written(catalog, pa.table({"v": array}))
    found = data_of(*bodies(events))["v"]
    assert found.type == pa.timestamp("ns", None if zone is None else "UTC")
    assert found.cast(pa.int64()).to_pylist() == array.cast(pa.timestamp("ns", zone)).cast(pa.int64()).to_pylist()


def test_a_time_beyond_nanoseconds_is_refused(catalog: SqlCatalog, events: Table) -> None:
    upgrade(events, field(2, "v", "timestamp_ns"))
    array = pa.array([datetime(2400, 1, 1)], pa.timestamp("us"))
    match = "a value of column 'v' does not fit into timestamp_ns"
    with Writer(NAME, catalog=catalog) as writer, pytest.raises(ZonemapError, match=match):
        writer.write(pa.table({"v": array}))


@pytest.mark.parametrize("large", [False, True])
def test_list_views_in_any_order(catalog: SqlCatalog, events: Table, large: bool) -> None:
    upgrade(events, field(2, "v", {"type": "list", "element-id": 90, "element-required": False, "element": "long"}))
    views, index = (pa.LargeListViewArray, pa.int64()) if large else (pa.ListViewArray, pa.int32())
    offsets, sizes = pa.array([4, 0, 2, 1, 0], index), pa.array([2, 3, 1, 0, 1], index)
    array = views.from_arrays(offsets, sizes, pa.array(range(1, 7)), mask=pa.array([False, False, True, False, False]))
    expected = [[5, 6], [1, 2, 3], None, [], [1]]
    assert array.to_pylist() == expected
    for given in (array, array.slice(1, 3)):
        assert written(catalog, pa.table({"v": given})).read()["v"].to_pylist() == given.to_pylist()


def test_views_and_dictionaries_within_other_types(catalog: SqlCatalog, events: Table) -> None:
    texts = {"type": "list", "element-id": 90, "element-required": False, "element": "string"}
    upgrade(events, field(2, "v", struct(field(11, "l", texts))))
    kind = pa.struct([("l", pa.list_view(pa.dictionary(pa.int32(), pa.string())))])
    plain = [{"l": ["x", None]}, None, {"l": None}, {"l": []}]
    labels = pa.array(["x", None]).dictionary_encode()
    view = pa.ListViewArray.from_arrays(
        pa.array([0, 0, 0, 0], pa.int32()), pa.array([2, 0, 0, 0], pa.int32()), labels,
        mask=pa.array([False, False, True, False]),
    )  # fmt: skip
    array = pa.StructArray.from_arrays([view], fields=list(kind), mask=pa.array([False, True, False, False]))
    assert written(catalog, pa.table({"v": array})).read()["v"].to_pylist() == plain
