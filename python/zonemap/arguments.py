"""Checks the arguments of a caller, except names: no value becomes part of a statement unchecked."""

from __future__ import annotations

import math
import numbers
import operator
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from zonemap.errors import InvalidArgumentError

T = TypeVar("T")

#: The start of a URI, such as ``s3://``; one letter is a drive of Windows.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")

#: The largest number of an INT argument.
GREATEST_INT = 2**31 - 1


def flag(name: str, value: object) -> bool:
    """Returns ``value`` if it is True or False.

    Raises:
        InvalidArgumentError: ``value`` is not a bool; 0, 1 and texts are not accepted.
    """
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: give True or False.")


def path(name: str, value: object) -> str:
    """Returns ``value`` as a text if it is a text or a path, and not empty.

    Raises:
        InvalidArgumentError: ``value`` has another type or is empty.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if isinstance(text, str) and text.strip():
        return text
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: give a path as text or as a pathlib.Path.")


def jar(name: str, value: object) -> str:
    """Returns ``value`` as a text if it is the path of a jar that exists, or a URI or a pattern that Spark resolves.

    Raises:
        InvalidArgumentError: ``value`` has another type, or there is no such file.
    """
    text = path(name, value)
    local = text.removeprefix("file://").removeprefix("file:")
    if _SCHEME.match(local) or "*" in local or Path(local).is_file():
        return text
    raise InvalidArgumentError(
        f"Cannot use {name}={text!r}: there is no such file. Give the path of a jar that exists."
    )


def instance(name: str, value: T | None, kind: type[T]) -> T | None:
    """Returns ``value`` if it is None or of this class of the package.

    Raises:
        InvalidArgumentError: ``value`` has another type.
    """
    if value is None or isinstance(value, kind):
        return value
    shown = " ".join(repr(value).split())
    raise InvalidArgumentError(f"Cannot use {name}={shown}: give a zonemap.{kind.__name__}.")


def count(name: str, value: object, unit: str) -> int:
    """Returns ``value`` as an int if it is a whole number from 0 to the largest INT.

    Raises:
        InvalidArgumentError: ``value`` is negative, too large, a fraction, a bool or a text.
    """
    number = -1 if isinstance(value, bool) or not isinstance(value, numbers.Integral) else operator.index(value)
    if 0 <= number <= GREATEST_INT:
        return number
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: give a whole number of {unit}, 0 to {GREATEST_INT}.")


def positive(name: str, value: object, unit: str) -> float:
    """Returns ``value`` as a float if it is a finite number above 0.

    Raises:
        InvalidArgumentError: ``value`` is not a finite number above 0.
    """
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else 0.0
    if math.isfinite(number) and number > 0:
        return number
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: give a number of {unit} above 0.")


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
    raise InvalidArgumentError(f"Cannot use {name}={value!r}: give a list of {what}{hint}.")
