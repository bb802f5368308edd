# SPDX-License-Identifier: Apache-2.0
"""Listings of local folders that other processes change: a file or a folder that vanishes meanwhile is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """A file in a listing: its name in the listed folder and its size in bytes."""

    name: str
    size: int


def files(folder: Path) -> Iterator[Entry]:
    """Yields the files of a folder without those whose name begins with a dot; none if the folder is missing."""
    for entry in _entries(folder):
        if entry.name.startswith(".") or not entry.is_file(follow_symlinks=False):
            continue
        try:
            size = entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
        yield Entry(entry.name, size)


def folders(folder: Path) -> list[str]:
    """Returns the names of the folders in a folder, sorted; none if the folder is missing."""
    return sorted(entry.name for entry in _entries(folder) if entry.is_dir(follow_symlinks=False))


def matching(folder: Path, pattern: str) -> list[Path]:
    """Returns the paths below a folder that match a relative pattern such as ``pending/*/*.rec``, sorted.

    ``Path.glob`` raises if a folder vanishes after it was found, as the folder of a lane does when it is empty.
    """
    first, _, rest = pattern.partition("/")
    names = [
        entry.name for entry in _entries(folder) if fnmatchcase(entry.name, first) and (not rest or _is_dir(entry))
    ]
    if not rest:
        return sorted(folder / name for name in names)
    return sorted(path for name in names for path in matching(folder / name, rest))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            yield from found
    except FileNotFoundError:
        return


def _is_dir(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)
