# SPDX-License-Identifier: Apache-2.0
"""The journal of one writer: the appends that the spool has accepted, on disk, since the writer may be killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from demo_ingest.lake import WRITERS, Lake

#: The share of its appends that a writer makes before the crashes are done.
_SHARE_BEFORE_CRASHES = 0.6


class Journal:
    """Appends of one writer, in order; a writer that starts again goes on behind its last entry."""

    def __init__(self, lake: Lake, writer: int) -> None:
        self._files = sorted(lake.appends(writer).glob("*.parquet"))
        self._path = lake.accepted(writer)
        self._go = lake.go
        self._crashed = lake.crashed

    @property
    def files(self) -> list[Path]:
        """The files of all appends of the writer."""
        return self._files

    def left(self) -> Iterator[tuple[int, Path]]:
        """Waits for the start, then yields the number and the file of each append that is not in the journal.

        The last appends wait until all crashes are done, so that no writer ends before them on a busy machine.
        """
        _await(self._go)
        known = {append for append, _ in _entries(self._path)}
        for number, file in enumerate(self._files):
            if number >= _SHARE_BEFORE_CRASHES * len(self._files):
                _await(self._crashed)
            if int(file.stem) not in known:
                yield int(file.stem), file

    def accept(self, append: int) -> None:
        """Notes an append after the spool has accepted it."""
        with self._path.open("a") as out:
            out.write(f"{append} {time.time():.3f}\n")


def _await(file: Path) -> None:
    while not file.exists():
        time.sleep(0.05)


def accepted(lake: Lake) -> dict[int, float]:
    """Returns the time of each accepted append of all writers, in seconds since 1970, by its number."""
    return {append: at for writer in range(WRITERS) for append, at in _entries(lake.accepted(writer))}


def _entries(path: Path) -> list[tuple[int, float]]:
    if not path.exists():
        return []
    # The last line may lack its end: the writer is writing it.
    lines = path.read_text().splitlines(keepends=True)
    return [(int(line.split()[0]), float(line.split()[1])) for line in lines if line.endswith("\n")]
