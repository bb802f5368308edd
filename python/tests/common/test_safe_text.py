# SPDX-License-Identifier: Apache-2.0
"""Texts of any writer, on a page, in a notebook and in a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from zonemap.commands.output_format import TableOutput
from zonemap.common import safe_text
from zonemap.results import DropResult


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("id", "id"),
        ("naïve 名前 שם", "naïve 名前 שם"),
        ("👩‍👧 e\u0301", "👩‍👧 e\u0301"),  # joiners and marks belong to what is seen
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb", "a\nb"),
        ("a\rb", r"a\rb"),
        ("\x00\x1b[31m\x85", r"\x00\x1b[31m\x85"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("a\u2028b\ufeff\ufffe", r"a\u2028b\ufeff\ufffe"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_a_character_that_nobody_sees_becomes_an_escape(text: str, shown: str) -> None:
    assert safe_text.visible(text) == shown
    assert safe_text.visible(shown).encode() == shown.encode()


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [
        ("a\n b\t c", 48, "a b c"),
        ("x" * 48, 48, "x" * 48),
        ("abcdefghijklmnopqrstuvwxyz", 20, "abcdefghi ... uvwxyz"),
        ("", 48, ""),
    ],
)
def test_a_line_has_an_end(text: str, longest: int, shown: str) -> None:
    assert safe_text.line(text, longest) == shown
    assert len(safe_text.line(text * 10_000, longest)) <= longest


@pytest.mark.parametrize(("number", "shown"), [(1234.56, "1,234.6"), (float("nan"), "unknown"), (None, "unknown")])
def test_an_average_of_nothing_is_unknown(number: float | None, shown: str) -> None:
    assert safe_text.decimal(number) == shown


def test_a_terminal_obeys_no_name() -> None:
    console = Console(file=io.StringIO(), width=100)
    TableOutput(console).rows("t\x1b]0;title\x07", [{"path": "/a\x1b[2J"}, {"path": "/b"}])
    console.print(DropResult("t\x1b[2J", False, ("/a\x1b[2J", "/b")))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b" not in printed and "\x07" not in printed
    assert printed.count(r"/a\x1b[2J") == 2 and r"t\x1b]0;title\x07" in printed
