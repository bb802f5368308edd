"""Reads files of the index of one table through PyIceberg's FileIO."""

from __future__ import annotations

import os
import re
from typing import Any

from pyiceberg.io import FileIO

from zonemap.pyiceberg.damage import DamagedError

_FOLDER = "_zonemaps_v2"
_MOST_BYTES = (1 << 31) - 1

#: The least number of bytes that one request at the end of a file reads, to save requests.
TAIL_BYTES = 16 << 10


class File:
    """An open file of known size. Each read is one request for a range."""

    def __init__(self, stream: Any, name: str, size: int) -> None:
        self._stream = stream
        self.name = name
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """Reads a range, which must lie within the file."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedError(f"{self.name}: a range outside the file")
        self._stream.seek(offset)
        found = bytes(self._stream.read(length))
        if len(found) != length:
            raise DamagedError(f"{self.name}: the file is cut off")
        return found

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()


class Store:
    """The folder of a table's index.

    Args:
        io: opens the files.
        folder: the location of the folder.
    """

    def __init__(self, io: FileIO, folder: str) -> None:
        self._io = io
        self._folder = folder

    def open(self, name: str) -> File | None:
        """Opens a file; None if it does not exist.

        Args:
            name: the path within the folder, in a form of section 8 of the format. The caller checks that.
        """
        location = f"{self._folder}/{name}"
        self._check_inside(location)
        try:
            stream = self._io.new_input(location).open(seekable=True)
        except FileNotFoundError:
            return None
        try:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
        except BaseException:
            stream.close()
            raise
        if size > _MOST_BYTES:
            stream.close()
            raise DamagedError(f"{name}: a file of {size} bytes")
        return File(stream, name, size)

    def _check_inside(self, location: str) -> None:
        """Fails if a local file is reached through a symbolic link that leaves the folder of the index."""
        folder, path = _local(self._folder), _local(location)
        if folder is not None and path is not None:
            real = os.path.realpath(folder)
            if os.path.commonpath((real, os.path.realpath(path))) != real:
                raise DamagedError(f"'{location}' is reached through a symbolic link that leaves the index")


def store_folder(table_location: str, table_uuid: str, store_location: str | None) -> str:
    """Returns the folder of a table's index: beside the table, or under the location that all tables share."""
    parent = f"{table_location.rstrip('/')}/{_FOLDER}" if store_location is None else store_location.rstrip("/")
    return f"{parent}/{table_uuid}"


def _local(location: str) -> str | None:
    """Returns the path of a location on this machine; None for other locations."""
    if location.startswith("file:"):
        return re.sub("^/+", "/", location.removeprefix("file:"))
    return location if location.startswith("/") else None
