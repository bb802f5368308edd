# SPDX-License-Identifier: Apache-2.0
"""Compares plans of zonemap.pyiceberg with PyIceberg's own plans and with the rows of the files."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
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
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import DataScan, FileScanTask, Table
from pyiceberg.types import DoubleType, FloatType, StringType

import zonemap.pyiceberg as zonemap_pyiceberg

_EPOCH = dt.datetime(1970, 1, 1)
_FIELDS = (
    "content",
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "split_offsets",
    "sort_order_id",
    "equality_ids",
    "key_metadata",
    "spec_id",
)


def values_of(table: Table, scan: DataScan | None = None) -> dict[str, list[Any]]:
    """The distinct values of each column, as literals of PyIceberg."""
    rows = (scan or table.scan()).to_arrow()
    found = {}
    for name in rows.column_names:
        pool = {_key(literal): literal for literal in map(_literal, rows[name].to_pylist()) if literal is not None}
        found[name] = sorted(pool.values(), key=_key)
    return found


def _key(value: Any) -> Any:
    return str(value)


def _literal(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat()
        return value.isoformat()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dict | list):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def random_expression(
    seed: random.Random, table: Table, values: dict[str, list[Any]], depth: int = 2
) -> BooleanExpression:
    """A filter over columns of the table, with literals near the values of its rows."""
    if depth and seed.random() < 0.6:
        left, right = (random_expression(seed, table, values, depth - 1) for _ in range(2))
        return seed.choice((And, And, Or, lambda a, b: Not(Or(a, b)), lambda a, b: And(Not(a), b)))(left, right)
    if seed.random() < 0.03:
        return seed.choice((AlwaysTrue(), AlwaysFalse()))
    name = seed.choice([name for name, pool in values.items() if pool] or list(values))
    kind = table.schema().find_field(name).field_type
    unary: list[Any] = [IsNull, NotNull]
    if isinstance(kind, FloatType | DoubleType):
        unary += [IsNaN, NotNaN]
    if not values[name] or seed.random() < 0.15:
        return seed.choice(unary)(name)
    if isinstance(kind, StringType) and seed.random() < 0.3:
        text = _jittered(seed, seed.choice(values[name]))
        return seed.choice((StartsWith, NotStartsWith))(name, text[: seed.randrange(1, 20)])
    if seed.random() < 0.3:
        count = seed.choice((1, 2, 5, 230))
        several = {_jittered(seed, seed.choice(values[name])) for _ in range(count)}
        return seed.choice((In, In, NotIn))(name, several)
    compare = (EqualTo, NotEqualTo, LessThan, LessThanOrEqual, GreaterThan, GreaterThanOrEqual)
    return seed.choice(compare)(name, _jittered(seed, seed.choice(values[name])))


def _jittered(seed: random.Random, value: Any) -> Any:
    if seed.random() < 0.6:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + seed.choice((-1, 1, 40, -40))
    if isinstance(value, float):
        return value + seed.choice((0.25, -0.25, 1e9, -1e9, 0.0))
    if isinstance(value, Decimal):
        return value + seed.choice((1, -1)) * Decimal(1).scaleb(value.as_tuple().exponent)
    if isinstance(value, bytes) and len(value) not in {4, 16}:
        return value + seed.choice((b"", b"\0", b"\xff"))
    return value


def compare(table: Table, expression: BooleanExpression, rows_of: Rows, **scan: Any) -> tuple[int, int, int]:
    """Compares the two plans of a filter, and fails with a sentence if ours may lose a row.

    Returns:
        The files of PyIceberg's plan, of ours, and the files that only ours has although no row of them matches.
    """
    ours = zonemap_pyiceberg.plan(table.scan(row_filter=expression, **scan))
    assert ours.is_from_index, f"{ours.reason}: {expression}"
    stock = list(table.scan(row_filter=expression, **scan).plan_files())
    of_stock, of_ours = _by_file(stock), _by_file(ours.tasks)
    for key in of_ours.keys() & of_stock.keys():
        assert_same(of_stock[key], of_ours[key])
    for key in of_stock.keys() - of_ours.keys():
        found = rows_of.matching(of_stock[key], expression)
        assert found == 0, f"{expression}: {found} rows of {key} match, and the index leaves it out"
    extras = [key for key in of_ours.keys() - of_stock.keys() if not rows_of.matching(of_ours[key], expression)]
    return len(of_stock), len(of_ours), len(extras)


class Rows:
    """The rows of files, read by PyIceberg."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def matching(self, task: FileScanTask, expression: BooleanExpression) -> int:
        """The number of live rows of a file for which the filter is true."""
        whole = FileScanTask(task.file, task.delete_files, expression)
        scan = ArrowScan(self._table.metadata, self._table.io, self._table.schema(), expression, True, None)
        found: pa.Table = scan.to_table([whole])
        return found.num_rows


def _by_file(tasks: list[FileScanTask]) -> dict[tuple[str, int], FileScanTask]:
    """The tasks by path and number, because a table may have a file more than once, in several partitions."""
    seen: Counter[str] = Counter()
    found = {}
    for task in sorted(tasks, key=lambda each: repr(each.file.partition)):
        path = task.file.file_path
        found[path, seen[path]] = task
        seen[path] += 1
    return found


def _rounded(task: FileScanTask) -> list[Any]:
    """The values of a partition; PyIceberg reads those of doubles from manifests with the digits of a float only."""
    values = [task.file.partition[place] for place in range(len(task.file.partition))]
    return [repr(round(value, 5) + 0.0) if isinstance(value, float) else value for value in values]


def assert_same(stock: FileScanTask, ours: FileScanTask) -> None:
    """Fails unless two tasks of one file have the same form."""
    for name in _FIELDS:
        assert getattr(ours.file, name) == getattr(stock.file, name), name
    assert _rounded(ours) == _rounded(stock)
    if repr(ours.file.partition) == repr(stock.file.partition):
        assert ours.residual == stock.residual
    assert ours.delete_files >= stock.delete_files, (ours.delete_files, stock.delete_files)
    for delete in stock.delete_files:
        same = next(each for each in ours.delete_files if each == delete)
        for name in (*_FIELDS, "lower_bounds", "upper_bounds"):
            if name.endswith("bounds"):
                theirs = getattr(delete, name) or {}
                assert {key: theirs[key] for key in (getattr(same, name) or {})} == (getattr(same, name) or {})
            else:
                assert getattr(same, name) == getattr(delete, name), name
