# SPDX-License-Identifier: Apache-2.0
"""Ranges of booleans end behind TRUE, which no literal of Iceberg can name: partitions of TRUE must be read."""

from __future__ import annotations

from typing import Any

from support import product, tables
from support.compare import assert_rows_equal_off_on

ROWS = [(1, True, 5, 7), (2, False, 5, 7), (3, True, 9, 7), (4, None, 5, 7), (5, False, 9, 7), (6, True, 5, None)]


CONDITIONS: list[tuple[str, list[int]]] = [
    ("((few <= TRUE) AND (a <= b)) IS TRUE", [1, 2]),
    ("((few >= TRUE) AND (a <= b)) IS TRUE", [1]),
    ("((few > FALSE) AND (a <= b)) IS TRUE", [1]),
    ("((few < TRUE) AND (a <= b)) IS TRUE", [2]),
    ("((few > TRUE) AND (a <= b)) IS TRUE", []),
    ("((few >= FALSE) AND (a <= b)) IS TRUE", [1, 2]),
    ("((few <= FALSE) AND (a <= b)) IS TRUE", [2]),
    ("(NOT (few > TRUE) AND (a <= b)) IS TRUE", [1, 2]),
    ("((few <= TRUE) AND (a <= b)) IS NOT TRUE", [3, 4, 5, 6]),
    ("coalesce(few <= TRUE, FALSE) AND a <= b", [1, 2]),
    ("CASE WHEN few <= TRUE THEN a <= b END", [1, 2]),
]


def test_ranges_that_end_behind_true(spark: Any) -> None:
    table = tables.create(spark, "lake.bugs.booleans", "rid INT, few BOOLEAN, a INT, b INT", partitioned="few")
    tables.append(spark, table, [[row] for row in ROWS], "rid INT, few BOOLEAN, a INT, b INT")
    product.build(spark, table)
    for where, rids in CONDITIONS:
        rows = assert_rows_equal_off_on(spark, f"SELECT rid FROM {table} WHERE {where}")
        assert sorted(row.rid for row in rows) == rids, where
