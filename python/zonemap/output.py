"""How the command line answers: one interface, as tables for people or as JSON for programs."""

from __future__ import annotations

import json
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from zonemap.results import text


class Output(Protocol):
    """Where the rows of an answer go."""

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Shows rows that share their keys; for a single one the keys go down the page."""


class TableOutput:
    """Tables in a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Shows rows as a table; see ``Output``."""
        table = Table(show_header=len(rows) != 1)
        if len(rows) == 1:
            table.add_column("field", style="bold")
            table.add_column("value", overflow="fold")
            for name, value in rows[0].items():
                table.add_row(name, text(value, name))
        elif rows:
            for name in rows[0]:
                table.add_column(name, overflow="fold")
            for row in rows:
                table.add_row(*(text(value, name) for name, value in row.items()))
        self._console.print(title, highlight=False, markup=False)
        if rows:
            self._console.print(table)


class JsonOutput:
    """One JSON document: an object for a single row, else a list."""

    def __init__(self, *, always_list: bool = False) -> None:
        self._always_list = always_list

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Prints rows as JSON; see ``Output``. The title is left out."""
        single = len(rows) == 1 and not self._always_list
        print(json.dumps(rows[0] if single else rows, indent=2, default=str))


def output_of(kind: str, *, always_list: bool = False) -> Output:
    """The output named on the command line, ``table`` or ``json``."""
    return JsonOutput(always_list=always_list) if kind == "json" else TableOutput()
