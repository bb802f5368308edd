# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg import types
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import NestedField

from ingest.support import NAME, bodies, content_files, data_of, local, mapped
from zonemap.ingest import Writer

NAN, INF = float("nan"), float("inf")
TEXT = Schema(NestedField(1, "s", types.StringType()))
NUMBER = Schema(NestedField(1, "d", types.DoubleType()))


def written(catalog: SqlCatalog, table: Table, column: pa.Array) -> dict[str, Any]:
    name = table.schema().fields[0].name
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({name: column}))
    (file,) = content_files(bodies(table)[0])
    return file


def bounds(file: dict[str, Any]) -> tuple[bytes | None, bytes | None]:
    lower, upper = mapped(file["lower-bounds"]).get(1), mapped(file["upper-bounds"]).get(1)
    return None if lower is None else bytes.fromhex(lower), None if upper is None else bytes.fromhex(upper)


@pytest.mark.parametrize(
    ("mode", "values", "lower", "upper"),
    [
        ("truncate(4)", ["abcd", "wxyz"], "abcd", "wxyz"),
        ("truncate(4)", ["abcde", "wxyza"], "abcd", "wxy{"),
        ("truncate(2)", ["a\uffff\U0010ffff"], "a\uffff", "a\U00010000"),
        ("truncate(2)", ["a\ud7ffx"], "a\ud7ff", "a\ue000"),
        ("truncate(2)", ["a\U0010ffffx"], "a\U0010ffff", "b"),
        ("truncate(2)", ["\U0010ffff" * 3], "\U0010ffff" * 2, None),
        ("truncate(1)", ["", "ä"], "", "ä"),
        ("full", ["a" * 100, "b" * 100], "a" * 100, "b" * 100),
        ("counts", ["a"], None, None),
        ("none", ["a"], None, None),
        ("nonsense", ["a" * 20], "a" * 16, "a" * 15 + "b"),
    ],
)
def test_bounds_of_texts(
    catalog: SqlCatalog,
    make: Callable[..., Table],
    mode: str,
    values: list[str],
    lower: str | None,
    upper: str | None,
) -> None:
    file = written(catalog, make(TEXT, **{"write.metadata.metrics.column.s": mode}), pa.array(values))
    expected = [None if text is None else text.encode() for text in (lower, upper)]
    assert bounds(file) == tuple(expected)
    assert mapped(file["value-counts"]) == ({} if mode == "none" else {1: len(values)})
    assert set(mapped(file["column-sizes"])) == {1}


