# SPDX-License-Identifier: Apache-2.0
"""Reads a store that the JVM wrote from a fixed seed: every encoding of a column, every version, deletes."""

from __future__ import annotations

import random
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.transforms import IdentityTransform

from zonemap.pyiceberg.column import NO_LOWER, NO_UPPER, Column
from zonemap.pyiceberg.container import DATA, DELETES, Container
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.deletes import DeleteSegment, EqualityDeletesError
from zonemap.pyiceberg.evaluate import Evaluator
from zonemap.pyiceberg.predicate import And, Leaf, Op, Or
from zonemap.pyiceberg.segment import Segment
from zonemap.pyiceberg.store import File
from zonemap.pyiceberg.version import decode_version

STORE = ROOT / "jvm" / "core" / "src" / "test" / "resources" / "seeded-store"
ROWS = 4200
OPS = (Op.LESS, Op.AT_MOST, Op.MORE, Op.AT_LEAST, Op.AMONG, Op.NOT_AMONG, Op.IS_NULL, Op.NOT_NULL)
UUID_OPS = (Op.AMONG, Op.IS_NULL, Op.NOT_NULL)


def container(name: str, kind: int) -> Container:
    path: Path = STORE / name
    stream = path.open("rb")
    return Container(File(lambda: stream, name, path.stat().st_size), kind)


@pytest.fixture(scope="module")
def data() -> Segment:
    return Segment(container("data.zm", DATA))


def bounds(column: Column, rows: int) -> tuple[list[Any], list[Any], list[int]]:
    """The bounds and flags of all rows; None for an absent bound."""
    every = np.arange(rows)
    zones = column.zones_of(every)
    found = column.bounds_of(every, zones)
    lower = [v if code != NO_LOWER else None for v, code in zip(plain(found.lower), zones.lower.tolist(), strict=True)]
    upper = [v if code != NO_UPPER else None for v, code in zip(plain(found.upper), zones.upper.tolist(), strict=True)]
    return lower, upper, zones.flags.tolist()


