# SPDX-License-Identifier: Apache-2.0
"""The mark of an ingest root, which says to which table the spool belongs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zonemap.common.errors import ZonemapError
from zonemap.ingest import state, wire
from zonemap.ingest.errors import RecordError

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

    from zonemap.ingest.spool import Spool

_FORMAT = 1
_NAME = re.compile(r"([0-9]{20})\.json")
_ATTEMPTS = 10


def check(spool: Spool, identifier: Sequence[str], metadata: TableMetadata, load: Callable[[], TableMetadata]) -> None:
    """Raises if the spool belongs to another table; the first writer of a new spool gives it to its own.

    A copy that ``register_table`` has made has the UUID and the location of the original, and therefore its spool: what
    is appended for the copy would be committed to the original.

    This package does not know how other clients write the address of the catalog. It compares the name and the history
    of the table, and the committer compares the catalog too.

    Args:
        spool: The spool.
        identifier: Namespace and name of the table in its catalog.
        metadata: The metadata of the table.
        load: Loads it again: another process may have committed since it was loaded.

    Raises:
        ZonemapError: the spool belongs to another table, or its marks cannot be read.
    """
    name = ".".join(identifier).lower()
    numbers, mark = _newest(spool)
    if mark is not None:
        _compare(spool, name, mark, metadata, load)
    elif numbers:
        raise ZonemapError(
            f"Cannot use the spool '{spool.location}': the files of 'owner', which name its table, cannot be read. "
            "Restore them, or write them anew with ingest_reset."
        )
    elif not state.pointers(metadata) and not spool.states():
        body = {"format": _FORMAT, "entries": [{"name": name, "catalog": None}], "pointers": {}}
        if not spool.create_mark(f"{1:020d}.json", wire.frame(body)):
            check(spool, identifier, metadata, load)


def _compare(
    spool: Spool, name: str, mark: Mapping[str, Any], metadata: TableMetadata, load: Callable[[], TableMetadata]
) -> None:
    known = [str(entry["name"]) for entry in mark["entries"]]
    why = None
    if name not in known:
        why = f"belongs to the table {', '.join(repr(other) for other in known)}"
    elif _missing(spool, mark, metadata) is not None and (text := _missing(spool, mark, load())) is not None:
        why = f"has the commit '{text}', which the table does not have"
    if why is not None:
        raise ZonemapError(
            f"Cannot append to '{name}' through '{spool.location}': the spool {why}. A copy made by register_table has "
            "the UUID of the original. Give the copy another root=, as its committer must use too. If the other table "
            "is gone, or this one was renamed or restored, call ingest_reset, after a change of the name with "
            "take_over => true."
        )


def _missing(spool: Spool, mark: Mapping[str, Any], metadata: TableMetadata) -> str | None:
    """Returns a pointer of the mark that the table never had."""
    named = state.pointers(metadata)
    summaries = state.committed_pointers(metadata)
    for branch, text in mark["pointers"].items():
        if text not in summaries and not state.leads_to(spool, named.get(branch), text):
            return str(text)
    return None


def _newest(spool: Spool) -> tuple[list[str], dict[str, Any] | None]:
    """Returns the names of all marks, and the newest mark that is whole; a mark that is not was never acted on."""
    names: list[str] = []
    for _ in range(_ATTEMPTS):
        names = sorted((name for name in spool.marks() if _NAME.fullmatch(name)), reverse=True)
        for name in names:
            data = spool.mark(name)
            try:
                body = wire.unframe(data) if data is not None else {}
            except RecordError:
                continue
            if body.get("format") == _FORMAT and isinstance(body.get("entries"), list):
                return names, body
        if not names:
            break
    return names, None
