# SPDX-License-Identifier: Apache-2.0
"""Literals as PyIceberg's reader compares them with the rows of a file (docs/design/SOUNDNESS.md, S141).

The reader binds a filter to the types of each file, which may be narrower than those of the table: files from before a
promotion, and imported files. A literal of a double column is then rounded to a float, and a literal of an IN list
that is out of range becomes the limit of the file's type.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from zonemap.pyiceberg.types import StoredType

_MOST_FLOAT: float = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_LEAST_INT, _MOST_INT = -(1 << 31), (1 << 31) - 1


def matched(literals: Iterable[Any], kind: StoredType, is_list: bool) -> Iterator[Any]:
    """Returns the literals of a comparison in each form in which a reader may compare them with rows.

    Args:
        literals: the literals.
        kind: the type of the column in the table.
        is_list: whether the comparison is `=` or IN.
    """
    for literal in literals:
        yield literal
        if kind.may_hold_nan:
            yield from _as_float(literal, is_list)
        elif kind.name == "long" and is_list and not _LEAST_INT <= literal <= _MOST_INT:
            yield max(_LEAST_INT, min(_MOST_INT, literal))


def excluded(literals: Iterable[Any], kind: StoredType, is_list: bool) -> Iterator[Any]:
    """Returns the literals of `!=` or NOT IN that no row which a reader returns is equal to.

    PyArrow may find no zero of one sign in a NOT IN list that has the zero of the other sign. A list holds only one of
    the two, because Python's sets do. For a file of floats, infinities are out of range, so each row is
    unequal to them.

    Args:
        literals: the literals.
        kind: the type of the column in the table.
        is_list: whether the comparison is NOT IN.
    """
    for literal in literals:
        if not kind.may_hold_nan or not (math.isinf(literal) or (is_list and literal == 0)):
            yield literal


def _as_float(literal: float, is_list: bool) -> Iterator[float]:
    if abs(literal) > _MOST_FLOAT:
        if is_list:
            yield math.copysign(_MOST_FLOAT, literal)
        return
    rounded: float = struct.unpack("<f", struct.pack("<f", literal))[0]
    if rounded != literal:
        yield rounded
