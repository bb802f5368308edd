# SPDX-License-Identifier: Apache-2.0
"""Sets of values, compared with bounds by codes and, where codes leave an order open, by values (S43)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from zonemap.pyiceberg.dictionary import Dictionary, Value
from zonemap.pyiceberg.exact import Bounds
from zonemap.pyiceberg.predicate import Leaf, Op
from zonemap.pyiceberg.types import StoredType, encode

Mask: TypeAlias = npt.NDArray[np.bool_]
_Codes: TypeAlias = npt.NDArray[Any]
_Counts: TypeAlias = npt.NDArray[Any]

_NO_LOWER, _NO_UPPER = 0, 0xFFFF
#: Counts of fewer places are held in 16 bits.
_MOST_SHORT = 1 << 14


@dataclass(frozen=True)
class Decision:
    """What codes prove for each zone: `none` that no value matches; `open` that exact bounds decide."""

    none: Mask
    open: Mask


class ValueTest(Protocol):
    """Compares the values between two bounds with a condition. Null and NaN are no values."""

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows whose codes leave it open, by exact bounds: whether no value matches."""


class _Fixed:
    """No value matches, or nothing is proven of any value."""

    def __init__(self, is_none: bool) -> None:
        self._is_none = is_none

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""
        none = np.full(len(lower), self._is_none)
        return Decision(none, np.zeros(len(lower), dtype=bool))

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows by their exact bounds."""
        return np.full(len(lower), self._is_none)


NO_VALUE, ANY_VALUE = _Fixed(is_none=True), _Fixed(is_none=False)


class Points:
    """Places among values: each is right before a value, or right after it. They ascend.

    The count of places at or below a bound is all that sets of intervals need.
    """

    def __init__(self, places: Sequence[tuple[Value, bool]]) -> None:
        self._before = [value for value, is_after in places if not is_after]
        self._after = [value for value, is_after in places if is_after]
        self._places = places
        # A filter may have thousands of conditions, so each holds its places in one dictionary, and no table of codes.
        self._keys: tuple[Dictionary, _Counts] | None = None

    def __len__(self) -> int:
        return len(self._places)

    def counts(self, dictionary: Dictionary, codes: _Codes) -> tuple[_Counts, _Counts]:
        """Returns for each bound of these codes the least and the greatest number of places at or below it."""
        last = 2 * dictionary.size
        if len(codes) <= last:
            return self._count(dictionary, np.minimum(codes, last).astype(np.int32))
        least, greatest = self._table(dictionary, last)
        places = codes.astype(np.intp)
        return least.take(places, mode="clip"), greatest.take(places, mode="clip")

    def _table(self, dictionary: Dictionary, last: int) -> tuple[_Counts, _Counts]:
        """Returns the counts of every code up to the last."""
        below = np.zeros(2 * last + 3, dtype=np.int16 if len(self) < _MOST_SHORT else np.int32)
        np.cumsum(np.bincount(self._keys_in(dictionary), minlength=2 * last + 2), out=below[1:])
        least, greatest = below[0:-1:2].copy(), below[2::2].copy()
        # A bound that is a boundary is at or above the place before it, and below the place after it.
        least[1::2] = greatest[1::2] = below[3::4]
        return least, greatest

    def _count(self, dictionary: Dictionary, codes: _Counts) -> tuple[_Counts, _Counts]:
        keys = self._keys_in(dictionary)
        is_boundary = codes % 2 == 1
        least = np.searchsorted(keys, 2 * codes, side="left")
        at_boundary = np.searchsorted(keys, 2 * codes, side="right")
        greatest = np.searchsorted(keys, 2 * codes + 1, side="right")
        return (
            np.where(is_boundary, at_boundary, least).astype(np.int32),
            np.where(is_boundary, at_boundary, greatest).astype(np.int32),
        )

    def _keys_in(self, dictionary: Dictionary) -> _Counts:
        if self._keys is None or self._keys[0] is not dictionary:
            codes = np.array(dictionary.codes([value for value, _ in self._places]), dtype=np.int32)
            self._keys = dictionary, 2 * codes + np.array([is_after for _, is_after in self._places], dtype=np.int32)
        return self._keys[1]

    def below(self, bounds: npt.NDArray[np.int64] | Sequence[Value]) -> _Counts:
        """Returns the number of places at or below each exact bound."""
        if isinstance(bounds, np.ndarray):
            before = np.searchsorted(np.array(self._before, dtype=np.int64), bounds, side="right")
            after = np.searchsorted(np.array(self._after, dtype=np.int64), bounds, side="left")
            return (before + after).astype(np.int32)
        found = [bisect_right(self._before, bound) + bisect_left(self._after, bound) for bound in bounds]
        return np.array(found, dtype=np.int32)


class Intervals:
    """Intervals that ascend and are apart. No value matches if none of them meets the bounds (S24 to S26, S29, S36).

    Args:
        starts: where each begins; the first may be missing, and begins below all values then.
        ends: where each ends; the last may be missing likewise.
    """

    def __init__(self, starts: Sequence[tuple[Value, bool]], ends: Sequence[tuple[Value, bool]]) -> None:
        self.starts, self.ends = Points(starts), Points(ends)
        # An interval without a start begins at or below every bound.
        self._unstarted = max(0, len(ends) - len(starts))

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""
        ended_least, ended_most = _looked_up(self.ends, dictionary, lower, _NO_LOWER, 0)
        begun_least, begun_most = _looked_up(self.starts, dictionary, upper, _NO_UPPER, len(self.starts))
        # The intervals that begin at or below the upper bound all end at or below the lower bound.
        none = begun_most + self._unstarted <= ended_least
        maybe_none = begun_least + self._unstarted <= ended_most
        return Decision(none, maybe_none & ~none)

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows by their exact bounds."""
        ended = np.where(lower == _NO_LOWER, 0, self.ends.below(bounds.lower))
        begun = np.where(upper == _NO_UPPER, len(self.starts), self.starts.below(bounds.upper))
        none: Mask = begun + self._unstarted <= ended
        return none


