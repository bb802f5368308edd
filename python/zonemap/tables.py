"""Tables for people: HTML for notebooks, and rich tables for terminals.

A single row is shown with one field in each line, because a result has more fields than a screen has columns.
"""

from __future__ import annotations

import html
from abc import abstractmethod
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text


class Shown:
    """A result that notebooks show as an HTML table and ``rich.print`` as a table of the terminal."""

    @abstractmethod
    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        """Returns a heading, which may be empty, and rows with the same keys."""

    def _tables(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Returns all tables, each as a heading and rows."""
        return [self._shown()]

    def _repr_html_(self) -> str:
        return "".join(
            (f"<p>{html.escape(heading)}</p>" if heading else "") + html_table(rows) for heading, rows in self._tables()
        )

    def __rich__(self) -> Group:
        shown: list[Text | Table] = []
        for heading, rows in self._tables():
            shown += ([Text(heading)] if heading else []) + ([rich_table(rows)] if rows else [])
        return Group(*shown)


def html_table(rows: list[dict[str, Any]]) -> str:
    """Returns a plain HTML table of rows with the same keys; every name and value is escaped."""
    if not rows:
        return ""
    if len(rows) == 1:
        fields = (
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text(value, name))}</td></tr>"
            for name, value in rows[0].items()
        )
        return f"<table><tbody>{''.join(fields)}</tbody></table>"
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text(value, name))}</td>" for name, value in row.items()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def rich_table(rows: list[dict[str, Any]]) -> Table:
    """Returns a rich table of rows with the same keys; values are plain text, so brackets are no markup."""
    table = Table(show_header=len(rows) != 1)
    if len(rows) == 1:
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
    return str(value)
