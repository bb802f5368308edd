# SPDX-License-Identifier: Apache-2.0
"""The few operations on files that the spool needs: local folders, and object stores through PyIceberg's FileIO."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlparse

from zonemap.common import causes
from zonemap.common.errors import ZonemapError
from zonemap.ingest import listing
from zonemap.ingest.listing import Entry

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

    from zonemap.ingest.keys import Use

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})

# Folders of partitions lie at most this deep in a table, and this many are remembered.
_GREATEST_DEPTH = 8
_MOST_FOLDERS = 10_000

_ATTEMPTS = 3


class Storage(Protocol):
    """Files by location. A created file is durable, complete, and never replaced."""

    @property
    def creates_atomically(self) -> bool:
        """Whether ``create`` decides between two processes that create one location."""

    def create(self, location: str, data: bytes) -> bool:
        """Stores a file; returns False if the location already has one, which then stays as it is."""

    def read(self, location: str) -> bytes | None:
        """Returns the bytes of a file; None if there is none."""

    def files(self, folder: str) -> Iterator[Entry]:
        """Yields the files of a folder without temporary files; none if the folder is missing."""

    def folders(self, folder: str) -> list[str]:
        """Returns the names of the folders in a folder; none if the folder is missing."""

    def make_durable(self, locations: Sequence[str]) -> None:
        """Returns once these files, which were written and closed, survive a loss of power."""


def storage_for(location: str, use: Use) -> Storage:
    """Returns the storage of a location: the local one for paths and ``file:``, otherwise one through a FileIO."""
    return LocalStorage() if is_local(location) else FileIoStorage(use)


def is_local(location: str) -> bool:
    """Returns True for a path and for a URI with the scheme ``file``."""
    return urlparse(location).scheme in {"", "file"}


def local_path(location: str) -> Path:
    """Returns the path of a local location; Iceberg's file locations are not percent-encoded."""
    path = location[len("file:") :] if location.startswith("file:") else location
    return Path("/" + path.lstrip("/") if path.startswith("//") else path)


class LocalStorage:
    """Files of the local file system, which must support hard links and fsync."""

    creates_atomically = True

    def __init__(self) -> None:
        self._durable_folders: set[Path] = set()

    def create(self, location: str, data: bytes) -> bool:
        """Writes a temporary file, syncs it, and links it to its name, so that no reader sees a part of it."""
        path = local_path(location)
        for attempt in range(_ATTEMPTS):
            try:
                return _create(path, data)
            except FileNotFoundError:
                # A committer removes the folder of a lane when it is empty.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def read(self, location: str) -> bytes | None:
        """Returns the bytes of a file; None if there is none."""
        try:
            return local_path(location).read_bytes()
        except FileNotFoundError:
            return None

    def files(self, folder: str) -> Iterator[Entry]:
        """Yields the files of a folder; files that disappear meanwhile are left out."""
        return listing.files(local_path(folder))

    def folders(self, folder: str) -> list[str]:
        """Returns the names of the folders in a folder."""
        return listing.folders(local_path(folder))

    def make_durable(self, locations: Sequence[str]) -> None:
        """Syncs the files and their folders, and once for each folder also the folders above, which may be new."""
        paths = [local_path(location) for location in locations]
        for path in paths:
            _sync(path)
        for folder in {path.parent for path in paths}:
            _sync(folder)
            if folder not in self._durable_folders:
                for above in list(folder.parents)[:_GREATEST_DEPTH]:
                    _sync(above)
                if len(self._durable_folders) >= _MOST_FOLDERS:
                    self._durable_folders.clear()
                self._durable_folders.add(folder)


