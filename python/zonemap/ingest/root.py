# SPDX-License-Identifier: Apache-2.0
"""The ingest root of a table: the folder of its spool, beside the table's folder, in it, or elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest.storage import is_local, local_path

if TYPE_CHECKING:
    from pyiceberg.table import Table

#: The table property that names the root for all writers and committers of the table.
PROPERTY = "zonemap.ingest.root"
#: The name of the root's folder if no other one is named: beside the table's folder, or in it.
FOLDER = "_zonemap_ingest"

# A removal of orphan files passes over folders with such a name.
_HIDDEN = re.compile(r"_[A-Za-z0-9._-]+")


def location(name: str, table: Table, root: str | Path | None) -> str:
    """Returns the location of the table's spool.

    Args:
        name: The table's name, for messages.
        table: The table.
        root: A folder for the spools of all tables, or a name that begins with ``_``: the folder of this name in the
            table's folder. None: that of the table property ``zonemap.ingest.root``, by default ``_zonemap_ingest``
            beside the table's folder.

    Raises:
        InvalidArgumentError: the root cannot be used, or is not that of the property.
    """
    given = None if root is None else _base(table, str(root), f"root='{root}'")
    text = table.properties.get(PROPERTY, "").strip()
    named = _base(table, text, f"the property {PROPERTY} '{text}' of '{name}'") if text else None
    if given is not None and named is not None and given != named:
        raise InvalidArgumentError(
            f"Cannot use root='{root}': the property '{PROPERTY}' of '{name}' is '{text}', which all writers and "
            "committers of the table use. Leave root= out, or change the property."
        )
    return _with_uuid(given or named or _beside(table.location()), table)


def others(table: Table, spool: str) -> list[str]:
    """Returns the locations in which processes with other settings, or before a move of the table, have their spool.

    Args:
        table: The table.
        spool: The location of its spool. None is returned for a spool in a folder that a person has chosen.
    """
    files = [entry.metadata_file for entry in reversed(table.metadata.metadata_log)]
    former = [folder for file in files if (folder := file.rpartition("/metadata/")[0])]
    folders = [table.location(), *former]
    found = [_with_uuid(base, table) for folder in folders for base in (_beside(folder), _below(folder, FOLDER))]
    return [other for other in dict.fromkeys(found) if other != spool] if spool in found[:2] else []


def setting(table: Table, spool: str) -> str:
    """Returns the value of the table property that names the root of a spool."""
    base = spool.rpartition("/")[0]
    return FOLDER if base == _below(table.location(), FOLDER) else base


def _base(table: Table, root: str, what: str) -> str:
    found, folder = root.rstrip("/"), table.location()
    if _HIDDEN.fullmatch(found):
        return _below(folder, found)
    if is_local(found) and not local_path(found).is_absolute():
        raise InvalidArgumentError(
            f"Cannot use {what}: it is not absolute. Give the whole path, or a name that begins with '_', such as "
            f"'{FOLDER}', for a folder in the table's folder."
        )
    folder = folder.rstrip("/")
    inside = is_local(found) and is_local(folder) and local_path(found).is_relative_to(local_path(folder))
    if inside or f"{found}/".startswith(f"{folder}/"):
        raise InvalidArgumentError(
            f"Cannot use {what}: it lies in the table's folder, where a removal of orphan files finds it. Name another "
            f"folder, or give '{FOLDER}': a removal passes over the folder of this name in the table's folder."
        )
    return found


def _below(table_folder: str, name: str) -> str:
    return f"{table_folder.rstrip('/')}/{name}"


def _beside(table_folder: str) -> str:
    return f"{table_folder.rstrip('/').rpartition('/')[0]}/{FOLDER}"


def _with_uuid(base: str, table: Table) -> str:
    return f"{base}/{table.metadata.table_uuid}"


def denied(name: str, error: ZonemapError) -> ZonemapError:
    """Returns the error of a spool beside the table's folder that the keys of the table do not reach."""
    return ZonemapError(
        f"{str(error).rstrip('.')}. The catalog gives keys for the folder of '{name}', and the spool lies beside it. "
        f"Set the property '{PROPERTY}' of the table to '{FOLDER}': then all writers and committers use a spool in the "
        "table's folder."
    )
