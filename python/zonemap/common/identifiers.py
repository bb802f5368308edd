# SPDX-License-Identifier: Apache-2.0
"""Reads table names and writes them as SQL string literals."""

from __future__ import annotations

import re

from zonemap.common.argument_checks import shown
from zonemap.common.errors import InvalidArgumentError

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"(['\\])")
_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]*)")


def split(name: str) -> tuple[str, ...]:
    """Returns the parts of a dotted identifier.

    A part in backquotes may contain dots; two backquotes in it stand for one.

    Raises:
        InvalidArgumentError: ``name`` is not a text, a part is empty, or a backquote is not closed.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(
            f"Cannot read table name {shown(name)}: it is not text. Write 'catalog.namespace.table'."
        )
    parts: list[str] = []
    position = 0
    while True:
        match = _PART.match(name, position)
        quoted, bare = match.groups() if match else (None, "")
        part = quoted.replace("``", "`") if quoted is not None else bare.strip()
        if not part:
            raise _unreadable(name, f"part {len(parts) + 1} is empty")
        parts.append(part)
        position = match.end() if match else position
        if position == len(name):
            return tuple(parts)
        if name[position] != ".":
            raise _unreadable(name, f"{name[position]!r} at position {position + 1} is unexpected")
        position += 1


def join(parts: tuple[str, ...]) -> str:
    """Returns the dotted identifier of these parts, with backquotes around parts that need them."""
    return ".".join(part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in parts)


def literal(name: str) -> str:
    """Returns the SQL string literal of a dotted identifier after checking it; the literal is safe in a statement."""
    return text_literal(join(split(name)))


def text_literal(text: str) -> str:
    """Returns any text as an SQL expression of literals, which is safe in a statement under every conf.

    No literal holds a quote or a backslash: spark.sql.parser.escapedStringLiterals changes the meaning of these.
    """
    if not _SPECIAL.search(text):
        return f"'{text}'"
    found = filter(None, _SPECIAL.split(text))
    pieces = (f"char({ord(piece)})" if _SPECIAL.fullmatch(piece) else f"'{piece}'" for piece in found)
    return f"concat({', '.join(pieces)})"


def _unreadable(name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Cannot read table name {name!r}: {why}. "
        "Write catalog.namespace.table, with backquotes around parts that contain other characters."
    )
