# SPDX-License-Identifier: Apache-2.0
"""Reads pages as a browser would: their texts, whether they are whole, and what they would load."""

from __future__ import annotations

import re
from html.parser import HTMLParser

#: Elements without an end.
_EMPTY = ("meta", "br", "hr", "img", "link", "input")


class Page(HTMLParser):
    """A parsed page; parsing fails if an element ends that is not open.

    Attributes:
        loads: Attributes by which a browser loads something.
        texts: The texts of the page, without those of styles.
        ids: The ids of elements.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _EMPTY:
            self.open.append(tag)
        self._attributes(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.loads += re.findall(r"url\([^)]*\)|@import", data)
        elif data.strip():
            self.texts.append(data.strip())

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            inside = (value or "").startswith("#")
            if tag == "script" or (name in ("src", "href", "xlink:href", "srcset", "data", "poster") and not inside):
                self.loads.append(f"{tag} {name}={value}")
            if "url(" in (value or "") and "url(#" not in (value or ""):
                self.loads.append(f"{tag} {name}={value}")
            if name == "id" and value:
                self.ids.append(value)


def loaded_by(html: str) -> list[str]:
    """Returns what a browser would load or run for the page."""
    return Page(html).loads
