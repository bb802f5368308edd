# SPDX-License-Identifier: Apache-2.0
"""Lines of the log, read by their fields in the way that the guide names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def fields(line: str) -> dict[str, str]:
    """Returns the fields of a line of zonemap; none for a line of anything else."""
    return dict(part.split("=", 1) for part in shlex.split(line.partition(" Zonemap: ")[2]))


def planned(lines: Iterable[str], table: str) -> list[int]:
    """Returns the files of each scan of a table that was planned from the index."""
    found = [fields(line) for line in lines if " Zonemap: table=" in line and " files_kept=" in line]
    return [int(line["files_kept"]) for line in found if line["table"] == table]


def join_cuts(lines: Iterable[str], table: str | None = None, key: str | None = None) -> list[tuple[int, int]]:
    """Returns the files before and after each pruning by join keys, of all tables and keys unless one is named."""
    return _cuts(lines, "join_keys", table, key)


def join_range_cuts(lines: Iterable[str]) -> list[tuple[int, int]]:
    """Returns the files before and after each pruning by the ranges of join keys, at plan time."""
    return _cuts(lines, "join_ranges", None, None)


def _cuts(lines: Iterable[str], by: str, table: str | None, key: str | None) -> list[tuple[int, int]]:
    found = [fields(line) for line in lines if " Zonemap: table=" in line and f" {by}=" in line]
    return [
        (int(line["files_before"]), int(line["files_after"]))
        for line in found
        if table in (None, line["table"]) and key in (None, line[by])
    ]
