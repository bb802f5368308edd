# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page: it loads nothing, and follows the background that the reader prefers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from zonemap.common import safe_text
from zonemap.show.palette import css

#: A text with more characters is a sentence, which keeps some width beside other columns.
SENTENCE = 40
#: The most characters of a page's title.
_LONGEST_TITLE = 120


def escaped(text: str) -> str:
    """Returns plain text as HTML, in quotes of attributes too; characters that a browser would obey are seen."""
    return html.escape(safe_text.visible(text))


def page(title: str, body: str) -> str:
    """Returns a page around ``body``, which is HTML; ``title`` is plain text."""
    template = Template(files("zonemap.show").joinpath("page.html.tmpl").read_text(encoding="utf-8"))
    return template.substitute(title=escaped(safe_text.line(title, _LONGEST_TITLE)), colours=css(":root"), body=body)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    """Returns a table of texts, which are escaped; the columns named in ``numbers`` are aligned to the right.

    A table that is wider than the window is scrolled in a region of its own, which the keyboard reaches.
    """
    first = "".join(f"<th{_kind(name, name in numbers)}>{escaped(name)}</th>" for name in head)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(cell, name in numbers)}>{escaped(cell)}</td>" for cell, name in zip(row, head, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    label = escaped("Table: " + ", ".join(name for name in head if name))
    box = f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
    return f"{box}<table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>"


def _kind(cell: str, number: bool) -> str:
    """Returns the class of a cell; a sentence keeps some width in a narrow window."""
    return ' class="number"' if number else ' class="sentence"' if len(cell) > SENTENCE else ""


def tiles(found: Iterable[tuple[str, str]]) -> str:
    """Returns one tile for each pair of a large text and the words below it, which are escaped."""
    each = (f'<div class="tile"><b>{escaped(large)}</b><span>{escaped(words)}</span></div>' for large, words in found)
    return f'<div class="tiles">{"".join(each)}</div>'