def test_a_text_that_parquet_does_not_bound_leaves_no_bound(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    table = make(TEXT, **{"write.parquet.row-group-limit": "2"})
    file = written(catalog, table, pa.array(["m", "n", "z" * 5000, "a", None, None]))
    assert len(file["split-offsets"]) == 3
    assert bounds(file) == (None, None)
    assert mapped(file["null-value-counts"]) == {1: 2}


@pytest.mark.parametrize(
    ("values", "nans", "lower", "upper"),
    [
        ([1.0, NAN, 3.0, NAN], 2, 1.0, 3.0),
        ([NAN, NAN, 3.0, 4.0], 2, 3.0, 4.0),
        ([NAN, NAN, NAN, None], 3, None, None),
        ([None, None, None, None], 0, None, None),
        ([-INF, INF, NAN, 0.0], 1, -INF, INF),
        ([0.0, 0.0, 0.0, 0.0], 0, -0.0, 0.0),
        ([-0.0, -0.0, -0.0, -0.0], 0, -0.0, 0.0),
    ],
)
def test_bounds_of_floats(
    catalog: SqlCatalog,
    make: Callable[..., Table],
    values: list[float | None],
    nans: int,
    lower: float | None,
    upper: float | None,
) -> None:
    table = make(NUMBER, **{"write.parquet.row-group-limit": "2"})
    file = written(catalog, table, pa.array(values, pa.float64()))
    assert mapped(file["nan-value-counts"]) == {1: nans}
    assert bounds(file) == tuple(None if value is None else struct.pack("<d", value) for value in (lower, upper))


def test_row_groups_have_no_statistics_of_floats(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    """A reader would skip a row group whose NaNs are greater than the value in a filter."""
    place = types.StructType(NestedField(5, "height", types.FloatType()), NestedField(6, "city", types.StringType()))
    fields = [
        NestedField(1, "id", types.LongType()),
        NestedField(2, "a", types.DoubleType()),
        NestedField(3, "b.c", types.FloatType()),
        NestedField(4, "place", place),
    ]
    table = make(Schema(*fields), **{"write.metadata.metrics.column.a": "none"})
    data = {"id": [1], "a": [1.0], "b.c": pa.array([1.0], pa.float32()), "place": [{"height": NAN, "city": "Ulm"}]}
    kind = pa.struct([("height", pa.float32()), ("city", pa.string())])
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({**data, "place": pa.array(data["place"], kind)}))
    (file,) = content_files(bodies(table)[0])
    group = pq.ParquetFile(local(file["file-path"])).metadata.row_group(0)
    found = {group.column(n).path_in_schema: group.column(n).is_stats_set for n in range(group.num_columns)}
    assert found == {"id": True, "a": False, "b_x2Ec": False, "place.height": False, "place.city": True}
    assert mapped(file["null-value-counts"]) == {1: 0, 3: 0, 5: 0, 6: 0}
    assert mapped(file["nan-value-counts"]) == {3: 0, 5: 1}
    assert set(mapped(file["lower-bounds"])) == {1, 3, 6}


def test_every_float_column_has_a_count_of_nans(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    """A strict evaluator of Iceberg takes a missing count, beside others, for none."""
    fields = [NestedField(number, f"c{number}", types.DoubleType()) for number in (1, 2, 3)]
    table = make(Schema(*fields), **{"write.metadata.metrics.column.c3": "none"})
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(pa.table({"c1": [1.0], "c2": pa.array([None], pa.float64()), "c3": [NAN]}))
    (file,) = content_files(bodies(table)[0])
    assert mapped(file["nan-value-counts"]) == {1: 0, 2: 0}


def test_wide_tables_have_metrics_of_the_first_columns(catalog: SqlCatalog, make: Callable[..., Table]) -> None:
    fields = [NestedField(number, f"c{number}", types.LongType()) for number in range(1, 6)]
    order = SortOrder(SortField(source_id=5, transform=IdentityTransform()))
    limit = {"write.metadata.metrics.max-inferred-column-defaults": "2"}
    table = make(Schema(*fields), **limit, **{"write.metadata.metrics.column.c4": "counts"})
    sorted_table = make(
        Schema(*fields), order=order, name="sorted", **limit, **{"write.metadata.metrics.default": "none"}
    )
    data = pa.table({field.name: [1] for field in fields})
    for name, made, counted, bounded in (
        ("events", table, {1, 2, 4}, {1, 2}),
        ("sorted", sorted_table, {5}, {5}),
    ):
        with Writer(f"lake.db.{name}", catalog=catalog) as writer:
            writer.write(data)
        (file,) = content_files(bodies(made)[0])
        assert set(mapped(file["value-counts"])) == counted
        assert set(mapped(file["lower-bounds"])) == bounded
        assert set(mapped(file["column-sizes"])) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("seed", range(5))
def test_no_value_lies_outside_its_bounds(catalog: SqlCatalog, make: Callable[..., Table], seed: int) -> None:
    chooser = random.Random(seed)
    schema = Schema(
        NestedField(1, "s", types.StringType()),
        NestedField(2, "b", types.BinaryType()),
        NestedField(3, "d", types.DoubleType()),
        NestedField(4, "n", types.DecimalType(30, 3)),
    )
    table = make(schema, **{"write.parquet.row-group-limit": "7", "write.metadata.metrics.default": "truncate(3)"})
    letters = "a\x7f\u07ff\ud7ff\ue000\uffff\U00010000\U0010ffff"
    count = 60

    def some(value: Callable[[], Any]) -> list[Any]:
        return [None if chooser.random() < 0.1 else value() for _ in range(count)]

    data = pa.table(
        {
            "s": some(lambda: "".join(chooser.choices(letters, k=chooser.choice([0, 2, 3, 4, 9, 6000])))),
            "b": pa.array(
                some(lambda: bytes(chooser.choices([0, 127, 128, 255], k=chooser.randint(0, 6)))), pa.binary()
            ),
            "d": pa.array(some(lambda: chooser.choice([NAN, -0.0, 0.0, INF, -INF, chooser.random()])), pa.float64()),
            "n": pa.array(some(lambda: chooser.randint(-(10**20), 10**20)), pa.decimal128(27, 0)).cast(
                pa.decimal128(30, 3)
            ),
        }
    )
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(data)
    body = bodies(table)[0]
    (file,) = content_files(body)
    read = data_of(body)
    lower, upper = mapped(file["lower-bounds"]), mapped(file["upper-bounds"])
    for key, name in enumerate(("s", "b", "d", "n"), start=1):
        values = [value for value in read.column(name).to_pylist() if value is not None]
        decode = {
            "s": lambda raw: raw,
            "b": lambda raw: raw,
            "d": lambda raw: struct.unpack("<d", raw)[0],
            "n": lambda raw: int.from_bytes(raw, "big", signed=True),
        }[name]
        comparable: list[Any] = values
        if name == "s":
            comparable = [value.encode() for value in values]
        elif name == "d":
            comparable = [value for value in values if not math.isnan(value)]
        elif name == "n":
            comparable = [int(value.scaleb(3)) for value in values]
        if key in lower:
            assert decode(bytes.fromhex(lower[key])) <= min(comparable), (seed, name)
        if key in upper:
            assert decode(bytes.fromhex(upper[key])) >= max(comparable), (seed, name)
        assert mapped(file["null-value-counts"])[key] == count - len(values)
    assert 3 in lower and 4 in lower, seed
    assert mapped(file["nan-value-counts"]) == {
        3: sum(math.isnan(v) for v in read.column("d").to_pylist() if v is not None)
    }