class OutsideInterval:
    """Values outside one interval match. No value matches if both bounds are in it (S37)."""

    def __init__(self, start: tuple[Value, bool], end: tuple[Value, bool]) -> None:
        self._start, self._end = Points([start]), Points([end])

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""
        begun_least, begun_most = _looked_up(self._start, dictionary, lower, _NO_LOWER, 0)
        ended_least, ended_most = _looked_up(self._end, dictionary, upper, _NO_UPPER, 1)
        none = (begun_least == 1) & (ended_most == 0)
        return Decision(none, (begun_most == 1) & (ended_least == 0) & ~none)

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows by their exact bounds."""
        is_there = (lower != _NO_LOWER) & (upper != _NO_UPPER)
        none: Mask = is_there & (self._start.below(bounds.lower) == 1) & (self._end.below(bounds.upper) == 0)
        return none


class OtherValues:
    """Values that are not listed match. No value matches if the bounds are one listed value and tight (S27 to S31)."""

    def __init__(self, values: Sequence[Value]) -> None:
        self._values = values

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""
        codes = np.array(dictionary.codes(self._values), dtype=np.int64)
        meets = tight & (lower == upper) & (lower != _NO_LOWER) & np.isin(lower, codes)
        none = meets & (lower % 2 == 1)
        return Decision(none, meets & ~none)

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows by their exact bounds."""
        listed = set(self._values)
        pairs = zip(list(bounds.lower), list(bounds.upper), strict=True)
        return np.array([low == high and low in listed for low, high in pairs], dtype=bool)


