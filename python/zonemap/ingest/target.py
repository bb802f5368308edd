# SPDX-License-Identifier: Apache-2.0
"""The table that a writer appends to, with the spool that its committer reads."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pydantic
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.table import Table

from zonemap.common import causes, identifiers
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import keys, owner, state
from zonemap.ingest import root as places
from zonemap.ingest.spool import Spool
from zonemap.ingest.storage import storage_for

if TYPE_CHECKING:
    from pyiceberg.io import FileIO

    from zonemap.ingest.keys import T

# The pause after the table could not be loaded for new keys.
_PAUSE_SECONDS = 10.0


class Target:
    """A table, as it was loaded last, and its spool.

    Args:
        name: The table's name, as the user writes it.
        catalog: As in ``Writer``.
        root: As in ``Writer``.
        refresh_seconds: The age from which ``refresh`` loads the table again.

    Raises:
        InvalidArgumentError: the name, the catalog or the root cannot be used.
        ZonemapError: the table does not exist, has another queue, was moved away from its spool, or is a copy of the
            table that the spool belongs to.
    """

    def __init__(
        self,
        name: str,
        catalog: Catalog | Mapping[str, str] | str | None,
        root: str | Path | None,
        refresh_seconds: float,
    ) -> None:
        #: Held by whoever writes. A receipt loads the table without it, so that it does not wait for a long write.
        self.lock = threading.RLock()
        self._loading = threading.Lock()
        self._name = name
        self._refresh_seconds = refresh_seconds
        self._catalog, self._identifier = _catalog_of(name, catalog)
        self._queue_id: str | None = None
        self._renew_at: float | None = None
        self._take(self._load())
        self._uuid = self.table.metadata.table_uuid
        _check_kind(name, self.table)
        self._root = root
        location = places.location(name, self.table, root)
        self.spool = Spool(location, storage_for(location, self.use))
        # A spool below a wrong root is not created.
        known = self._known_queue_id()
        if known is None:
            self._refuse_others()
        state.check_queue(state.pointers(self.table.metadata), known, location)
        self._queue_id = self.queue_id = self.spool.queue_id()
        owner.check(self.spool, self._identifier, self.table.metadata, lambda: self.reload().metadata)

    def use(self, work: Callable[[FileIO], T]) -> T:
        """Runs work with the FileIO of the newest table.

        The table is loaded again before its keys expire, and, if they are temporary, after work that failed, which is
        then run once more with the new keys. Work that creates a file therefore must not replace one.

        Raises:
            OSError: the work failed with these keys, and failed again or the table could not be loaded.
        """
        if self._renew_at is not None and time.monotonic() >= self._renew_at:
            # The present keys may do for some minutes; if they do not, the work fails.
            self._renew_at = time.monotonic() + _PAUSE_SECONDS
            with contextlib.suppress(ZonemapError):
                self.reload()
        io = self.table.io
        try:
            return work(io)
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError:
            if not keys.are_temporary(io):
                raise
            with contextlib.suppress(ZonemapError):
                self.reload()
            if self.table.io is io:
                raise
        return work(self.table.io)

    def refresh(self) -> None:
        """Loads the table again if it was loaded too long ago.

        Raises:
            ZonemapError: as ``reload``.
        """
        if time.monotonic() - self._loaded_at >= self._refresh_seconds:
            self.reload()

    def reload(self) -> Table:
        """Loads the table again.

        Raises:
            ZonemapError: the table is gone, is another one of the same name, or has another queue or root now.
        """
        with self._loading:
            table = self._load()
            if table.metadata.table_uuid != self._uuid:
                raise ZonemapError(
                    f"Cannot write to '{self._name}': the table was dropped and created again. Open a new writer."
                )
            if self._queue_id is not None:
                state.check_queue(state.pointers(table.metadata), self._queue_id, self.spool.location)
                self._check_root(table)
            self._take(table)
            return table

    def _take(self, table: Table) -> None:
        self.table = table
        self._loaded_at = time.monotonic()
        seconds = keys.seconds_of_use(table.io)
        self._renew_at = None if seconds is None else self._loaded_at + seconds

    def _check_root(self, table: Table) -> None:
        """Raises if the table has got a property that names another root: the committer takes nothing from this one."""
        if places.PROPERTY not in table.properties:
            return
        location = places.location(self._name, table, self._root)
        if location != self.spool.location:
            raise ZonemapError(
                f"Cannot write to '{self._name}': its property '{places.PROPERTY}' names the spool '{location}' now, "
                f"and this writer has '{self.spool.location}'. Open a new writer."
            )

    def _known_queue_id(self) -> str | None:
        try:
            return self.spool.known_queue_id()
        except ZonemapError as error:
            is_default = self._root is None and places.PROPERTY not in self.table.properties
            if is_default and keys.are_temporary(self.table.io) and isinstance(error.__cause__, OSError):
                raise places.denied(self._name, error) from error
            raise

    def _refuse_others(self) -> None:
        """Raises if the table has a spool in another place: a new one would hide the records of that one."""
        for location in places.others(self.table, self.spool.location):
            try:
                known = Spool(location, storage_for(location, self.use)).known_queue_id()
            except ZonemapError as error:
                # Keys for the table's folder reach no spool beside it, so no writer with such keys has begun one.
                if keys.are_temporary(self.table.io) and isinstance(error.__cause__, OSError):
                    continue
                raise
            if known is not None:
                raise ZonemapError(
                    f"Cannot write to '{self._name}': its spool is in '{location}', not in '{self.spool.location}', "
                    "because the table was moved or another process uses another root. Set the property "
                    f"'{places.PROPERTY}' of the table to '{places.setting(self.table, location)}', or move the folder "
                    "while no writer and no committer runs."
                )

    def _load(self) -> Table:
        try:
            return self._catalog.load_table(self._identifier)
        except NoSuchTableError as error:
            raise ZonemapError(
                f"Cannot write to '{self._name}': the catalog '{self._catalog.name}' has no table "
                f"{'.'.join(self._identifier)}. Create the table, or check the name."
            ) from error
        except (ValidationError, pydantic.ValidationError) as error:
            raise ZonemapError(
                f"Cannot write to '{self._name}': PyIceberg cannot read its metadata ({causes.sentence(error)}). Write "
                "with Spark."
            ) from error
        except ZonemapError:
            raise
        except Exception as error:
            raise ZonemapError(
                f"Cannot load the table '{self._name}' from the catalog '{self._catalog.name}': "
                f"{causes.sentence(error)}. Check the properties of the catalog, and that it can be reached."
            ) from error


def _catalog_of(table: str, catalog: Catalog | Mapping[str, str] | str | None) -> tuple[Catalog, tuple[str, ...]]:
    """Returns the catalog and the identifier in it; the first part of the name is the catalog's if it is its name."""
    parts = identifiers.split(table)
    if isinstance(catalog, Catalog):
        found = catalog
    elif isinstance(catalog, Mapping):
        found = _opened(parts[0], catalog)
    elif catalog is None or isinstance(catalog, str):
        found = _opened(catalog or parts[0], {})
    else:
        raise InvalidArgumentError(
            f"Cannot use catalog={catalog!r}: give a PyIceberg catalog, its properties or its name."
        )
    rest = parts[1:] if parts[0] == found.name else parts
    if len(rest) < 2:
        raise InvalidArgumentError(f"Cannot read table name {table!r}: write catalog.namespace.table.")
    return found, rest


def _opened(name: str, properties: Mapping[str, str]) -> Catalog:
    try:
        return load_catalog(name, **dict(properties))
    except Exception as error:
        raise ZonemapError(
            f"Cannot open the catalog '{name}': {causes.sentence(error)}. Give its properties with catalog=, or "
            "configure it in .pyiceberg.yaml."
        ) from error


def _check_kind(name: str, table: Table) -> None:
    kind = table.properties.get("zonemap.ingest.queue", "spool")
    if kind != "spool":
        raise ZonemapError(
            f"Cannot append to '{name}': its property 'zonemap.ingest.queue' is '{kind}', and the Python writer "
            "appends to spools only. Write with Spark."
        )
