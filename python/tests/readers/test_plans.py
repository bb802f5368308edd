# SPDX-License-Identifier: Apache-2.0
"""Plans from stored indexes of each layout, against PyIceberg's own plans."""

from __future__ import annotations

import datetime as dt
import random
import struct
import tracemalloc
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNaN,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    NotEqualTo,
    NotIn,
    NotNaN,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files
from pyiceberg.manifest import DATA_FILE_TYPE
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, LongType

from readers.conftest import numbered
from readers.writer import Options, write_index
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.pyiceberg import Fallback, plan, plan_files
from zonemap.pyiceberg.dictionary import LongDictionary
from zonemap.pyiceberg.intervals import value_test
from zonemap.pyiceberg.predicate import Leaf, Op
from zonemap.pyiceberg.types import StoredType
from zonemap.pyiceberg.wire import Cursor

LAYOUTS = {
    "exact codes": Options(),
    "packed codes": Options(packed_codes=True, compressed=True),
    "frames": Options(boundaries=5, detail=0, compressed=True),
    "packed exact bounds": Options(boundaries=5, detail=0, packed_codes=True, packed_exact=True),
    "frames of all values": Options(detail=0),
    "coarse": Options(boundaries=9, detail=2),
}


def paths(tasks: list[Any]) -> set[str]:
    return {task.file.file_path for task in tasks}


def both(table: Table, filter_: BooleanExpression | str, **scan: Any) -> tuple[int, int]:
    """The number of files of PyIceberg's plan and of the index's, which are among them.

    A file that only PyIceberg plans must have no row for which the filter is true.
    """
    theirs = table.scan(row_filter=filter_, **scan)
    stock = {task.file.file_path: task for task in theirs.plan_files()}
    found = plan(theirs)
    assert found.is_from_index, found.reason
    ours = paths(found.tasks)
    assert ours <= stock.keys(), f"{filter_}: {len(ours - stock.keys())} files more"
    left_out = [task for path, task in stock.items() if path not in ours]
    if left_out:
        read = ArrowScan(table.metadata, table.io, table.schema(), theirs.row_filter, theirs.case_sensitive)
        assert read.to_table(left_out).num_rows == 0, filter_
    return len(stock), len(ours)


def read(table: Table, filter_: BooleanExpression) -> list[Any]:
    """The rows that PyIceberg reads from the plan of the index, which are those of a scan of every file."""
    scan = table.scan(row_filter=filter_)
    reader = ArrowScan(table.metadata, table.io, scan.projection(), scan.row_filter, scan.case_sensitive)
    found = plan(scan)
    assert found.is_from_index, found.reason
    rows = reader.to_table(found.tasks).to_pylist()
    everything = reader.to_table(list(table.scan().plan_files())).to_pylist()
    assert sorted(map(repr, rows)) == sorted(map(repr, everything)), filter_
    return rows


def append_without_nan(table: Table, rows: pa.Table) -> None:
    """Appends rows whose file states that it has no NaN, as the files of other writers do; PyIceberg counts none."""
    append_with(table, rows, "nan_value_counts", {field.field_id: 0 for field in table.schema().fields})


def append_with(table: Table, rows: pa.Table, name: str, value: Any) -> None:
    """Appends rows in a file with another value of a field of its manifest entry."""
    place = next(i for i, each in enumerate(DATA_FILE_TYPE[2].fields) if each.name == name)
    with table.transaction() as change, change.update_snapshot().fast_append() as append:
        for file in _dataframe_to_data_files(table_metadata=change.table_metadata, df=rows, io=table.io):
            file._data[place] = value
            append.append_data_file(file)


COMPARISONS = (EqualTo, NotEqualTo, LessThan, LessThanOrEqual, GreaterThan, GreaterThanOrEqual)