class UuidPoints:
    """Uuids, whose order writers disagree about (S18): each is outside the bounds both as bytes and as signed longs."""

    def __init__(self, values: Sequence[bytes]) -> None:
        self._as_bytes = Intervals([(v, False) for v in values], [(v, True) for v in values])
        signed = sorted(map(_signed, values))
        self._as_longs = Intervals([(v, False) for v in signed], [(v, True) for v in signed])

    def by_codes(self, dictionary: Dictionary, lower: _Codes, upper: _Codes, tight: Mask) -> Decision:
        """Decides zones by their codes."""
        found = self._as_bytes.by_codes(dictionary, lower, upper, tight)
        is_there = (lower != _NO_LOWER) & (upper != _NO_UPPER)
        # The order of signed longs is not that of codes, so that exact bounds always decide.
        return Decision(np.zeros(len(lower), dtype=bool), is_there & (found.none | found.open))

    def by_values(self, bounds: Bounds, lower: _Codes, upper: _Codes) -> Mask:
        """Decides rows by their exact bounds."""
        lows, highs = [_signed(v) for v in bounds.lower], [_signed(v) for v in bounds.upper]
        is_ordered = np.array([low <= high for low, high in zip(lows, highs, strict=True)], dtype=bool)
        unsigned = self._as_bytes.by_values(bounds, lower, upper)
        none: Mask = unsigned & is_ordered & self._as_longs.by_values(Bounds(lows, highs), lower, upper)
        return none


def _signed(value: Any) -> bytes:
    """Returns bytes that are in the order of the uuid's two signed longs."""
    found: bytes = bytes((value[0] ^ 0x80,)) + value[1:8] + bytes((value[8] ^ 0x80,)) + value[9:]
    return found


def _looked_up(
    points: Points, dictionary: Dictionary, codes: _Codes, absent: int, at_absent: int
) -> tuple[_Counts, _Counts]:
    least, most = points.counts(dictionary, codes)
    is_absent = codes == absent
    if is_absent.any():
        least[is_absent] = at_absent
        most[is_absent] = at_absent
    return least, most


def value_test(leaf: Leaf, stored: StoredType) -> ValueTest:
    """Returns the test of a leaf for bounds of this type. A pair of types that does not compare proves nothing."""
    if leaf.op in {Op.IS_NULL, Op.IS_NAN}:
        return NO_VALUE
    if leaf.op in {Op.NOT_NULL, Op.NOT_NAN} or not stored.compares_with(leaf.type):
        return ANY_VALUE
    encoded = [encode(literal, stored) for literal in leaf.literals]
    values: list[Any] = sorted({value for value in encoded if value is not None})
    if None in encoded or not values:
        return ANY_VALUE
    if stored.name == "uuid":
        return UuidPoints(values) if leaf.op is Op.AMONG else ANY_VALUE
    if leaf.op in {Op.PREFIX, Op.NOT_PREFIX}:
        return _prefix_test(leaf.op, values[0], stored)
    return _comparison(leaf.op, values)


def _comparison(op: Op, values: list[Any]) -> ValueTest:
    # Of the forms of a literal of a float or double column, the one with which more values match counts.
    if op is Op.LESS:
        return Intervals([], [(values[-1], False)])
    if op is Op.AT_MOST:
        return Intervals([], [(values[-1], True)])
    if op is Op.MORE:
        return Intervals([(values[0], True)], [])
    if op is Op.AT_LEAST:
        return Intervals([(values[0], False)], [])
    if op is Op.NOT_AMONG:
        return OtherValues(values)
    return Intervals([(value, False) for value in values], [(value, True) for value in values])


def _prefix_test(op: Op, prefix: bytes, stored: StoredType) -> ValueTest:
    if stored.name != "string" or not prefix:
        return ANY_VALUE
    # No byte of UTF-8 is 0xFF, so that the last byte can be counted up.
    start, end = (prefix, False), (prefix[:-1] + bytes((prefix[-1] + 1,)), False)
    return Intervals([start], [end]) if op is Op.PREFIX else OutsideInterval(start, end)
