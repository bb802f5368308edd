# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from typing import Any

import pytest

from zonemap import InvalidArgumentError
from zonemap.common import identifiers
from zonemap.session.calls import statement


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
        ("a'b", ("a'b",), "concat('`a', char(39), 'b`')"),
        ("a\\", ("a\\",), "concat('`a', char(92), '`')"),
        ("t'); DROP TABLE x; --", ("t'); DROP TABLE x; --",), "concat('`t', char(39), '); DROP TABLE x; --`')"),
        ("t\\'", ("t\\'",), "concat('`t', char(92), char(39), '`')"),
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


def test_no_literal_holds_a_quote_or_a_backslash() -> None:
    for text in ("x", "x'y", "x\\'y", "x\\\\'y", "'", "\\", "''", ""):
        sql = identifiers.text_literal(text)
        pieces = re.findall(r"'([^'\\]*)'|char\((\d+)\)", sql)
        assert "".join(plain or (chr(int(code)) if code else "") for plain, code in pieces) == text
        assert re.fullmatch(r"'[^'\\]*'|concat\(('[^'\\]+'|char\(\d+\))(, ('[^'\\]+'|char\(\d+\)))*\)", sql), sql


def test_the_statement() -> None:
    assert statement("build_index", "lake.db.t") == "CALL zonemap.system.build_index(table => 'lake.db.t')"
    assert (
        statement("drop_index", "t", ", dry_run => true")
        == "CALL zonemap.system.drop_index(table => 't', dry_run => true)"
    )