def test_each_layout_gives_the_files_of_pyiceberg(ranges: Table) -> None:
    values = {
        "id": [0, 9, 35, 80],
        "name": ["name-0009", "name-00355", "z"],
        "reading": [0.0, 2.5, 8.8],
    }
    filters = [
        compare(column, literal)
        for column, literals in values.items()
        for literal in literals
        for compare in COMPARISONS
        # PyArrow counts no NaN, which is above all numbers: see below
        if column != "reading" or compare not in {GreaterThan, GreaterThanOrEqual}
    ]
    stock = [paths(list(ranges.scan(row_filter=filter_).plan_files())) for filter_ in filters]
    for layout, options in LAYOUTS.items():
        write_index(ranges, options)
        for filter_, theirs in zip(filters, stock, strict=True):
            ours = paths(plan_files(ranges.scan(row_filter=filter_)))
            assert ours >= theirs if layout == "coarse" else ours == theirs, f"{layout}: {filter_}"


def test_many_files_and_filters_at_random(make: Callable[..., Table]) -> None:
    seed = random.Random(5)
    firsts = [seed.randrange(500) for _ in range(16)]
    table = make([numbered(range(first, first + seed.randrange(1, 30))) for first in firsts])
    for layout, options in LAYOUTS.items():
        if layout == "coarse":
            continue
        write_index(table, options)
        for _ in range(15):
            parts = [
                seed.choice(COMPARISONS[:4])("id", seed.randrange(540)),
                In("name", {f"name-{seed.randrange(540):04d}" for _ in range(seed.choice((1, 3, 90)))}),
                LessThan("reading", seed.randrange(540) / 4),
                Not(StartsWith("name", f"name-0{seed.randrange(6)}")),
            ]
            left, right = seed.sample(parts, 2)
            both(table, seed.choice((And, Or))(left, right))


def test_files_and_tasks_have_the_form_of_pyiceberg(ranges: Table) -> None:
    write_index(ranges)
    scan = ranges.scan(row_filter="id >= 35 and name < 'name-0045'")
    stock, ours = list(scan.plan_files()), plan_files(scan)
    for theirs, task in zip(
        sorted(stock, key=lambda t: t.file.file_path), sorted(ours, key=lambda t: t.file.file_path), strict=True
    ):
        assert task.residual == theirs.residual
        assert task.delete_files == theirs.delete_files == set()
        for name in (
            "content",
            "file_format",
            "partition",
            "record_count",
            "file_size_in_bytes",
            "split_offsets",
            "sort_order_id",
            "spec_id",
        ):
            assert getattr(task.file, name) == getattr(theirs.file, name), name
    assert scan.to_arrow().num_rows == sum(1 for _ in range(35, 45))


def test_constants(ranges: Table) -> None:
    write_index(ranges)
    assert both(ranges, AlwaysTrue()) == (8, 8)
    assert both(ranges, AlwaysFalse())[1] == 0
    assert both(ranges, Or(AlwaysFalse(), EqualTo("id", 3))) == (1, 1)
    assert both(ranges, And(AlwaysTrue(), EqualTo("id", 3))) == (1, 1)


def test_a_long_list_prunes(ranges: Table) -> None:
    write_index(ranges)
    assert both(ranges, In("id", set(range(75, 400)))) == (8, 1)
    assert both(ranges, In("id", set(range(1000, 1300)))) == (8, 0)


def test_a_column_without_an_index_prunes_nothing(ranges: Table) -> None:
    write_index(ranges, Options(columns={1}))
    found = plan(ranges.scan(row_filter="name = 'name-0000'"))
    assert (found.is_from_index, len(found.tasks)) == (True, 8)
    assert both(ranges, "id = 5 and name = 'name-0000'") == (1, 1)


