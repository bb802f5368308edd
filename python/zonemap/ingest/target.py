"""The table that a writer appends to, with the spool that its committer reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pydantic
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.table import Table

from zonemap import causes, identifiers
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import owner, state
from zonemap.ingest.spool import Spool
from zonemap.ingest.storage import is_local, local_path


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
        self.table = self._load()
        self._loaded_at = time.monotonic()
        self._uuid = self.table.metadata.table_uuid
        _check_kind(name, self.table)
        self.spool = Spool.of(self.table, _root(self.table, root))
        # A spool below a wrong root is not created.
        known = self.spool.known_queue_id()
        if known is None and root is None:
            _check_moved(name, self.table, self.spool)
        state.check_queue(state.pointers(self.table.metadata), known, self.spool.location)
        self.queue_id = self.spool.queue_id()
        owner.check(self.spool, self._identifier, self.table.metadata, lambda: self.reload().metadata)

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
            ZonemapError: the table is gone, is another one of the same name, or has another queue now.
        """
        with self._loading:
            table = self._load()
            if table.metadata.table_uuid != self._uuid:
                raise ZonemapError(
                    f"Cannot write to '{self._name}': the table was dropped and created again. Open a new writer."
                )
            state.check_queue(state.pointers(table.metadata), self.queue_id, self.spool.location)
            self.table = table
            self._loaded_at = time.monotonic()
            return table

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


def _check_moved(name: str, table: Table, spool: Spool) -> None:
    """Raises if the table was moved after its queue was begun: a new queue would hide the records of that one."""
    for former in Spool.former(table):
        if former.known_queue_id() is not None:
            raise ZonemapError(
                f"Cannot write to '{name}': the table was moved, and its spool is in '{former.location}', not in "
                f"'{spool.location}'. Give root='{former.location.rpartition('/')[0]}', as the committer must use too, "
                "or move the folder while no writer and no committer runs."
            )


def _root(table: Table, root: str | Path | None) -> str | None:
    if root is None:
        return None
    found, location = str(root).rstrip("/"), table.location().rstrip("/")
    if is_local(found) and not local_path(found).is_absolute():
        raise InvalidArgumentError(f"Cannot use root='{root}': it is not absolute. Give the whole path.")
    inside = is_local(found) and is_local(location) and local_path(found).is_relative_to(local_path(location))
    if inside or f"{found}/".startswith(f"{location}/"):
        raise InvalidArgumentError(
            f"Cannot use root='{root}': it lies in the table's folder, where a removal of orphan files finds it. Name "
            "another folder."
        )
    return found
