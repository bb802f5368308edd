# SPDX-License-Identifier: Apache-2.0
"""The filter of a scan as a tree of conditions on field ids, without NOT (docs/design/SOUNDNESS.md, section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any, TypeAlias

from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    BooleanExpression,
    BoundEqualTo,
    BoundGreaterThan,
    BoundGreaterThanOrEqual,
    BoundIn,
    BoundIsNaN,
    BoundIsNull,
    BoundLessThan,
    BoundLessThanOrEqual,
    BoundLiteralPredicate,
    BoundNotEqualTo,
    BoundNotIn,
    BoundNotNaN,
    BoundNotNull,
    BoundNotStartsWith,
    BoundPredicate,
    BoundReference,
    BoundSetPredicate,
    BoundStartsWith,
)
from pyiceberg.expressions import And as BoundAnd
from pyiceberg.expressions import Or as BoundOr
from pyiceberg.expressions.literals import AboveMax, BelowMin

from zonemap.pyiceberg.literals import excluded, matched
from zonemap.pyiceberg.types import StoredType, type_of

#: PyIceberg compares an IN list with bounds only if it has at most this many elements.
_MOST_ELEMENTS = 200


class Op(Enum):
    """The comparison of a leaf."""

    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    AMONG = "in"
    NOT_AMONG = "not in"
    IS_NULL = "is null"
    NOT_NULL = "is not null"
    IS_NAN = "is nan"
    NOT_NAN = "is not nan"
    PREFIX = "starts with"
    NOT_PREFIX = "does not start with"


_OPS: dict[type[BoundPredicate], Op] = {
    BoundLessThan: Op.LESS,
    BoundLessThanOrEqual: Op.AT_MOST,
    BoundGreaterThan: Op.MORE,
    BoundGreaterThanOrEqual: Op.AT_LEAST,
    BoundEqualTo: Op.AMONG,
    BoundIn: Op.AMONG,
    BoundNotEqualTo: Op.NOT_AMONG,
    BoundNotIn: Op.NOT_AMONG,
    BoundIsNull: Op.IS_NULL,
    BoundNotNull: Op.NOT_NULL,
    BoundIsNaN: Op.IS_NAN,
    BoundNotNaN: Op.NOT_NAN,
    BoundStartsWith: Op.PREFIX,
    BoundNotStartsWith: Op.NOT_PREFIX,
}

#: The leaves that null rows make true, and those that NaN rows make true (S24 to S38).
_TRUE_FOR_NULL = {Op.NOT_AMONG, Op.IS_NULL, Op.NOT_NAN, Op.NOT_PREFIX}
_TRUE_FOR_NAN = {Op.MORE, Op.AT_LEAST, Op.NOT_AMONG, Op.NOT_NULL, Op.IS_NAN}


@dataclass(frozen=True)
class Leaf:
    """A condition on one column.

    Attributes:
        type: the type of the column in the schema that the filter is bound to.
        literals: the literals, in each form in which readers may compare them with rows. `NOT_AMONG` has only those
            to which every reader finds equal rows equal.
    """

    field_id: int
    type: StoredType
    op: Op
    literals: tuple[Any, ...] = ()

    @property
    def is_true_for_null(self) -> bool:
        """Whether a null row may make the condition true."""
        return self.op in _TRUE_FOR_NULL

    @property
    def is_true_for_nan(self) -> bool:
        """Whether a NaN row may make the condition true: NaN is greater than every number."""
        return self.op in _TRUE_FOR_NAN


@dataclass(frozen=True)
class And:
    """All conditions hold. Without conditions it is true."""

    children: tuple[Node, ...]


@dataclass(frozen=True)
class Or:
    """One of the conditions holds. Without conditions it is false."""

    children: tuple[Node, ...]


@dataclass(frozen=True)
class Unknown:
    """A condition that proves nothing."""


Node: TypeAlias = Leaf | And | Or | Unknown

TRUE, FALSE = And(()), Or(())


def convert(bound: BooleanExpression) -> Node:
    """Returns the tree of a bound expression without NOT. A part that is not understood proves nothing."""
    if isinstance(bound, AlwaysTrue):
        return TRUE
    if isinstance(bound, AlwaysFalse):
        return FALSE
    if isinstance(bound, BoundAnd):
        return all_of(convert(bound.left), convert(bound.right))
    if isinstance(bound, BoundOr):
        return any_of(convert(bound.left), convert(bound.right))
    return _leaf(bound) or Unknown()


def all_of(*nodes: Node) -> Node:
    """Joins conditions by AND; unknown ones among them prove nothing and are left out."""
    children: list[Node] = []
    for node in nodes:
        children += node.children if isinstance(node, And) else () if isinstance(node, Unknown) else (node,)
    if FALSE in children:
        return FALSE
    if not children and any(isinstance(node, Unknown) for node in nodes):
        return Unknown()
    return children[0] if len(children) == 1 else And(tuple(children))


def any_of(*nodes: Node) -> Node:
    """Joins conditions by OR."""
    if any(isinstance(node, Unknown) or node == TRUE for node in nodes):
        return TRUE if TRUE in nodes else Unknown()
    children: list[Node] = []
    for node in nodes:
        children += node.children if isinstance(node, Or) else (node,)
    return children[0] if len(children) == 1 else Or(tuple(children))


def fields(node: Node) -> frozenset[int]:
    """Returns the field ids of a tree."""
    if isinstance(node, Leaf):
        return frozenset((node.field_id,))
    if isinstance(node, And | Or):
        return reduce(lambda found, child: found | fields(child), node.children, frozenset[int]())
    return frozenset()


def weakened(node: Node, is_kept: Callable[[Leaf], bool]) -> Node:
    """Returns the tree with leaves that are not kept as unknown conditions: it is true for at least the same rows."""
    if isinstance(node, Leaf):
        return node if is_kept(node) else Unknown()
    if isinstance(node, And):
        return all_of(*(weakened(child, is_kept) for child in node.children)) if node.children else node
    if isinstance(node, Or):
        return any_of(*(weakened(child, is_kept) for child in node.children)) if node.children else node
    return node


def is_icebergs(leaf: Leaf) -> bool:
    """Whether PyIceberg compares the leaf with the same bounds and counts (S9).

    A footer may have proven the absence of NaN, of which PyIceberg does not know.
    """
    if leaf.op is Op.AMONG:
        return len(leaf.literals) <= _MOST_ELEMENTS
    return leaf.op not in {Op.NOT_AMONG, Op.NOT_PREFIX, Op.IS_NAN, Op.NOT_NAN}


def _leaf(bound: BooleanExpression) -> Leaf | None:
    op = _OPS.get(type(bound))  # type: ignore[arg-type]
    if op is None or not isinstance(bound, BoundPredicate) or not isinstance(bound.term, BoundReference):
        return None
    field = bound.term.ref().field
    found = type_of(field.field_type)
    if found is None:
        # A group has no bounds, and no counts that the index holds.
        return None
    literals = _values(bound, op)
    if any(isinstance(literal, float) and math.isnan(literal) for literal in literals):
        return None
    if op is Op.NOT_AMONG:
        literals = tuple(excluded(literals, found, isinstance(bound, BoundNotIn)))
    else:
        literals = tuple(matched(literals, found, op is Op.AMONG))
    return Leaf(field.field_id, found, op, literals)


def _values(bound: BoundPredicate, op: Op) -> tuple[Any, ...]:
    """Returns the values of literals. A literal that is out of the column's range has the range's limit as its value.

    No row is equal to such a literal, so `NOT_AMONG` does not exclude the limit.
    """
    listed: set[Any] = set()
    if isinstance(bound, BoundSetPredicate):
        listed = bound.literals
    elif isinstance(bound, BoundLiteralPredicate):
        listed = {bound.literal}
    return tuple(each.value for each in listed if op is not Op.NOT_AMONG or not isinstance(each, AboveMax | BelowMin))