def test_nulls(make: Callable[..., Table]) -> None:
    def file(*values: int | None) -> pa.Table:
        return pa.table({"x": pa.array(values, pa.int32())})

    table = make([file(None, None), file(1, None), file(5, 5), file(7, 9)])
    write_index(table)
    assert both(table, IsNull("x")) == (2, 2)
    assert both(table, NotNull("x")) == (3, 3)
    assert both(table, LessThan("x", 100)) == (3, 3)
    # PyIceberg does not compare <> with bounds; a file of one value without nulls has no match.
    assert both(table, NotEqualTo("x", 5)) == (4, 3)
    assert both(table, NotIn("x", {5, 6})) == (4, 3)


def test_nan_is_above_all_numbers_and_unknown_nan_keeps_the_file(make: Callable[..., Table]) -> None:
    def file(*values: float) -> pa.Table:
        return pa.table({"x": pa.array(values, pa.float64())})

    table = make([file(1.0, 2.0), file(float("nan"), 3.0), file(-0.0, 0.0), file(float("nan"))])
    write_index(table)
    # PyArrow counts no NaN, so that each file may hold one: SQL engines return it for "more than".
    assert len(plan_files(table.scan(row_filter=GreaterThan("x", 100.0)))) == 4
    assert len(plan_files(table.scan(row_filter=LessThan("x", -1.0)))) <= 1
    assert len(plan_files(table.scan(row_filter=IsNaN("x")))) == 4
    assert len(plan_files(table.scan(row_filter=NotNaN("x")))) == 4
    zeros = paths(plan_files(table.scan(row_filter=EqualTo("x", 0.0))))
    assert zeros == paths(plan_files(table.scan(row_filter=EqualTo("x", -0.0)))) != set()


def test_a_literal_of_a_float_column_is_compared_as_rows_are(make: Callable[..., Table]) -> None:
    table = make([pa.table({"x": pa.array([0.1], pa.float32())}), pa.table({"x": pa.array([7.0], pa.float32())})])
    write_index(table)
    scan = table.scan(row_filter=EqualTo("x", 0.1))
    # PyIceberg compares the rounded bound with 0.1 and leaves out the file, though readers round the literal.
    assert len(list(scan.plan_files())) == 0
    assert len(plan_files(scan)) == 1


def test_not_in_tells_the_zeros_apart(make: Callable[..., Table]) -> None:
    table = make([], pa.schema([("x", pa.float64())]))
    for values in ([-0.0, -0.0], [0.0, 0.0], [float("inf")], [3.0]):
        append_without_nan(table, pa.table({"x": values}))
    write_index(table)
    # PyArrow finds no -0.0 in a list of 0.0.
    assert len(read(table, NotIn("x", {0.0, 3.0}))) == len(read(table, Not(In("x", {0.0, 3.0})))) == 3
    for zero in (0.0, -0.0):
        read(table, NotIn("x", {zero, 3.0}))
        assert both(table, NotIn("x", {zero, 3.0})) == (4, 3)
        assert both(table, NotEqualTo("x", zero)) == (4, 2)
        assert both(table, In("x", {zero, 3.0})) == (3, 3)


def test_files_of_narrower_types_are_read_with_narrowed_literals(make: Callable[..., Table]) -> None:
    table = make([], pa.schema([("x", pa.float32()), ("n", pa.int32())]))
    most = 3.4028234663852886e38
    for value, number in ((0.1, 2**31 - 1), (most, 5), (float("inf"), -(2**31)), (7.0, 6)):
        rows = pa.table({"x": pa.array([value], pa.float32()), "n": pa.array([number], pa.int32())})
        append_without_nan(table, rows)
    write_index(table)
    check_narrowed_literals(table)
    with table.update_schema() as change:
        change.update_column("x", DoubleType())
        change.update_column("n", LongType())
    # The index has the types of the files.
    check_narrowed_literals(table)
    write_index(table)
    check_narrowed_literals(table)


