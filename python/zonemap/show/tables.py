# SPDX-License-Identifier: Apache-2.0
"""Tables for people: HTML for notebooks, rich tables for terminals, and their plain text for ``print``.

A single row is shown with one field in each line, because a result has more fields than a screen has columns.
"""

from __future__ import annotations

import io
import shutil
import sys
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from zonemap.common import safe_text
from zonemap.show import page

#: The most rows of a table; a result with more of them has them all in its fields.
_MOST_ROWS = 100
#: A text with no more characters stays on one line.
_SHORT = 20
#: The most characters of a value in a table whose rows have one line each.
_LONGEST_IN_LINE = 1_000
#: The columns of a text that no terminal shows, such as a log.
_WIDTH = 100

# The host of a notebook has its own sizes, alignment and colours of tables; lines take the colour of its text.
_STYLE = """<style>
.zonemap-table { overflow-x: auto; }
.zonemap-heading { overflow-wrap: anywhere; }
.zonemap-table table { border-collapse: collapse; margin: .4em 0; font-variant-numeric: tabular-nums; }
.zonemap-table th, .zonemap-table td { padding: .3em .7em; text-align: left; vertical-align: top; max-width: 34em; }
.zonemap-table tr { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
.zonemap-table td { white-space: pre-wrap; overflow-wrap: break-word; }
.zonemap-table thead th, .zonemap-table td.number, .zonemap-table td.short { white-space: nowrap; }
.zonemap-table td.sentence { min-width: 18em; }
.zonemap-table .number { text-align: right; }
</style>"""


class Shown:
    """A result that notebooks show as an HTML table, and ``print`` and ``rich.print`` as a table of the terminal."""

    #: True if a row has one line of a terminal, below the names of the columns, also where it is the only row.
    _has_lines: ClassVar[bool] = False

    @abstractmethod
    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        """Returns a heading, which may be empty, and rows with the same keys."""

    def _tables(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Returns all tables, each as a heading and rows."""
        return [self._shown()]

    def _repr_html_(self) -> str:
        parts = [
            (f'<p class="zonemap-heading">{page.escaped(heading)}</p>' if heading else "")
            + html_table(rows, lines=self._has_lines)
            for heading, rows in _parts(self, _MOST_ROWS)
        ]
        return _STYLE + "".join(parts)

    def __rich__(self) -> Group:
        return terminal(self, _MOST_ROWS)

    def __str__(self) -> str:
        """Returns what ``rich.print`` shows as plain text, as wide as the terminal; the dataclass is in ``repr``.

        Characters that standard output cannot encode are escapes, so that ``print`` never fails.
        """
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        written = io.BytesIO()
        file = io.TextIOWrapper(written, encoding, errors="backslashreplace", newline="\n")
        width = shutil.get_terminal_size((_WIDTH, 1)).columns
        console = Console(file=file, width=width, color_system=None, force_terminal=False, force_jupyter=False)
        console.print(self)
        file.flush()
        return written.getvalue().decode(encoding).rstrip("\n")


def terminal(result: Shown, most: int | None = None) -> Group:
    """Returns a result as rich shows it, with the first ``most`` rows of each table, or with all of them."""
    shown: list[Text | Table] = []
    for heading, rows in _parts(result, most):
        shown += [Text(safe_text.visible(heading))] if heading else []
        shown += [rich_table(rows, lines=result._has_lines)] if rows else []
    return Group(*shown)


def html_table(rows: list[dict[str, Any]], *, lines: bool = False) -> str:
    """Returns an HTML table of rows with the same keys; every name and value is escaped.

    A single row has a field in each line, unless ``lines`` asks for a line for each row.
    """
    if not rows:
        return ""
    if len(rows) == 1 and not lines:
        fields = (
            f'<tr><th scope="row">{page.escaped(name)}</th>{_cell(value, name)}</tr>' for name, value in rows[0].items()
        )
        return _box(rows, f"<tbody>{''.join(fields)}</tbody>")
    numbers = {name for name in rows[0] if all(_is_number(row[name]) or row[name] is None for row in rows)}
    head = "".join(f"<th{_class('number' if name in numbers else '')}>{page.escaped(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(_cell(value, name, number=name in numbers) for name, value in row.items()) + "</tr>"
        for row in rows
    )
    return _box(rows, f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def rich_table(rows: list[dict[str, Any]], *, lines: bool = False) -> Table:
    """Returns a rich table of rows with the same keys; values are plain text, so brackets are not markup.

    A single row has a field in each line. With ``lines``, each row has one line: the end of a text that is too long
    for the terminal is left out.
    """
    table = Table(show_header=lines or len(rows) != 1)
    if rows and lines:
        for name in rows[0]:
            table.add_column(name, no_wrap=all(len(text(row[name], name)) <= _SHORT for row in rows))
        for row in rows:
            table.add_row(*(_one_line(text(value, name)) for name, value in row.items()))
    elif len(rows) == 1:
        table.add_column("field", style="bold")
        table.add_column("value", overflow="fold")
        for name, value in rows[0].items():
            table.add_row(name, Text(text(value, name)))
    elif rows:
        for name in rows[0]:
            table.add_column(name, overflow="fold")
        for row in rows:
            table.add_row(*(Text(text(value, name)) for name, value in row.items()))
    return table


def text(value: object, name: str = "") -> str:
    """Returns a value as text for people: thousands separated, yes or no, three decimals; ids unchanged."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and not name.endswith("_id"):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{safe_text.visible(str(key))}: {text(held)}" for key, held in value.items())
    return safe_text.visible(str(value))


def known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows of a result of this package with None instead of -1, which stands for an unknown number."""
    return [{name: _known(value) for name, value in row.items()} for row in rows]


def _parts(result: Shown, most: int | None) -> list[tuple[str, list[dict[str, Any]]]]:
    """Returns the tables of a result, each with a heading that states how many rows it leaves out."""
    return [_first_rows(heading, rows, most) for heading, rows in result._tables()]


def _first_rows(heading: str, rows: list[dict[str, Any]], most: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Returns a table whose heading states how many rows it leaves out, or that there are none."""
    if not rows and not heading:
        return "no rows", []
    shown = known(rows[:most])
    if len(shown) == len(rows):
        return heading, shown
    return f"{heading}{': ' if heading else ''}the first {len(shown):,} of {len(rows):,} rows", shown


def _one_line(value: str) -> Text:
    return Text(safe_text.line(value, _LONGEST_IN_LINE), no_wrap=True, overflow="ellipsis")


def _box(rows: list[dict[str, Any]], table: str) -> str:
    """Returns a table in a region that the keyboard scrolls if the table is wider than the notebook."""
    label = page.escaped("Table: " + ", ".join(rows[0]))
    return f'<div class="zonemap-table" tabindex="0" role="region" aria-label="{label}"><table>{table}</table></div>'


def _cell(value: object, name: str, *, number: bool = False) -> str:
    shown = text(value, name)
    kind = "number" if number else "sentence" if len(shown) > page.SENTENCE else "short" if len(shown) <= _SHORT else ""
    return f"<td{_class(kind)}>{page.escaped(shown)}</td>"


def _known(value: object) -> object:
    return None if isinstance(value, int | float) and value == -1 else value


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
