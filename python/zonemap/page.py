"""One self-contained HTML page: it loads nothing, and follows the background that the reader prefers."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from zonemap.palette import css


def page(title: str, body: str) -> str:
    """Returns a page around ``body``, which is HTML; ``title`` is plain text."""
    template = Template(files("zonemap").joinpath("page.html.tmpl").read_text(encoding="utf-8"))
    return template.substitute(title=html.escape(title), colours=css(":root"), body=body)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    """Returns a table of texts, which are escaped; the columns named in ``numbers`` are aligned to the right."""
    kinds = [' class="number"' if name in numbers else "" for name in head]
    cells = zip(head, kinds, strict=True)
    first = "".join(f"<th{kind}>{html.escape(name)}</th>" for name, kind in cells)
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{html.escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table></div>'


def tiles(found: Iterable[tuple[str, str]]) -> str:
    """Returns one tile for each pair of a large text and the words below it, which are escaped."""
    each = (
        f'<div class="tile"><b>{html.escape(large)}</b><span>{html.escape(words)}</span></div>'
        for large, words in found
    )
    return f'<div class="tiles">{"".join(each)}</div>'