def test_not_in_keeps_the_limit_of_a_type_for_literals_out_of_its_range(make: Callable[..., Table]) -> None:
    table = make([], pa.schema([("n", pa.int32()), ("x", pa.float32())]))
    for number, value in ((2**31 - 1, 3.4028234663852886e38), (-(2**31), -3.4028234663852886e38), (5, 5.0)):
        append_without_nan(table, pa.table({"n": pa.array([number], pa.int32()), "x": pa.array([value], pa.float32())}))
    write_index(table)
    for literals in ({5, 2**40, -(2**40)}, {5, 2**31 - 1, -(2**31)}):
        expected = 2 if 2**40 in literals else 0
        assert len(plan_files(table.scan(row_filter=NotIn("n", literals)))) == expected
    assert len(plan_files(table.scan(row_filter=NotIn("n", {2**40, 2**41})))) == 3
    assert len(plan_files(table.scan(row_filter=NotIn("x", {5.0, 1e300, -1e300})))) == 2


def test_thousands_of_conditions_take_little_memory() -> None:
    files, conditions = 3000, 3000
    dictionary = LongDictionary(Cursor(struct.pack(f"<I{files}q", files, *range(0, 2 * files, 2))))
    codes = np.arange(2 * files + 1, dtype=np.uint16)
    tight = np.ones(len(codes), dtype=bool)
    kind = StoredType("long", 0, is_long=True)
    tests = [value_test(Leaf(1, kind, Op.AMONG, (number,)), kind) for number in range(conditions)]
    tracemalloc.start()
    for test in tests:
        test.by_codes(dictionary, codes[:1], codes[:1], tight[:1])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A table of all codes for each condition takes 280 MB.
    assert most < 8 << 20
    for start in (0, files):
        found = tests[7].by_codes(dictionary, codes[start:], codes[start:], tight[start:])
        assert np.flatnonzero(~found.none).tolist() == ([8] if start == 0 else [])


def check_narrowed_literals(table: Table) -> None:
    many, numbers = {100.5 + i for i in range(250)}, set(range(100, 350))
    lists = [In("x", many | {extra}) for extra in (0.1, 1e300, float("inf"))]
    for filter_ in (*lists, In("n", numbers | {2**40}), In("n", numbers | {-(2**40)})):
        # PyIceberg's reader takes the literal out of range for the limit of the file's type.
        assert len(read(table, filter_)) == 1
        stock, ours = both(table, filter_)
        assert (stock, ours <= 2) == (4, True)
    for unequal in (
        NotEqualTo("x", float("inf")),
        NotIn("x", {float("inf"), 7.0}),
        NotIn("x", {0.1, 7.0}),
        NotEqualTo("n", 2**40),
        NotIn("n", {2**40, 6}),
    ):
        read(table, unequal)
    # PyIceberg's plan leaves out the file for some of these: it does not round literals as its reader does.
    for rounded in (EqualTo("x", 0.1), In("x", {0.1, 8.0}), LessThanOrEqual("x", 0.1)):
        assert len(plan_files(table.scan(row_filter=rounded))) == 1


def test_a_file_of_an_unknown_number_of_rows_is_kept_as_iceberg_does(make: Callable[..., Table]) -> None:
    table = make([numbered(range(first, first + 10)) for first in (0, 10)])
    append_with(table, numbered(range(20, 30)), "record_count", -1)
    write_index(table)
    assert both(table, "id = 5") == (2, 2)
    assert both(table, In("id", set(range(15, 400)))) == (3, 2)
    assert both(table, NotEqualTo("id", 5)) == (3, 3)
    assert both(table, AlwaysFalse())[1] == 0


def test_strings_sort_by_code_point_and_bounds_are_cut(make: Callable[..., Table]) -> None:
    def file(*values: str) -> pa.Table:
        return pa.table({"s": list(values)})

    table = make([file("￮"), file("\U0001f600" * 20), file("p" * 40 + "a", "p" * 40 + "z"), file("", "a")])
    write_index(table)
    assert both(table, GreaterThan("s", "￮")) == (1, 1)
    assert both(table, StartsWith("s", "\U0001f600")) == (1, 1)
    assert both(table, EqualTo("s", "p" * 40 + "k")) == (1, 1)
    assert both(table, StartsWith("s", "")) == (4, 4)
    assert both(table, NotStartsWith("s", "p" * 10)) == (4, 3)
    assert both(table, Not(StartsWith("s", "￮"))) == (4, 3)


