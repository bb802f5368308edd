from __future__ import annotations

from typing import Any

import pytest

from zonemap import InvalidArgumentError, identifiers
from zonemap.procedures import statement


@pytest.mark.parametrize(
    ("name", "parts", "literal"),
    [
        ("lake.db.t", ("lake", "db", "t"), "'lake.db.t'"),
        ("t", ("t",), "'t'"),
        (" lake . db . t ", ("lake", "db", "t"), "'lake.db.t'"),
        ("lake.`my db`.t", ("lake", "my db", "t"), "'lake.`my db`.t'"),
        ("lake.`a.b`.t", ("lake", "a.b", "t"), "'lake.`a.b`.t'"),
        ("lake.`a``b`.t", ("lake", "a`b", "t"), "'lake.`a``b`.t'"),
        ("lake.my-db.t", ("lake", "my-db", "t"), "'lake.`my-db`.t'"),
        ("lake.db.tabelle_ä", ("lake", "db", "tabelle_ä"), "'lake.db.`tabelle_ä`'"),
        ("lake.db.2024", ("lake", "db", "2024"), "'lake.db.`2024`'"),
        ("lake.db.2024_x", ("lake", "db", "2024_x"), "'lake.db.2024_x'"),
        ("a'b", ("a'b",), r"'`a\'b`'"),
        ("a\\", ("a\\",), r"'`a\\`'"),
        ("t'); DROP TABLE x; --", ("t'); DROP TABLE x; --",), r"'`t\'); DROP TABLE x; --`'"),
        ("t\\'", ("t\\'",), r"'`t\\\'`'"),
        ("lake.`a\nb\t\x01`.t", ("lake", "a\nb\t\x01", "t"), "'lake.`a\nb\t\x01`.t'"),
        ("a\nb", ("a\nb",), "'`a\nb`'"),
    ],
)
def test_names_are_split_and_quoted(name: str, parts: tuple[str, ...], literal: str) -> None:
    assert identifiers.split(name) == parts
    assert identifiers.literal(name) == literal
    assert identifiers.split(identifiers.join(parts)) == parts


@pytest.mark.parametrize(
    "name", ["", " ", ".", "a.", ".a", "a..b", "a.``", "`a", "`a`b", "a`b.c`d`", "a.\n", "`a\n", 7, None, b"t"]
)
def test_unreadable_names_are_refused(name: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Cannot read table name") as caught:
        identifiers.split(name)
    assert "\n" not in str(caught.value)


def test_a_literal_ends_where_it_should() -> None:
    for name in ("x", "x'y", "x\\'y", "x\\\\'y", "'", "\\", "''"):
        text = identifiers.literal(name)
        body, position = text[1:-1], 0
        while position < len(body):
            assert body[position] != "'", name
            position += 2 if body[position] == "\\" else 1
        assert position == len(body), name


def test_the_statement() -> None:
    assert statement("build", "lake.db.t") == "CALL zonemap.system.build(table => 'lake.db.t')"
    assert statement("drop", "t", ", dry_run => true") == "CALL zonemap.system.drop(table => 't', dry_run => true)"
