"""Lines of the log, read by their fields in the way that the guide names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def fields(line: str) -> dict[str, str]:
    """Returns the fields of a line of zonemap; none for a line of anything else."""
    return dict(part.split("=", 1) for part in shlex.split(line.partition(" Zonemap: ")[2]))


def join_cuts(lines: Iterable[str], table: str | None = None, key: str | None = None) -> list[tuple[int, int]]:
    """Returns the files before and after each pruning by join keys, of all tables and keys unless one is named."""
    found = [fields(line) for line in lines if " Zonemap: table=" in line and " join_keys=" in line]
    return [
        (int(line["files_before"]), int(line["files_after"]))
        for line in found
        if table in (None, line["table"]) and key in (None, line["join_keys"])
    ]