def test_values_of_every_type(make: Callable[..., Table]) -> None:
    day = dt.date(2020, 1, 1)

    def file(n: int) -> pa.Table:
        return pa.table(
            {
                "i": pa.array([n], pa.int32()),
                "f": pa.array([n / 2], pa.float32()),
                "price": pa.array([Decimal(n) + Decimal("0.25")], pa.decimal128(9, 2)),
                "big": pa.array([Decimal(n - 2) * 10**25], pa.decimal128(38, 0)),
                "d": pa.array([day + dt.timedelta(n)], pa.date32()),
                "ts": pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(n)], pa.timestamp("us")),
                "tz": pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(n)], pa.timestamp("us", "UTC")),
                "b": pa.array([bytes((n, 255))], pa.binary()),
                "o": pa.array([n > 1], pa.bool_()),
            }
        )

    table = make([file(n) for n in range(4)])
    write_index(table)
    assert both(table, EqualTo("i", 2)) == both(table, LessThan("f", 0.5)) == (1, 1)
    assert both(table, LessThanOrEqual("price", Decimal("1.25"))) == (2, 2)
    assert both(table, LessThan("big", Decimal(0))) == (2, 2)
    assert both(table, GreaterThan("d", "2020-01-02")) == (2, 2)
    assert both(table, EqualTo("ts", "2020-01-03T00:00:00")) == (1, 1)
    assert both(table, LessThan("tz", "2020-01-02T00:00:00+00:00")) == (1, 1)
    assert both(table, GreaterThanOrEqual("b", b"\2")) == (2, 2)
    assert both(table, EqualTo("o", True)) == (2, 2)


def test_uuids_are_left_out_only_in_both_orders(make: Callable[..., Table]) -> None:
    def file(*starts: str) -> pa.Table:
        values = [uuid.UUID(start + "000000-0000-0000-0000-000000000000").bytes for start in starts]
        return pa.table({"u": pa.array(values, pa.uuid())})

    table = make([file("00", "05"), file("20", "25"), file("05", "fb")])
    write_index(table)

    def kept(filter_: BooleanExpression) -> int:
        return len(plan_files(table.scan(row_filter=filter_)))

    inside, beyond = (uuid.UUID(start + "000000-0000-0000-0000-000000000000") for start in ("03", "fc"))
    # Bounds from 05 to fb are in order as bytes only, so that they prove nothing.
    assert kept(EqualTo("u", inside)) == 2
    assert kept(EqualTo("u", beyond)) == 1
    assert kept(GreaterThan("u", beyond)) == 3


def test_partitions(make: Callable[..., Table]) -> None:
    schema = numbered(range(1)).schema.append(pa.field("day", pa.timestamp("us")))

    def file(n: int) -> pa.Table:
        rows = numbered(range(n * 10, n * 10 + 10))
        return rows.append_column("day", pa.array([dt.datetime(2020, 1, 1 + n % 3)] * 10, pa.timestamp("us"))).cast(
            schema
        )

    table = make([file(0)])
    with table.update_spec() as change:
        change.add_identity("day")
        change.add_identity("id")
    for n in (0, 1, 2):
        table.append(file(n))
    write_index(table)
    files = len(list(table.scan().plan_files()))
    assert files == 31
    assert both(table, EqualTo("id", 15)) == (1, 1)
    assert both(table, GreaterThan("day", "2020-01-01T12:00:00")) == (20, 20)
    assert both(table, And(StartsWith("name", "name-001"), LessThan("id", 13))) == (3, 3)
    assert both(table, Or(EqualTo("id", 3), EqualTo("id", 28))) == (3, 3)
    scan = table.scan(row_filter=GreaterThan("id", 27))
    assert {repr(t.residual) for t in plan_files(scan)} == {repr(t.residual) for t in scan.plan_files()}
    assert both(table, NotIn("id", set(range(5)))) == (files - 5, files - 5)
    # PyIceberg compares a long list with tuples, and not with the bounds of the file without partitions.
    assert both(table, In("id", set(range(25, 300)))) == (6, 5)


