# SPDX-License-Identifier: Apache-2.0
"""Checks the arguments of a caller, except names: no value becomes part of a statement unchecked."""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from zonemap.common.errors import InvalidArgumentError

T = TypeVar("T")

#: The largest number of characters of a value in a message.
_LONGEST_SHOWN = 120

#: The largest number of an INT argument.
GREATEST_INT = 2**31 - 1


def shown(value: object) -> str:
    """Returns the ``repr`` of a value as one short line, for a message."""
    line = " ".join(repr(value).split())
    return line if len(line) <= _LONGEST_SHOWN else line[:_LONGEST_SHOWN] + "..."


def flag(name: str, value: object) -> bool:
    """Returns ``value`` if it is True or False.

    Raises:
        InvalidArgumentError: ``value`` is not a bool; 0, 1 and texts are not accepted.
    """
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give True or False.")


def path(name: str, value: object) -> str:
    """Returns ``value`` as a text if it is a text or a path, and not empty.

    Raises:
        InvalidArgumentError: ``value`` has another type or is empty.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if isinstance(text, str) and text.strip():
        return text
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give a path as text or as a pathlib.Path.")


def instance(name: str, value: T | None, kind: type[T]) -> T | None:
    """Returns ``value`` if it is None or of this class of the package.

    Raises:
        InvalidArgumentError: ``value`` has another type.
    """
    if value is None or isinstance(value, kind):
        return value
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give a {_public(kind)}.")


def _public(kind: type) -> str:
    """Returns the name of a class with the package that exports it."""
    package = "zonemap.ingest" if kind.__module__.startswith("zonemap.ingest.") else "zonemap"
    return f"{package}.{kind.__name__}"


def count(name: str, value: object, unit: str) -> int:
    """Returns ``value`` as an int if it is a whole number from 0 to the largest INT.

    Raises:
        InvalidArgumentError: ``value`` is negative, too large, a fraction, a bool or a text.
    """
    number = -1 if isinstance(value, bool) or not isinstance(value, numbers.Integral) else operator.index(value)
    if 0 <= number <= GREATEST_INT:
        return number
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give a whole number of {unit}, 0 to {GREATEST_INT}.")


def positive(name: str, value: object, unit: str | None, hint: str = "") -> float:
    """Returns ``value`` as a float if it is a finite number above 0.

    Raises:
        InvalidArgumentError: ``value`` is not a finite number above 0.
    """
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else 0.0
    if math.isfinite(number) and number > 0:
        return number
    kind = "number" if unit is None else f"number of {unit}"
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give a finite {kind} above 0{hint}.")


def texts(name: str, value: Any, what: str) -> tuple[str, ...]:
    """Returns the items of ``value`` if it is a list, another sequence, or a set of texts; one text is not a list.

    Raises:
        InvalidArgumentError: ``value`` is not a list, or an item is not a text.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray):
        items = tuple(value)
        if all(isinstance(item, str) for item in items):
            return items
    hint = f", such as [{value!r}]" if isinstance(value, str) else ""
    raise InvalidArgumentError(f"Cannot use {name}={shown(value)}: give a list of {what}{hint}.")
