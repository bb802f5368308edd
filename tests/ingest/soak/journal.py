# SPDX-License-Identifier: Apache-2.0
"""The journal of a writer: a line before each append, and one after it, which the oracle reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Journal:
    """What a writer has tried, and what the spool has accepted.

    Attributes:
        intended: The appends that were begun.
        accepted: The appends for which the writer had a receipt, with the paths of their files.
    """

    intended: set[int] = field(default_factory=set)
    accepted: dict[int, list[str]] = field(default_factory=dict)

    def next(self, *, numbered: bool) -> int:
        """Returns the next append: the first one without a receipt, or one that was never tried."""
        return 1 + max(self.accepted if numbered else self.intended, default=-1)


def read(path: Path) -> Journal:
    """Reads a journal; the last line may be torn."""
    found = Journal()
    for line in path.read_text().splitlines(keepends=True) if path.exists() else []:
        if not line.endswith("\n"):
            continue
        word, k, *files = line.split()
        if word == "intended":
            found.intended.add(int(k))
        elif word == "accepted":
            found.accepted[int(k)] = files
    return found


def write(path: Path, word: str, k: int, *files: str) -> None:
    """Writes one line; a kill cannot take back what the operating system has."""
    with path.open("a") as out:
        out.write(" ".join([word, str(k), *files]) + "\n")
