# SPDX-License-Identifier: Apache-2.0
"""Whether data files are in a table already, or in its spool: adding one of them again would double its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zonemap.common.errors import ZonemapError
from zonemap.ingest import state
from zonemap.ingest.storage import is_local, local_path

if TYPE_CHECKING:
    from zonemap.ingest.target import Target


def refuse_known(name: str, locations: Iterable[str], target: Target) -> None:
    """Raises if one of the files is in the spool, or in the current snapshot of the table.

    Reads all records that wait and all manifests of the snapshot. The spool is read before the table: a record that is
    committed meanwhile is found in the table.

    Args:
        name: The table's name, for messages.
        locations: The files.
        target: The table and its spool.

    Raises:
        ZonemapError: a file is known.
    """
    wanted = {_one_form(location): location for location in locations}
    for path in target.spool.data_files():
        if (found := wanted.get(_one_form(path))) is not None:
            raise _refused(name, found, "a record in the spool names it, so that it will be committed")
    snapshot = target.reload().metadata.snapshot_by_name(state.BRANCH)
    for manifest in target.use(snapshot.manifests) if snapshot is not None else []:
        for entry in target.use(manifest.fetch_manifest_entry):
            if (found := wanted.get(_one_form(entry.data_file.file_path))) is not None:
                raise _refused(name, found, "the table has it already")


def _one_form(location: str) -> str:
    """Returns the same text for all ways to write the location of a local file."""
    return str(local_path(location)) if is_local(location) else location


def _refused(name: str, location: str, why: str) -> ZonemapError:
    return ZonemapError(
        f"Cannot add the file '{location}' to '{name}': {why}, and its rows would count twice. Leave it out, or give "
        "check_duplicates=False."
    )
