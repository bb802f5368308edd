# SPDX-License-Identifier: Apache-2.0
"""Evaluates a filter on the bounds of a segment: zones first, then rows (docs/design/SOUNDNESS.md, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from zonemap.pyiceberg.column import BLOCK_ROWS, Column, Rows, Zones, block_count
from zonemap.pyiceberg.intervals import Decision, Mask, ValueTest, value_test
from zonemap.pyiceberg.predicate import And, Leaf, Node, Or
from zonemap.pyiceberg.segment import Segment, rows_in
from zonemap.pyiceberg.types import StoredType

_NO_ROW, _EVERY_ROW = 1, 3
_TIGHT, _NULLS, _NANS = 2, 3, 5


class Evaluator:
    """Evaluates trees on segments; the tests of leaves are made once for each stored type."""

    def __init__(self) -> None:
        self._tests: dict[tuple[Leaf, StoredType], ValueTest] = {}

    def may_match(self, node: Node, segment: Segment, ranges: Sequence[tuple[int, int]]) -> Rows:
        """Returns the rows of ascending ranges that may hold a row of the table for which the tree is true."""
        return self._among(node, segment, rows_in(ranges, self._blocks_may_match(node, segment)))

    def may_match_among(self, node: Node, segment: Segment, rows: Rows) -> Rows:
        """Returns those of some rows, which ascend, that may hold a row of the table for which the tree is true."""
        return self._among(node, segment, rows[self._blocks_may_match(node, segment)[rows // BLOCK_ROWS]])

    def _among(self, node: Node, segment: Segment, rows: Rows) -> Rows:
        return rows[self._rows_may_match(node, segment, rows)] if len(rows) else rows

    def _blocks_may_match(self, node: Node, segment: Segment) -> Mask:
        count = block_count(segment.rows)
        if not count or not self._zones_may_match(node, segment, 1, lambda column: column.root)[0]:
            return np.zeros(count, dtype=bool)
        return self._zones_may_match(node, segment, count, lambda column: column.blocks)

    def _zones_may_match(self, node: Node, segment: Segment, count: int, zones: Callable[[Column], Zones]) -> Mask:
        if isinstance(node, Leaf):
            column = segment.column(node.field_id)
            if column is None:
                return np.ones(count, dtype=bool)
            return ~self._decide(node, column, zones(column)).none
        if isinstance(node, And):
            found = np.ones(count, dtype=bool)
            for child in node.children:
                found &= self._zones_may_match(child, segment, count, zones)
            return found
        if isinstance(node, Or):
            found = np.zeros(count, dtype=bool)
            for child in node.children:
                found |= self._zones_may_match(child, segment, count, zones)
            return found
        return np.ones(count, dtype=bool)

    def _rows_may_match(self, node: Node, segment: Segment, rows: Rows) -> Mask:
        if isinstance(node, Leaf):
            return self._leaf(node, segment, rows)
        if isinstance(node, And):
            found = np.ones(len(rows), dtype=bool)
            for child in node.children:
                # Each condition is evaluated on the rows that are left.
                left = np.flatnonzero(found)
                if len(left):
                    found[left] = self._rows_may_match(child, segment, rows if len(left) == len(rows) else rows[left])
            return found
        if isinstance(node, Or):
            found = np.zeros(len(rows), dtype=bool)
            for child in node.children:
                left = np.flatnonzero(~found)
                if len(left):
                    found[left] = self._rows_may_match(child, segment, rows[left])
            return found
        return np.ones(len(rows), dtype=bool)

    def _leaf(self, leaf: Leaf, segment: Segment, rows: Rows) -> Mask:
        column = segment.column(leaf.field_id)
        if column is None:
            return np.ones(len(rows), dtype=bool)
        zones = column.zones_of(rows)
        decision = self._decide(leaf, column, zones)
        found = ~decision.none
        places = np.flatnonzero(decision.open)
        if len(places):
            of_places = Zones(zones.lower[places], zones.upper[places], zones.flags[places])
            bounds = column.bounds_of(rows[places], of_places)
            test = self._test(leaf, column)
            found[places] = ~test.by_values(bounds, of_places.lower, of_places.upper)
        return found

    def _decide(self, leaf: Leaf, column: Column, zones: Zones) -> Decision:
        """Joins the answers for values, null rows and NaN rows: a zone is left out only if all are (S19)."""
        if not column.type.compares_with(leaf.type):
            nothing = np.zeros(len(zones.flags), dtype=bool)
            return Decision(nothing, nothing)
        nulls, nans = (zones.flags >> _NULLS) & 3, (zones.flags >> _NANS) & 3
        is_tight = (zones.flags >> _TIGHT) & 1 == 1
        values = self._test(leaf, column).by_codes(column.dictionary, zones.lower, zones.upper, is_tight)
        has_no_value = (nulls == _EVERY_ROW) | (nans == _EVERY_ROW)
        is_excluded = np.ones(len(zones.flags), dtype=bool)
        if leaf.is_true_for_null:
            is_excluded &= nulls == _NO_ROW
        if leaf.is_true_for_nan:
            is_excluded &= nans == _NO_ROW
        return Decision((values.none | has_no_value) & is_excluded, values.open & ~has_no_value & is_excluded)

    def _test(self, leaf: Leaf, column: Column) -> ValueTest:
        key = (leaf, column.type)
        if key not in self._tests:
            self._tests[key] = value_test(leaf, column.type)
        return self._tests[key]
