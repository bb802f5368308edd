# SPDX-License-Identifier: Apache-2.0
"""Texts that a table of any writer may contain, made safe to show: every character is seen, and no text is endless."""

from __future__ import annotations

import math
import re

# Control characters but the line feed and the tab, invisible formats but the joiners of emoji and of scripts, signs
# that change the direction of a text, halves of surrogate pairs, and numbers that stand for no character.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)

#: The most characters of a name in a heading or a plot.
NAME = 48


def visible(text: str) -> str:
    """Returns ``text`` with Python's escapes for characters that terminals and pages obey instead of showing."""
    return _UNSEEN.sub(_escape, text.replace("\r\n", "\n"))


def line(text: str, longest: int = NAME) -> str:
    """Returns ``text`` as one visible line; the middle of a line with more than ``longest`` characters is left out."""
    found = " ".join(visible(text).split())
    if len(found) <= longest:
        return found
    end = longest // 3
    return f"{found[: longest - end - 5].rstrip()} ... {found[-end:].lstrip()}"


def decimal(number: float | None) -> str:
    """Returns a number with one decimal; the average of nothing is unknown."""
    return f"{number:,.1f}" if number is not None and math.isfinite(number) else "unknown"


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")
