# SPDX-License-Identifier: Apache-2.0
"""The oracle: reads every snapshot with PyIceberg and pyarrow, and finds whatever the promise forbids."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

import pyarrow.parquet as pq
from ingest.soak import rows
from ingest.soak.journal import Journal
from ingest.soak.storage import Files, LocalFiles
from pyiceberg.catalog import Catalog
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from sqlalchemy.exc import OperationalError

Append = tuple[str, int]


@dataclass(frozen=True)
class Seen:
    """One snapshot: the appends that it has, and what is wrong with it."""

    snapshot_id: int
    appends: frozenset[Append]
    wrong: tuple[str, ...]


class Oracle:
    """Reads each snapshot of a table while its files exist: expiry must wait for it, see `caught_up`. Thread-safe."""

    def __init__(self, catalog: Catalog, name: str, files: Files | None = None) -> None:
        self._catalog = catalog
        self._name = name
        self._storage = files or LocalFiles()
        self._lock = threading.RLock()
        self._seen: dict[int, Seen] = {}
        self._files: dict[str, Counter[tuple[str, int, int]]] = {}
        self._manifests: dict[str, list[tuple[str, int]]] = {}

    def catch_up(self) -> int:
        """Reads the snapshots that are new; returns the time of the newest one, in milliseconds since 1970."""
        with self._lock:
            table = self._load()
            snapshots = sorted(table.metadata.snapshots, key=lambda snapshot: snapshot.sequence_number or 0)
            for snapshot in snapshots:
                if snapshot.snapshot_id not in self._seen:
                    self._seen[snapshot.snapshot_id] = self._look(table, snapshot)
            return snapshots[-1].timestamp_ms if snapshots else 0

    @property
    def seen(self) -> list[Seen]:
        """All snapshots that were read, in their order."""
        with self._lock:
            return list(self._seen.values())

    def violations(self, journals: dict[str, Journal]) -> list[str]:
        """Returns what is wrong, over all snapshots; call it when nothing is pending any more."""
        self.catch_up()
        with self._lock:
            found = [f"snapshot {seen.snapshot_id}: {wrong}" for seen in self.seen for wrong in seen.wrong]
            table = self._load()
            current = table.current_snapshot()
            last = self._look(table, current) if current is not None else Seen(-1, frozenset(), ())
            found += [f"at the end: {wrong}" for wrong in last.wrong]
            for lane, journal in journals.items():
                found += self._lane(lane, journal, last)
            strange = {lane for lane, _ in last.appends} - journals.keys()
            return found + [f"lane {lane} has no writer" for lane in strange]

    def _lane(self, lane: str, journal: Journal, last: Seen) -> list[str]:
        order = sorted(k for of, k in last.appends if of == lane)
        lost = sorted(set(journal.accepted) - set(order))
        unknown = sorted(set(order) - journal.intended)
        found = [f"{lane}: accepted and lost: {lost}"] if lost else []
        found += [f"{lane}: never begun: {unknown}"] if unknown else []
        for seen in self.seen:
            here = sorted(k for of, k in seen.appends if of == lane)
            if here != order[: len(here)]:
                found.append(f"snapshot {seen.snapshot_id}: {lane} has no prefix of its appends: {here} of {order}")
        return found

    def _look(self, table: Table, snapshot: Snapshot) -> Seen:
        """Reads the files of one snapshot: paths, lengths, and the rows of each append."""
        wrong: list[str] = []
        files = [file for manifest in snapshot.manifests(table.io) for file in self._live(table, manifest)]
        twice = [path for path, count in Counter(path for path, _ in files).items() if count > 1]
        wrong += [f"the path {path} is there twice" for path in twice]
        found: Counter[tuple[str, int, int]] = Counter()
        lengths = self._storage.lengths(f"{self._storage.name(table.location())}/data")
        for path, length in files:
            if path not in lengths:
                wrong.append(f"the file {path} is missing")
            elif lengths[path] != length:
                wrong.append(f"the file {path} has not {length} bytes")
            else:
                found.update(self._rows(path))
        appends: dict[Append, list[int]] = {}
        for (lane, k, i), count in found.items():
            appends.setdefault((lane, k), []).extend([i] * count)
        for (lane, k), numbers in appends.items():
            if sorted(numbers) != list(range(rows.count(lane, k))):
                wrong.append(f"append {k} of {lane} has the rows {sorted(numbers)} of {rows.count(lane, k)}")
        return Seen(snapshot.snapshot_id, frozenset(appends), tuple(wrong))

    def _live(self, table: Table, manifest: ManifestFile) -> list[tuple[str, int]]:
        """The paths and lengths of the live files of a manifest, which is never changed."""
        path = manifest.manifest_path
        if path not in self._manifests:
            self._manifests[path] = [
                (self._storage.name(entry.data_file.file_path), entry.data_file.file_size_in_bytes)
                for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
            ]
        return self._manifests[path]

    def _rows(self, path: str) -> Counter[tuple[str, int, int]]:
        if path not in self._files:
            read = pq.ParquetFile(self._storage.open(path)).read()
            lanes, ks, numbers = (read[name].to_pylist() for name in ("lane", "k", "i"))
            self._files[path] = Counter(zip(lanes, ks, numbers, strict=True))
        return self._files[path]

    def _load(self) -> Table:
        """Loads the table; a committer that was stopped in a transaction locks the database for a while."""
        for _ in range(20):
            try:
                return self._catalog.load_table(self._name.removeprefix("lake."))
            except OperationalError as error:
                locked = error
        raise locked