def test_partitions_of_nulls(make: Callable[..., Table]) -> None:
    schema = pa.schema([("p", pa.int64()), ("x", pa.int64())])
    table = make([], schema)
    with table.update_spec() as change:
        change.add_identity("p")
    for p, x in ((None, 1), (3, 1), (7, 2), (9, 1)):
        table.append(pa.table({"p": [p], "x": [x]}, schema=schema))
    write_index(table, Options(columns={2}))
    for filter_, expected in (
        (GreaterThan("p", 5), [7, 9]),
        (And(EqualTo("x", 1), LessThan("p", 5)), [3]),
        (Or(EqualTo("x", 1), LessThan("p", 5)), [None, 3, 9]),
    ):
        scan = table.scan(row_filter=filter_)
        found = plan(scan)
        assert found.is_from_index, found.reason
        reader = ArrowScan(table.metadata, table.io, scan.projection(), filter_)
        assert set(reader.to_table(found.tasks)["p"].to_pylist()) == set(expected)
    # PyIceberg's own plan of the last filter fails: it compares None with the literal.
    with pytest.raises(TypeError):
        scan.plan_files()


def test_bounds_that_rows_contradict_prove_nothing(ranges: Table) -> None:
    write_index(ranges, contradicted=1)
    assert len(plan_files(ranges.scan(row_filter="id = 5"))) == 8
    assert both(ranges, "name = 'name-0005'") == (1, 1)


@pytest.mark.parametrize("provenance", [b"\2", b"\0", b"\2" * 4 + b"\3" * 4], ids=["all", "unknown", "half"])
def test_imported_files_are_left_out_only_where_pyiceberg_does(ranges: Table, provenance: bytes) -> None:
    write_index(ranges, Options(provenance=provenance))
    imported = 8 if len(provenance) == 1 else 4
    assert both(ranges, In("id", set(range(1000, 1300)))) == (8, imported)
    assert both(ranges, "id = 5") == (1, 1)


def test_columns_that_footers_do_not_prove_are_left_out_only_where_pyiceberg_does(ranges: Table) -> None:
    doubted = b"\1\1\2\1\4" + b"\0"  # of column 1, the rows 1 and 5; no names
    write_index(ranges, Options(provenance=b"\4", evidence=doubted))
    assert both(ranges, In("id", set(range(1000, 1300)))) == (8, 2)
    assert both(ranges, "id = 15") == (1, 1)
    assert both(ranges, In("name", {f"z{i:03d}" for i in range(300)})) == (8, 0)
    write_index(ranges, Options(provenance=b"\5"))
    assert both(ranges, In("id", set(range(1000, 1300)))) == (8, 8), "names are not compared"


def test_texts_whose_bounds_are_not_their_bytes_are_left_out_only_where_pyiceberg_does(
    make: Callable[..., Table],
) -> None:
    texts = ["k", "\ufffdA", "a\ufffe", "m"]
    table = make([pa.table({"id": pa.array([i], pa.int32()), "name": [text]}) for i, text in enumerate(texts)])
    write_index(table)
    assert both(table, In("name", {f"z{i:03d}" for i in range(300)})) == (4, 2)
    assert both(table, "name = 'k'") == (1, 1)


def test_snapshots(make: Callable[..., Table]) -> None:
    ranges = make([numbered(range(first, first + 10)) for first in range(0, 80, 10)])
    write_index(ranges)
    before = ranges.current_snapshot().snapshot_id
    ranges.append(numbered(range(80, 90)))
    assert plan(ranges.scan(row_filter="id > 75")).fallback is Fallback.NO_VERSION
    assert len(plan_files(ranges.scan(row_filter="id > 75"))) == 2
    assert both(ranges, "id > 75", snapshot_id=before) == (1, 1)
    write_index(ranges)
    assert both(ranges, "id > 75") == (2, 2)