def plain(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def double(encoded: int) -> float:
    bits = encoded if encoded >= 0 else encoded ^ 0x7FFFFFFFFFFFFFFF
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def test_files(data: Segment) -> None:
    assert data.rows == ROWS
    rows = np.array([0, 1, 255, 256, 1023, 1024, 4199])
    assert data.paths(rows) == [f"s3://bucket/t/data/day={row // 100}/part-{row}.parquet" for row in rows]
    assert data.numbers(5, rows).tolist() == [row // 64 for row in rows.tolist()]
    assert set(data.formats) == {"PARQUET", "ORC"}
    assert all(1000 <= size < 1000 + (1 << 20) for size in data.numbers(2, np.arange(ROWS)).tolist())
    assert set(data.sort_orders(np.arange(ROWS))) == {None, 0, 1, 2}
    offsets = data.split_offsets(np.arange(ROWS))
    assert {None if each is None else tuple(each) for each in offsets} == {None, (), (4,), (4, 4 + 128 * 1024 * 1024)}


def test_partitions_and_manifests(data: Segment) -> None:
    ordinals = data.numbers(4, np.arange(ROWS)).tolist()
    for row in (0, 99, 100, 4199):
        day, text, price = data.partitions.values(ordinals[row], 3)
        assert (day, price) == (row // 100, Decimal("-12.340"))
        assert text in {None, "x"}
        assert price.as_tuple().exponent == -3
        assert data.partitions.spec_id(ordinals[row]) in {0, 1}
    assert data.manifests.row_ranges([(0, 1), (2, 3)]) == [(0, 1400), (2800, 4200)]


def test_bounds_of_every_encoding(data: Segment) -> None:
    columns = [data.column(field_id) for field_id in range(1, 8)]
    lower, upper, flags = zip(*(bounds(column, ROWS) for column in columns), strict=True)
    assert set(flags[0]) == {0b00101111}
    assert lower[0] == [row * 1000 for row in range(ROWS)]
    assert upper[0] == [row * 1000 + 999 for row in range(ROWS)]
    # Rounded outward: neither tight nor beyond the domain
    assert columns[1]._detail == 2
    assert all(low < 1 << 20 and high >= 1 << 40 for low, high in zip(lower[1], upper[1], strict=True))
    for low, high in zip(lower[2], upper[2], strict=True):
        assert double(high) == double(low) + 1000
    assert lower[3] == upper[3]
    assert set(lower[3]) <= {f"app-{n}".encode() for n in range(40)}
    assert lower[4] == [f"k{row:07d}".encode() for row in range(ROWS)]
    assert upper[4] == [f"k{row:07d}z".encode() for row in range(ROWS)]
    for place in (5, 6):
        assert {len(value) for value in lower[place] + upper[place] if value is not None} == {16}
        for low, high, flag in zip(lower[place], upper[place], flags[place], strict=True):
            assert (low is not None, high is not None) == (bool(flag & 1), bool(flag & 2))
            assert low is None or high is None or low <= high


def test_a_merged_segment_holds_the_chosen_columns() -> None:
    merged = Segment(container("merged.zm", DATA))
    assert [field_id for field_id in range(1, 8) if merged.column(field_id)] == [1, 3, 5, 7]
    for field_id in (1, 3, 5, 7):
        bounds(merged.column(field_id), merged.rows)
    assert len(merged.paths(np.arange(merged.rows))) == merged.rows


@pytest.mark.parametrize("field_id", range(1, 8))
def test_codes_decide_as_values_do(data: Segment, field_id: int) -> None:
    """The evaluator leaves out the rows that a comparison of plain values leaves out, and no others."""
    seed = random.Random(field_id)
    column = data.column(field_id)
    lower, upper, flags = bounds(column, ROWS)
    pool = [value for value in lower + upper if value is not None]
    for _ in range(25):
        op = seed.choice(UUID_OPS if column.type.name == "uuid" else OPS)
        count = seed.choice((1, 1, 30)) if op in {Op.AMONG, Op.NOT_AMONG} else 1
        values = [nearby(seed, seed.choice(pool)) for _ in range(count)]
        leaf = Leaf(field_id, column.type, op, tuple(literal(column, value) for value in values))
        found = Evaluator().may_match(leaf, data, [(0, ROWS)]).tolist()
        wanted = [row for row in range(ROWS) if may_match(op, values, lower[row], upper[row], flags[row], column)]
        assert found == wanted, f"{op} {values[:3]}: {len(found)} rows, not {len(wanted)}"
        cuts = sorted(seed.sample(range(ROWS + 1), 2 * seed.choice((1, 1, 4))))
        ranges = list(zip(cuts[::2], cuts[1::2], strict=True))
        some = [row for first, end in ranges for row in range(first, end)]
        wanted = sorted(set(wanted) & set(some))
        assert Evaluator().may_match(leaf, data, ranges).tolist() == wanted, f"{op} {values[:3]} in {ranges}"
        among = Evaluator().may_match_among(leaf, data, np.array(some, dtype=np.intp)).tolist()
        assert among == wanted, f"{op} {values[:3]} among rows of {ranges}"


def nearby(seed: random.Random, value: Any) -> Any:
    if isinstance(value, int):
        return value + seed.choice((0, 0, 1, -1, 500, 1 << 30))
    return value if len(value) == 16 or seed.random() < 0.5 else value + seed.choice((b"a", b"zz"))


def literal(column: Column, value: Any) -> Any:
    """The value whose encoding is this one."""
    name = column.type.name
    if name == "double":
        return double(value)
    if name == "decimal":
        return Decimal(int.from_bytes(value, "big") - (1 << 127)).scaleb(-column.type.size)
    return value.decode() if name == "string" else value


def may_match(op: Op, values: list[Any], low: Any, high: Any, flags: int, column: Column) -> bool:
    nulls, nans = flags >> 3 & 3, flags >> 5 & 3
    may_by_null = nulls != 1 and op in {Op.IS_NULL, Op.NOT_AMONG}
    may_by_nan = nans != 1 and op in {Op.MORE, Op.AT_LEAST, Op.NOT_AMONG, Op.NOT_NULL}
    has_values = 3 not in {nulls, nans}
    return may_by_null or may_by_nan or (has_values and a_value_may_match(op, values, low, high, flags, column))


def a_value_may_match(op: Op, values: list[Any], low: Any, high: Any, flags: int, column: Column) -> bool:
    if column.type.name == "uuid" and op is Op.AMONG:
        return any(within_uuids(value, low, high) for value in values)
    return {
        Op.LESS: low is None or low < values[0],
        Op.AT_MOST: low is None or low <= values[0],
        Op.MORE: high is None or high > values[0],
        Op.AT_LEAST: high is None or high >= values[0],
        Op.AMONG: any((low is None or low <= value) and (high is None or value <= high) for value in values),
        Op.NOT_AMONG: not (flags & 4 and low is not None and low == high and low in values),
        Op.IS_NULL: False,
        Op.NOT_NULL: True,
    }[op]


def within_uuids(value: bytes, low: bytes | None, high: bytes | None) -> bool:
    if low is None or high is None:
        return True
    signed = [struct.unpack(">qq", each) for each in (value, low, high)]
    if signed[1] > signed[2]:
        return True
    return low <= value <= high or signed[1] <= signed[0] <= signed[2]


def test_trees(data: Segment) -> None:
    key, app = data.column(1), data.column(4)
    first = Leaf(1, key.type, Op.LESS, (100_000,))
    second = Leaf(4, app.type, Op.AMONG, ("app-3", "app-7"))
    rows = [(0, ROWS)]
    lower = bounds(app, ROWS)[0]
    wanted = {row for row in range(ROWS) if lower[row] in {b"app-3", b"app-7"}}
    evaluator = Evaluator()
    assert set(evaluator.may_match(And((first, second)), data, rows).tolist()) == wanted & set(range(100))
    assert set(evaluator.may_match(Or((first, second)), data, rows).tolist()) == wanted | set(range(100))
    assert evaluator.may_match(Leaf(1, key.type, Op.MORE, (10**9,)), data, rows).tolist() == []


def test_delete_files() -> None:
    segment = DeleteSegment(container("deletes.zmd", DELETES))
    fields = [PartitionField(n, 1000 + n, IdentityTransform(), f"p{n}") for n in (1, 2)]
    specs = {0: PartitionSpec(*fields)}
    with pytest.raises(DamagedError, match="2 values for a spec of 1 fields"):
        segment.add_to(DeleteFileIndex(), [(0, 1)], {0: PartitionSpec(fields[0])})
    with pytest.raises(DamagedError, match="unknown spec"):
        segment.add_to(DeleteFileIndex(), [(0, 1)], {})
    with pytest.raises(EqualityDeletesError):
        segment.add_to(DeleteFileIndex(), [(0, 1)], specs)
    index = DeleteFileIndex()
    segment.add_to(index, [], specs)
    assert index.is_empty()


@pytest.mark.parametrize("number", range(1, 7))
def test_versions(number: int) -> None:
    version = decode_version((STORE / f"version-{number}").read_bytes())
    assert [ref.name.split("/")[0] for ref in version.segments + version.delete_segments]
    assert version.contradicted == (frozenset() if number < 4 else version.contradicted)
    assert version.data_files > 0
