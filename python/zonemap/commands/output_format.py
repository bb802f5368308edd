# SPDX-License-Identifier: Apache-2.0
"""Output of the command line: tables for people or JSON for programs, behind one interface."""

from __future__ import annotations

import json
from typing import Any, Protocol

from rich.console import Console

from zonemap.common import safe_text
from zonemap.show.tables import Shown, known, rich_table, terminal


class Output(Protocol):
    """Prints the rows of a result."""

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Prints rows with the same keys; a single row is printed with one key in each line."""

    def result(self, found: Shown, rows: list[dict[str, Any]]) -> None:
        """Prints a result: for people what ``print`` shows, with all of its rows; for programs ``rows``."""


class TableOutput:
    """Prints tables in a terminal; values are plain text, so brackets are no markup."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console()

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Prints rows as a table, with '-' for a number that is not known; see ``Output``."""
        self._console.print(safe_text.visible(title), highlight=False, markup=False)
        if rows:
            self._console.print(rich_table(known(rows)))

    def result(self, found: Shown, rows: list[dict[str, Any]]) -> None:
        """Prints the headings and tables of a result; see ``Output``."""
        self._console.print(terminal(found))


class JsonOutput:
    """Prints one JSON document: an object for a single row, otherwise a list."""

    def __init__(self, *, always_list: bool = False) -> None:
        self._always_list = always_list

    def rows(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Prints rows as JSON without the title; see ``Output``."""
        single = len(rows) == 1 and not self._always_list
        print(json.dumps(rows[0] if single else rows, indent=2, default=str))

    def result(self, found: Shown, rows: list[dict[str, Any]]) -> None:
        """Prints the rows as JSON; see ``Output``."""
        self.rows("", rows)


def output_of(kind: str, *, always_list: bool = False) -> Output:
    """Returns the output for a kind of the command line, ``table`` or ``json``."""
    return JsonOutput(always_list=always_list) if kind == "json" else TableOutput()
