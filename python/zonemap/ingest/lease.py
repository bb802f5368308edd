# SPDX-License-Identifier: Apache-2.0
"""One process at a time writes to a lane of a local spool; the lock ends with the process."""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path
from typing import IO

from zonemap.common.errors import ZonemapError
from zonemap.ingest import lanes
from zonemap.ingest.storage import is_local, local_path, using

_ATTEMPTS = 10


class LaneLock:
    """Holds the lock of a lane, if the spool is local. Object stores have no such lock.

    Args:
        spool: The location of the spool.
        lane: The lane. One whose name its writer has drawn needs no lock.
    """

    def __init__(self, spool: str, lane: str) -> None:
        self._file: IO[str] | None = None
        if not is_local(spool):
            return
        path = local_path(spool) / "locks" / f"{lanes.folder(lane)}.lock"
        with using(spool):
            file = _opened(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            file.close()
            raise ZonemapError(
                f"Cannot open the lane '{lane}': process {holder} writes to it. Close that writer, or give each writer "
                "a lane of its own with lane=."
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        _held.add(self)

    def close(self) -> None:
        """Gives the lane to others: the lock is free when the last process that has it open has closed it."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _opened(path: Path) -> IO[str]:
    """Opens the file of a lock; gc removes the folder when it is empty."""
    for attempt in range(_ATTEMPTS):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("a+")
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


_held: weakref.WeakSet[LaneLock] = weakref.WeakSet()


def _close_inherited() -> None:
    """Lets go of the locks of the parent in a forked process, which would hold them after the parent has ended."""
    for lock in list(_held):
        lock.close()


os.register_at_fork(after_in_child=_close_inherited)
