# SPDX-License-Identifier: Apache-2.0
"""Keys of a store that a catalog gives with a table: whether they are temporary, and when to ask for others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

T = TypeVar("T")

#: Parts of the names of properties that hold temporary keys of S3, Azure and Google.
_TEMPORARY = ("session-token", "sas-token", "oauth2.token")
#: The part of the names of properties that say when they expire, in milliseconds since 1970.
_EXPIRES_AT = "token-expires-at"
#: Keys are used until this long before they expire, but for half of a shorter life. Keys that do not say when they
#: expire are used for this long. In seconds.
_MARGIN_SECONDS = 300.0


class Use(Protocol):
    """Runs work with the FileIO of the newest table that was loaded, and so with keys that have not expired."""

    def __call__(self, work: Callable[[FileIO], T]) -> T:
        """Returns the result of the work, which may be run twice."""


def are_temporary(io: FileIO) -> bool:
    """Returns True if the keys of a FileIO expire; the catalog may give others when it loads the table again."""
    return any(part in name for name in io.properties for part in _TEMPORARY)


def seconds_of_use(io: FileIO) -> float | None:
    """Returns how long the keys of a FileIO may be used from now on; None if they do not expire.

    A time that lies behind shows that the clocks differ, and is not used.
    """
    times = [str(value) for name, value in io.properties.items() if _EXPIRES_AT in name]
    left = [int(text) / 1000 - time.time() for text in times if text.isdecimal()]
    life = min(left, default=0.0)
    if life > 0:
        return max(life / 2, life - _MARGIN_SECONDS)
    return _MARGIN_SECONDS if are_temporary(io) else None
