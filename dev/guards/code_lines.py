#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the lines "Code:" of the soundness rules: the classes that enforce a rule, from the entries of guards."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from catalogue import PAGES, Guard, load

#: The longest line of the pages.
WIDTH = 118
_RULE = re.compile(r"^- \*\*(S\d+)\. ", re.MULTILINE)
_CODE = re.compile(r"^  - Code: .*\n(?:    .*\n)*", re.MULTILINE)


def with_code(page: str, guards: Sequence[Guard]) -> str:
    """Returns the text of a page whose rules have the line of their guards, before the line of their tests."""
    parts = re.split(r"(?m)^(?=- \*\*S\d)", _CODE.sub("", page))
    return "".join(_with_line(part, guards) for part in parts)


def _with_line(rule: str, guards: Sequence[Guard]) -> str:
    found = _RULE.match(rule)
    names = sorted({Path(g.file).stem for g in guards if found and found[1] in g.rules})
    if not names:
        return rule
    text = "Code: " + ", ".join(f"`{name}`" for name in names)
    line = textwrap.fill(text, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)
    return rule.replace("\n  - Tests: ", f"\n{line}\n  - Tests: ", 1)


def main() -> int:
    """Writes the pages."""
    guards = load()
    for path in PAGES:
        path.write_text(with_code(path.read_text(encoding="utf-8"), guards), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