class FileIoStorage:
    """Files of an object store or of HDFS through the newest FileIO of the table; one PUT stores a whole file.

    A PUT of an object store is atomic and durable when it returns. Names of records are unique, so that no PUT
    replaces the record of another writer.
    """

    creates_atomically = False

    def __init__(self, use: Use) -> None:
        self._use = use

    def create(self, location: str, data: bytes) -> bool:
        """Stores the file with one PUT if the location has none."""

        def put(io: FileIO) -> bool:
            try:
                with io.new_output(location).create(overwrite=False) as stream:
                    stream.write(data)
            except FileExistsError:
                return False
            return True

        return self._use(put)

    def read(self, location: str) -> bytes | None:
        """Returns the bytes of a file; None if there is none."""

        def get(io: FileIO) -> bytes | None:
            try:
                with io.new_input(location).open() as stream:
                    return stream.read()
            except FileNotFoundError:
                return None

        return self._use(get)

    def files(self, folder: str) -> Iterator[Entry]:
        """Yields the files of a folder with one LIST."""
        for name, is_folder, size in self._listing(folder):
            if not is_folder and name and not name.startswith("."):
                yield Entry(name, size)

    def folders(self, folder: str) -> list[str]:
        """Returns the names of the folders in a folder with one LIST."""
        return sorted(name for name, is_folder, _ in self._listing(folder) if is_folder and name)

    def make_durable(self, locations: Sequence[str]) -> None:
        """Does nothing: a closed file of an object store is durable."""

    def _listing(self, folder: str) -> list[tuple[str, bool, int]]:
        return self._use(lambda io: list(_listing(io, folder)))


def _listing(io: Any, folder: str) -> Iterator[tuple[str, bool, int]]:
    scheme, netloc, path = _parts(folder)
    if hasattr(io, "fs_by_scheme"):
        from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415 - an extra of this package

        root = f"{netloc}{path}" if scheme not in {"hdfs", "viewfs", "file", ""} else path
        for info in io.fs_by_scheme(scheme, netloc).get_file_info(FileSelector(root, allow_not_found=True)):
            yield info.base_name, info.type == FileType.Directory, info.size or 0
    elif hasattr(io, "get_fs"):
        system = io.get_fs(scheme)
        try:
            found = system.ls(folder, detail=True, refresh=True)
        except FileNotFoundError:
            return
        for item in found:
            name = str(item["name"]).rstrip("/").rpartition("/")[2]
            yield name, item["type"] == "directory", int(item.get("size") or 0)
    else:
        raise ZonemapError(
            f"Cannot list '{folder}': {type(io).__name__} cannot list files. Set the catalog's property "
            "py-io-impl to pyiceberg.io.pyarrow.PyArrowFileIO."
        )


def using(location: str) -> contextlib.AbstractContextManager[None]:
    """Turns a failure of the storage of a spool into an error of this package.

    Args:
        location: The location of the spool, for the message.

    Raises:
        ZonemapError: the storage failed.
    """
    return causes.of_storage(f"Cannot use the spool '{location}'", "Check the location and the permissions.")


class CheckedStorage:
    """A storage whose failures are errors of this package.

    Args:
        storage: The storage.
        spool: The location of the spool, for messages.
    """

    def __init__(self, storage: Storage, spool: str) -> None:
        self._storage = storage
        self._spool = spool

    @property
    def creates_atomically(self) -> bool:
        """As the storage."""
        return self._storage.creates_atomically

    def create(self, location: str, data: bytes) -> bool:
        """Stores a file if the location has none."""
        with using(self._spool):
            return self._storage.create(location, data)

    def read(self, location: str) -> bytes | None:
        """Returns the bytes of a file; None if there is none."""
        with using(self._spool):
            return self._storage.read(location)

    def files(self, folder: str) -> list[Entry]:
        """Returns the files of a folder."""
        with using(self._spool):
            return list(self._storage.files(folder))

    def folders(self, folder: str) -> list[str]:
        """Returns the names of the folders in a folder."""
        with using(self._spool):
            return self._storage.folders(folder)


def _parts(location: str) -> tuple[str, str, str]:
    parsed = urlparse(location)
    return parsed.scheme or "file", parsed.netloc, parsed.path.rstrip("/")


def _create(path: Path, data: bytes) -> bool:
    _make_folders(path.parent)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.tmp"
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        created = _link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    # A file that another process has linked may not be synced yet, so the folder is synced in both cases.
    _sync(path.parent)
    return created


def _link(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise ZonemapError(
                f"Cannot store '{path}': the file system has no hard links ({error.strerror}). "
                "Name a folder on a local file system or an object store with root=."
            ) from error
        raise
    return True


def _make_folders(folder: Path) -> None:
    """Creates missing folders and syncs the folder above each new one."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _sync(new.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
