# SPDX-License-Identifier: Apache-2.0
"""Which files may be left out for conditions that PyIceberg does not compare with bounds (SOUNDNESS, S6 to S10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import IdentityTransform

from zonemap.pyiceberg.column import NO_LOWER, NO_UPPER, Column, Rows
from zonemap.pyiceberg.dictionary import Value
from zonemap.pyiceberg.evaluate import Evaluator
from zonemap.pyiceberg.intervals import Mask
from zonemap.pyiceberg.predicate import FALSE, Node, fields, is_icebergs, weakened
from zonemap.pyiceberg.segment import PARTITION, RECORD_COUNT, Segment, ranges_of, rows_in
from zonemap.pyiceberg.types import encode

_NO_ROW, _EVERY_ROW = 1, 3
_NULLS, _NANS = 3, 5


@dataclass(frozen=True)
class Trust:
    """How far bounds describe the values that readers return.

    Attributes:
        contradicted: the columns for which some manifest has wrong bounds.
        specs: the partition specs of the table by id.
    """

    contradicted: frozenset[int]
    specs: Mapping[int, PartitionSpec]

    def may_match(self, evaluator: Evaluator, node: Node, segment: Segment, ranges: Sequence[tuple[int, int]]) -> Rows:
        """Returns the rows of ascending ranges that may hold a row of the table for which the tree is true.

        Like Iceberg, this compares no bounds of a file whose number of rows is not known.
        """
        if node == FALSE or not segment.may_have_unknown_counts:
            return self._may_match(evaluator, node, segment, ranges)
        rows = rows_in(ranges)
        unknown = segment.numbers(RECORD_COUNT, rows) < 0
        known = self._may_match(evaluator, node, segment, ranges_of(rows[~unknown]))
        return np.sort(np.concatenate((rows[unknown], known)))

    def _may_match(self, evaluator: Evaluator, node: Node, segment: Segment, ranges: Sequence[tuple[int, int]]) -> Rows:
        whole = weakened(node, lambda leaf: leaf.field_id not in self.contradicted)
        # For every file, conditions that PyIceberg compares with the same bounds.
        shared = weakened(whole, is_icebergs)
        if shared == whole or not self._may_be_doubtful(whole, segment):
            return evaluator.may_match(whole, segment, ranges)
        left = evaluator.may_match(shared, segment, ranges)
        if not len(left):
            return left
        doubted = self._are_doubtful(whole, segment, left)
        matching = np.zeros(segment.rows, dtype=bool)
        matching[evaluator.may_match_among(whole, segment, left[~doubted])] = True
        matching[left[doubted]] = True
        return left[matching[left]]

    def _may_be_doubtful(self, node: Node, segment: Segment) -> bool:
        """Whether the segment may have a file whose bounds are doubtful, without a look at single files."""
        specs = segment.manifests.spec_ids()
        return segment.may_be_unproven() or any(
            field_id in segment.doubted
            or _is_text(segment.column(field_id))
            or any(self._position(spec, field_id) != _OF_FILE for spec in specs)
            for field_id in fields(node)
        )

    def _are_doubtful(self, node: Node, segment: Segment, rows: Rows) -> Mask:
        found = segment.are_unproven(rows)
        for field_id in fields(node):
            column = segment.column(field_id)
            if column is not None:
                found = found | self._contradict_tuples(column, field_id, segment, rows)
                if field_id in segment.doubted:
                    found = found | np.isin(rows, segment.doubted[field_id])
                if _is_text(column):
                    found = found | _are_replaced(column, rows)
        return found

    def _contradict_tuples(self, column: Column, field_id: int, segment: Segment, rows: Rows) -> Mask:
        """Whether the bounds of an identity partition column miss the value of the tuple (S8)."""
        found = np.zeros(len(rows), dtype=bool)
        ordinals = segment.numbers(PARTITION, rows)
        positions = {
            ordinal: self._position(segment.partitions.spec_id(ordinal), field_id)
            for ordinal in np.unique(ordinals).tolist()
        }
        if all(position == _OF_FILE for position in positions.values()):
            return found
        zones = column.zones_of(rows)
        bounds = column.bounds_of(rows, zones)
        values = {ordinal: self._values(segment, ordinal) for ordinal, place in positions.items() if place >= 0}
        zipped = zip(
            ordinals.tolist(),
            zones.flags.tolist(),
            (zones.lower != NO_LOWER).tolist(),
            (zones.upper != NO_UPPER).tolist(),
            list(bounds.lower),
            list(bounds.upper),
            strict=True,
        )
        for row, (ordinal, flags, has_lower, has_upper, lower, upper) in enumerate(zipped):
            position = positions[ordinal]
            if position == _OF_FILE:
                continue
            found[row] = position < 0 or not _allows(
                column, flags, lower if has_lower else None, upper if has_upper else None, values[ordinal][position]
            )
        return found

    def _values(self, segment: Segment, ordinal: int) -> list[Any]:
        count = len(self.specs[segment.partitions.spec_id(ordinal)].fields)
        return segment.partitions.values(ordinal, count)

    def _position(self, spec_id: int, field_id: int) -> int:
        """Returns the place of the column's value in tuples of a spec."""
        spec = self.specs.get(spec_id)
        if spec is None:
            return _UNKNOWN
        for position, field in enumerate(spec.fields):
            if field.source_id == field_id and isinstance(field.transform, IdentityTransform):
                return position
        return _OF_FILE


#: Places of a column that is no identity partition, and of one of a spec that the table does not have.
_OF_FILE, _UNKNOWN = -1, -2


#: U+FFFD in UTF-8, which replaces malformed bytes in bounds that were made of Java strings.
_REPLACEMENT = b"\xef\xbf\xbd"
#: U+FFFD, incremented by a writer that has cut an upper bound behind it.
_INCREMENTED = b"\xef\xbf\xbe"


def _is_text(column: Column | None) -> bool:
    return column is not None and column.type.name == "string"


def _are_replaced(column: Column, rows: Rows) -> Mask:
    """Whether a bound of a text may have other bytes than the value that it stands for (S16)."""
    zones = column.zones_of(rows)
    bounds: Any = column.bounds_of(rows, zones)
    lower, upper = zones.lower != NO_LOWER, zones.upper != NO_UPPER
    pairs = zip(lower.tolist(), upper.tolist(), bounds.lower, bounds.upper, strict=True)
    return np.array(
        [(has_low and _is_replaced(low)) or (has_up and _is_replaced(up)) for has_low, has_up, low, up in pairs],
        dtype=bool,
    )


def _is_replaced(bound: bytes) -> bool:
    return _REPLACEMENT in bound or bound.endswith(_INCREMENTED)


def _allows(column: Column, flags: int, lower: Value | None, upper: Value | None, value: Any) -> bool:
    """Whether bounds and counts of a file allow a value in every row."""
    nulls, nans = flags >> _NULLS & 3, flags >> _NANS & 3
    if value is None:
        return nulls != _NO_ROW
    if isinstance(value, float) and math.isnan(value):
        return nulls != _EVERY_ROW and nans != _NO_ROW
    encoded: Any = encode(value, column.type)
    if encoded is None or _EVERY_ROW in {nulls, nans}:
        return False
    return (lower is None or lower <= encoded) and (upper is None or encoded <= upper)