def test_names_and_mistakes_are_those_of_pyiceberg(ranges: Table) -> None:
    write_index(ranges)
    assert both(ranges, "ID = 5", case_sensitive=False) == (1, 1)
    with pytest.raises(ValueError, match="nope"):
        plan_files(ranges.scan(row_filter="nope = 5"))
    with pytest.raises(InvalidArgumentError, match=r"Cannot plan a Table: .* Pass the result of table.scan\(\)."):
        plan_files(ranges)  # type: ignore[arg-type]


def test_failures_of_pyiceberg_are_one_sentence(make: Callable[..., Table]) -> None:
    ranges = make([numbered(range(10))])
    with pytest.raises(
        InvalidArgumentError, match=r"^Cannot plan the scan of '.*': .*nope.*\. Check its filter"
    ) as found:
        plan_files(ranges.scan(row_filter="nope = 5"))
    assert "\n" not in str(found.value)
    manifests = ranges.current_snapshot().manifests(ranges.io)
    Path(urlsplit(manifests[0].manifest_path).path).unlink()
    with pytest.raises(ZonemapError, match=r"^Cannot plan the scan of '.*': PyIceberg fails with .*avro") as found:
        plan_files(ranges.scan(row_filter="id = 5"))
    assert "\n" not in str(found.value)


def test_a_table_without_a_snapshot(make: Callable[..., Table]) -> None:
    table = make([], numbered(range(1)).schema)
    found = plan(table.scan())
    assert (found.tasks, found.fallback) == ([], Fallback.NO_SNAPSHOT)


def test_a_snapshot_that_the_table_does_not_have(ranges: Table) -> None:
    found = plan(ranges.scan(snapshot_id=7))
    assert (found.tasks, found.fallback) == ([], Fallback.NO_SNAPSHOT)
    assert found.reason == "NO_SNAPSHOT: the table has no snapshot (of id 7)"


def test_the_location_of_an_index_is_a_text_or_a_path(make: Callable[..., Table], tmp_path: Path) -> None:
    table = make([numbered(range(first, first + 10)) for first in (0, 10)])
    beside = write_index(table).rename(tmp_path / str(table.metadata.table_uuid))
    scan = table.scan(row_filter="id = 5")
    locations: list[str | Path] = [beside.parent, str(beside.parent), f"file://{beside.parent}/"]
    for location in locations:
        found = plan(scan, location=location)
        assert (found.reason, len(found.tasks)) == ("", 1)
        assert len(plan_files(scan, location=location)) == 1
    refused: list[Any] = ["", 7]
    for wrong in refused:
        with pytest.raises(InvalidArgumentError, match=f"Cannot use location={wrong!r}: give a path"):
            plan(scan, location=wrong)


def test_schema_evolution(make: Callable[..., Table]) -> None:
    table = make([pa.table({"x": pa.array([n, n + 1], pa.int32()), "s": [str(n), "z"]}) for n in (1, 10, 20)])
    write_index(table)
    before = table.current_snapshot().snapshot_id
    from pyiceberg.types import LongType, StringType

    with table.update_schema() as change:
        change.update_column("x", LongType())
        change.rename_column("s", "t")
        change.add_column("later", StringType())
    assert both(table, GreaterThan("x", 11)) == (1, 1)
    assert both(table, GreaterThan("x", 2**40)) == (0, 0)
    assert both(table, LessThan("t", "10")) == (1, 1)
    assert both(table, IsNull("later")) == (3, 3)
    assert both(table, EqualTo("later", "a"))[1] == 3
    assert both(table, GreaterThan("x", 11), snapshot_id=before) == (1, 1)
