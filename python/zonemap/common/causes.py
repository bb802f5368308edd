# SPDX-License-Identifier: Apache-2.0
"""The reasons that errors of libraries give, as one line for the messages of this package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from zonemap.common import safe_text
from zonemap.common.errors import ZonemapError

_LONGEST = 300
#: PyIceberg repeats all properties of a catalog in this message, and some of them are secrets.
_WITH_SECRETS = "Could not initialize catalog with the following properties"

#: What files, object stores and their libraries raise; a failure of another kind is a defect.
OF_STORAGE = (OSError, ValueError, ImportError, NotImplementedError)


@contextlib.contextmanager
def of_storage(what: str, then: str) -> Iterator[None]:
    """Turns a failure of a storage into an error of this package.

    Args:
        what: What cannot be done, such as "Cannot use the spool '/a'".
        then: The sentences after the reason.

    Raises:
        ZonemapError: the storage failed.
    """
    try:
        yield
    except ZonemapError:
        raise
    except OF_STORAGE as error:
        raise ZonemapError(f"{what}: {sentence(error)}. {then}") from error


def sentence(error: BaseException) -> str:
    """Returns the reason as one line: of a validation the first thing that is wrong, otherwise the message."""
    found: BaseException | None = error
    while found is not None and not callable(getattr(found, "errors", None)):
        found = found.__cause__
    if found is not None and (wrong := found.errors(include_url=False)):  # type: ignore[attr-defined]
        text = str(wrong[0]["msg"]).removeprefix("Value error, ")
    else:
        text = str(error)
    if text.startswith(_WITH_SECRETS):
        text = "neither its type nor its uri is configured"
    return safe_text.line(text, _LONGEST).rstrip(".") or type(error).__name__
