# SPDX-License-Identifier: Apache-2.0
"""Plans of zonemap.pyiceberg of tables and indexes with a history: structs, deletes of each version, merged segments."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyiceberg.expressions import (
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    In,
    IsNull,
    LessThan,
    Not,
    NotEqualTo,
    NotIn,
    NotNull,
    NotStartsWith,
    Or,
    StartsWith,
)
from pyiceberg.table import Table
from support import product, tables
from support.session import STOCK

import zonemap.pyiceberg as zonemap_pyiceberg
from readers import differential
from readers.test_plans import loaded

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

STRUCT = "id BIGINT, s STRUCT<a: INT, inner: STRUCT<b: STRING, d: DOUBLE>>"


def struct_row(number: int, seed: random.Random) -> str:
    """A row whose struct, or inner struct, or fields are null now and then."""
    if seed.random() < 0.25:
        return f"({number}, NULL)"
    inner = "NULL" if seed.random() < 0.25 else f"named_struct('b', 'p{number:03d}', 'd', {number}.5D)"
    a = "NULL" if seed.random() < 0.2 else number // 4
    return f"({number}, named_struct('a', {a}, 'inner', {inner}))"


def leaves() -> list[BooleanExpression]:
    """Conditions on fields of structs, among them those that null structs make true for PyIceberg's reader."""
    return [
        *(compare("s.a", value) for compare in (EqualTo, NotEqualTo, LessThan) for value in (0, 5, 9)),
        In("s.a", {1, 7}),
        NotIn("s.a", {5, 6}),
        NotIn("s.a", set(range(3))),
        In("s.inner.b", {"p004", "p030", "p099"}),
        NotIn("s.inner.b", {"p020", "p021"}),
        StartsWith("s.inner.b", "p01"),
        NotStartsWith("s.inner.b", "p0"),
        GreaterThanOrEqual("s.inner.d", 12.5),
        NotIn("s.inner.d", {8.5, 9.5}),
        *(unary(name) for unary in (IsNull, NotNull) for name in ("s.a", "s.inner.b", "s.inner.d")),
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_fields_of_structs(spark, version: int) -> None:
    name = tables.create(spark, f"lake.readers.structs_{version}", STRUCT, version=version)
    seed = random.Random(version)
    for file in range(8):
        rows = [struct_row(file * 4 + row, seed) for row in range(4)]
        if file == 5:
            rows = [
                "(20, NULL)",
                "(21, named_struct('a', 5, 'inner', NULL))",
                "(22, named_struct('a', 5, 'inner', NULL))",
            ]
        spark.sql(f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}")
    product.build(spark, name)
    # counts of nulls in fields of structs are not used: writers may leave out those of null structs
    counts = ("IsNull(term=Reference(name='s.", "NotNull(term=Reference(name='s.")
    compare_all(loaded(spark, name), leaves(), unknown=counts)
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN s.a TO renamed")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN s.renamed TYPE BIGINT")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN s.a INT")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN s.inner.d")
    product.refresh(spark, name)
    evolved = [
        NotIn("s.a", {5, 6}),
        IsNull("s.a"),
        EqualTo("s.a", 5),
        EqualTo("s.renamed", 5),
        NotIn("s.renamed", {5, 6}),
    ]
    compare_all(loaded(spark, name), evolved, unknown=counts)


def compare_all(
    table: Table, conditions: list[BooleanExpression], unknown: tuple[str, ...] = (), **scan: object
) -> tuple[int, int]:
    """Compares the plans of conditions and of pairs of them; returns the files of PyIceberg's plans and of ours.

    Only a condition whose text contains one of `unknown`, of which the index has no bounds, may keep more files.
    """
    rows = differential.Rows(table)
    seed = random.Random(7)
    pairs = [seed.sample(conditions, 2) for _ in range(20)]
    both = [seed.choice((And, Or, lambda a, b: Not(And(a, b)), lambda a, b: Or(Not(a), b)))(*pair) for pair in pairs]
    found = [differential.compare(table, condition, rows, **scan) for condition in [*conditions, *both]]
    more = [str(c) for c, (_, _, extra) in zip([*conditions, *both], found, strict=True) if extra]
    assert all(any(text in condition for text in unknown) for condition in more), more
    return sum(stock for stock, _, _ in found), sum(ours for _, ours, _ in found)


#: The index of the test below has the columns `id` and `grade` only.
UNKNOWN = ("name='name'",)
KEYS: list[BooleanExpression] = [
    EqualTo("id", 25),
    In("id", set(range(30, 60, 7)) | set(range(1000, 1300))),
    And(GreaterThanOrEqual("id", 15), LessThan("id", 31)),
    NotIn("id", {3, 4}),
    NotEqualTo("name", "n3"),
    StartsWith("name", "n4"),
    EqualTo("grade", 2),
    IsNull("grade"),
]


def keyed(first: int, rows: int = 10) -> str:
    values = (f"({n}, 'n{n % 50}', {'NULL' if n % 10 == 3 else n // 20})" for n in range(first, first + rows))
    return f"SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(values)}"


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_of_each_version_after_many_merges(spark, version: int) -> None:
    """Position deletes or deletion vectors, levels and merged segments, facts, a choice of columns, another spec."""
    props = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
    name = tables.create(
        spark, f"lake.readers.kept_{version}", "id BIGINT, name STRING, grade INT", version=version, props=props
    )
    columns = ", columns => array('id', 'grade'), facts => 'values(name)'"
    for turn in range(8):
        spark.sql(f"INSERT INTO {name} {keyed(turn * 10)}")
        if turn == 2:
            product.call(spark, "build_index", name, columns)
        if turn % 3 == 2:
            spark.sql(f"DELETE FROM {name} WHERE id % 7 = {turn}")
        if turn == 4:
            spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(20, id)")
            product.call(spark, "compact_index", name)
        if turn == 5:
            spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD truncate(20, id)")
            spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD grade")
        if turn > 2:
            product.refresh(spark, name)
    table = loaded(spark, name)
    stock, ours = compare_all(table, KEYS, unknown=UNKNOWN)
    assert 0 < ours < stock
    assert any(task.delete_files for task in zonemap_pyiceberg.plan_files(table.scan()))
    product.call(spark, "compact_index", name)
    assert compare_all(table, KEYS, unknown=UNKNOWN) == (stock, ours)
    rows = differential.Rows(table)
    for more in ({"limit": 3}, {"selected_fields": ("name",)}, {"options": {"include_empty_files": "true"}}):
        differential.compare(table, KEYS[0], rows, **more)
    upper = table.scan(row_filter="ID = 25", case_sensitive=False)
    lower = table.scan(row_filter="id = 25")
    paths = [{task.file.file_path for task in zonemap_pyiceberg.plan_files(scan)} for scan in (upper, lower)]
    assert paths[0] == paths[1] != set()
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(lambda key: zonemap_pyiceberg.plan(table.scan(row_filter=key)), KEYS * 4))
    assert all(plan.is_from_index for plan in plans)
    assert [len(plan.tasks) for plan in plans] == [len(plan.tasks) for plan in plans[: len(KEYS)]] * 4
