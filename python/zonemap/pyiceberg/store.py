# SPDX-License-Identifier: Apache-2.0
"""Reads files of the index of one table through PyIceberg's FileIO."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from zonemap.pyiceberg.damage import DamagedError

_FOLDER = "_zonemaps_v2"
_MOST_BYTES = (1 << 31) - 1

#: The least number of bytes that one request at the end of a file reads, to save requests.
TAIL_BYTES = 16 << 10

#: The largest number of files that are open at once. A process may have few descriptors left.
MOST_OPEN = 32


class File:
    """A file of known size. Each read is one request for a range.

    Args:
        stream: returns the open stream of the file.
        name: the name in messages.
        size: the size in bytes.
    """

    def __init__(self, stream: Callable[[], Any], name: str, size: int) -> None:
        self._stream = stream
        self.name = name
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        """Reads a range, which must lie within the file."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedError(f"{self.name}: a range outside the file")
        stream = self._stream()
        stream.seek(offset)
        found = bytes(stream.read(length))
        if len(found) != length:
            raise DamagedError(f"{self.name}: the file is cut off")
        return found


class Store:
    """The folder of a table's index. It holds a few of its files open until `close`.

    Args:
        io: opens the files.
        folder: the location of the folder.
    """

    def __init__(self, io: FileIO, folder: str) -> None:
        self._io = io
        self._folder = folder
        self._streams: OrderedDict[str, Any] = OrderedDict()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, name: str) -> File | None:
        """Opens a file; None if it does not exist.

        Args:
            name: the path within the folder, in a form of section 8 of the format. The caller checks that.
        """
        location = f"{self._folder}/{name}"
        try:
            stream = self._opened(location)
        except FileNotFoundError:
            return None
        stream.seek(0, os.SEEK_END)
        size = stream.tell()
        if size > _MOST_BYTES:
            raise DamagedError(f"{name}: a file of {size} bytes")
        return File(lambda: self._opened(location), name, size)

    def _opened(self, location: str) -> Any:
        """Returns the stream of a file, opened again if it was closed for the sake of others."""
        if location not in self._streams:
            self._check_local(location)
            while len(self._streams) >= MOST_OPEN:
                self._streams.popitem(last=False)[1].close()
            self._streams[location] = self._io.new_input(location).open(seekable=True)
        self._streams.move_to_end(location)
        return self._streams[location]

    def close(self) -> None:
        """Closes all files."""
        while self._streams:
            self._streams.popitem()[1].close()

    def _check_local(self, location: str) -> None:
        """Fails for a local file that is no regular file, or is reached through a symbolic link out of the folder.

        This happens before the file is opened: to open a named pipe would wait for its writer.
        """
        for folder, path in set(zip(self._real_folders, _local(self._io, location), strict=True)):
            found = os.path.realpath(path)
            if os.path.commonpath((folder, found)) != folder:
                raise DamagedError(f"'{location}' is reached through a symbolic link that leaves the index")
            if Path(found).exists() and not Path(found).is_file():
                raise DamagedError(f"'{location}' is no regular file")

    @cached_property
    def _real_folders(self) -> list[str]:
        """The folder in each form of `_local`, without symbolic links."""
        return [os.path.realpath(folder) for folder in _local(self._io, self._folder)]


def store_folder(table_location: str, table_uuid: str, store_location: str | None) -> str:
    """Returns the folder of a table's index: beside the table, or under the location that all tables share."""
    parent = f"{table_location.rstrip('/')}/{_FOLDER}" if store_location is None else store_location.rstrip("/")
    return f"{parent}/{table_uuid}"


def _local(io: FileIO, location: str) -> list[str]:
    """Returns the paths on this machine that PyIceberg may open for a location; none for other locations.

    PyArrow reads a location as a URI, and fsspec takes the text behind the scheme.
    """
    scheme, _, path = PyArrowFileIO.parse_location(location, io.properties)
    if scheme != "file" and urlparse(location).scheme:
        return []
    return [path, str(Path(re.sub("^file:(//)?", "", location)).expanduser())]
