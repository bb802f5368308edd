# SPDX-License-Identifier: Apache-2.0
"""Appends to an Iceberg table without a JVM and without a commit: data files, then one record in the spool."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from zonemap.common import argument_checks as checked
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import compat, drawn, lanes, state
from zonemap.ingest.content_file import WrittenFile
from zonemap.ingest.conversion import batches_of
from zonemap.ingest.data_files import Bounds, TableFiles, storing
from zonemap.ingest.duplicates import refuse_known
from zonemap.ingest.errors import EnqueueUnknownError
from zonemap.ingest.existing import ExistingFiles
from zonemap.ingest.lease import LaneLock
from zonemap.ingest.pressure import BackPressure, Gate
from zonemap.ingest.receipt import Receipt, Watch
from zonemap.ingest.storage import is_local, storage_for
from zonemap.ingest.tail import LaneTail, Stored
from zonemap.ingest.target import Target
from zonemap.ingest.wire import FileEntry, IngestRecord

_ATTEMPTS = 3
_FIRST_PAUSE = 0.2
# Half of the age from which a removal of orphan files deletes files.
_GREATEST_AGE_HOURS = 36.0
_MIB = 1024 * 1024
# Two processes choose the same count of numbers to leave out once in four billion times.
_MOST_SKIPPED = 2**32


class Writer:
    """Appends to one table through its spool; a committer makes the rows visible.

        with Writer("lake.db.events", catalog="lake", lane="gateway-7") as writer:
            receipt = writer.write(table)
            receipt.wait(30)

    A lane is the identity of one producer. Its records become visible in order of their numbers, each of them once.
    Only one writer may use a lane at a time; a local spool refuses a second one. Methods may be called by several
    threads, and run one after another; a process that is forked opens its own writers.

    Args:
        table: The table's name; the first part names the catalog, as in Spark.
        catalog: A PyIceberg catalog, the properties or the name of one; None: the first part of the name.
        root: The folder of all spools, or a name that begins with ``_``, such as ``_zonemap_ingest``, for a folder in
            the table's folder; None: that of the table property ``zonemap.ingest.root``, by default
            ``_zonemap_ingest`` beside the table's folder. The committer must use the same.
        lane: The lane; None: a new one, which ends with this writer. A producer that starts again with the same lane
            goes on behind its last durable record, and leaves out a number.
        back_pressure: Limits of the spool.
        memory_bytes: Rows that wait in memory to be written; one row group needs about as much again.
        open_files: Data files that are open at a time, one for each partition.
        refresh_seconds: The table is loaded again before a write if it was loaded longer ago.
        application: A text in the record for people.

    Raises:
        InvalidArgumentError: an argument is malformed.
        ZonemapError: PyIceberg is missing, the table does not exist, the spool cannot be used, or the lane is in use.
    """

    def __init__(
        self,
        table: str,
        *,
        catalog: Catalog | Mapping[str, str] | str | None = None,
        root: str | Path | None = None,
        lane: str | None = None,
        back_pressure: BackPressure | None = None,
        memory_bytes: int = 16 * _MIB,
        open_files: int = 32,
        refresh_seconds: float = 5.0,
        application: str = "",
    ) -> None:
        compat.check()
        self._name = table
        bounds = Bounds(
            checked.count("memory_bytes", memory_bytes, "bytes"), checked.count("open_files", open_files, "files")
        )
        if bounds.memory_bytes < _MIB or bounds.open_files < 1:
            raise InvalidArgumentError(
                "Cannot use the bounds: give memory_bytes of 1 MiB or more, and open_files from 1."
            )
        self._bounds = bounds
        refresh_seconds = checked.positive("refresh_seconds", refresh_seconds, "seconds")
        if lane is not None:
            lanes.folder(lane)
            drawn.refuse(lane)
        self._writer = _description(application)
        limits = checked.instance("back_pressure", back_pressure, BackPressure) or BackPressure()
        since = drawn.clocks()
        self._target = Target(table, catalog, root, refresh_seconds)
        self._spool = self._target.spool
        self._pid = os.getpid()
        self._drawn = drawn.DrawnLane(self._target.table.metadata, since) if lane is None else None
        #: The lane of the next record. A writer without a lane draws another one every 20 minutes.
        self.lane = self._drawn.name if self._drawn is not None else str(lane)
        self._gate = Gate(self._spool, limits, lane=self.lane)
        self._lock = LaneLock(self._spool.location, lane) if lane is not None else None
        self._is_open = True
        try:
            #: The number of the newest durable record of the lane; None if it must be read.
            self._last: int | None = state.NO_SEQ
            #: The least number of the next record that is not given one; greater than all that were tried.
            self._next = 0
            if lane is not None:
                self._read_tail()
        except BaseException:
            self.close()
            raise

    def write(self, data: Any, *, seq: int | None = None) -> Receipt:
        """Writes rows to data files and enqueues them as one record; returns when the record is durable.

        Args:
            data: A pyarrow Table, a RecordBatch, a RecordBatchReader, or an iterable of RecordBatches, which is
                streamed. Columns are matched by name; missing columns get their default.
            seq: The number of the record, which must grow within the lane; None: the next one. Repeating a number
                means repeating the same data: the first durable record that can be read wins, and nothing is written.

        Raises:
            InvalidArgumentError: ``seq`` is no number from 0.
            BackPressureError: the spool is full; nothing was written.
            EnqueueUnknownError: the storage failed while it stored the record.
            ZonemapError: the data does not fit into the table, the storage failed while it stored a data file, the lane
                is already past ``seq`` or has no number left, the table has another queue, or another process made this
                writer. Nothing was appended.
        """
        found = batches_of(data)

        def files(table: Table) -> list[WrittenFile]:
            if found is None:
                return []
            schema, batches = found
            return TableFiles(self._name, table.metadata, self._target.use, self._bounds).write(schema, batches)

        return self._enqueue(files, seq)

    def add_files(
        self,
        locations: Sequence[str | Path],
        *,
        seq: int | None = None,
        greatest_age_hours: float = _GREATEST_AGE_HOURS,
        check_duplicates: bool = True,
    ) -> Receipt:
        """Enqueues Parquet files that are already in place, as one record; returns when the record is durable.

        The files must stay where they are from now on; the committer looks at each of them. They need field ids, or the
        table needs a name mapping. Counts and bounds come from the footers; columns of floats have no bounds, because a
        footer does not count NaNs. For a partitioned table, the columns of the partition spec are read, and the rows of
        a file must be of one partition.

        Args:
            locations: Absolute locations of the files.
            seq: As in ``write``.
            greatest_age_hours: Older files are refused, because a removal of orphan files may delete them before they
                are committed.
            check_duplicates: Files that a record in the spool or the current snapshot names are refused; reads all
                records in the spool and all manifests of the snapshot. Two calls at the same moment do not see the
                files of each other.

        Raises:
            InvalidArgumentError: an argument is malformed, or a location occurs twice.
            ZonemapError: as ``write``, or a file is missing, does not fit into the table or is in it already.
        """
        names = checked.texts(
            "locations", [str(item) for item in locations] if _is_list(locations) else locations, "locations"
        )
        age = checked.positive("greatest_age_hours", greatest_age_hours, "hours")

        def files(table: Table) -> list[WrittenFile]:
            if check_duplicates:
                refuse_known(self._name, names, self._target)
            reader = ExistingFiles(self._name, table.metadata, self._target.use, age)
            found = [reader.read(location) for location in names]
            paths = [file.path for file in found]
            twice = next((path for path in paths if paths.count(path) > 1), None)
            if twice is not None:
                raise InvalidArgumentError(f"Cannot add the file '{twice}' twice in one record: name each file once.")
            return found

        return self._enqueue(files, seq, existing=True)

    def close(self) -> None:
        """Gives the lane to others. Records are durable already; closing again does nothing."""
        self._is_open = False
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _enqueue(
        self, make_files: Callable[[Table], list[WrittenFile]], seq: int | None, *, existing: bool = False
    ) -> Receipt:
        if seq is not None:
            seq = lanes.checked_seq(seq)
        if os.getpid() != self._pid:
            raise ZonemapError(
                f"Cannot write to '{self._name}': process {self._pid} made this writer, and this is process "
                f"{os.getpid()}. Open a writer in each process, after the fork, with a lane of its own."
            )
        with self._target.lock:
            if not self._is_open:
                raise ZonemapError(f"Cannot write to '{self._name}': this writer is closed. Open a new one.")
            if self._drawn is not None:
                self._drawn.check(self._name, seq, self._next)
            place = self._place(seq)
            if isinstance(place, Receipt):
                return place
            self._gate.admit()
            self._target.refresh()
            # A receipt may load the table again meanwhile; the files and their record are of one version of it.
            table = self._target.table
            started = time.monotonic()
            files = make_files(table)
            if not sum(file.rows for file in files):
                return Receipt(self.lane, state.NO_SEQ, "", 0, 0, (), "")
            if time.monotonic() - started > _GREATEST_AGE_HOURS * 3600:
                raise ZonemapError(
                    f"Cannot enqueue rows for '{self._name}': their files were begun more than {_GREATEST_AGE_HOURS:g} "
                    "hours ago, and ingest_collect_garbage may delete them. Write fewer rows at a time."
                )
            with storing(self._name):
                storage_for(files[0].path, self._target.use).make_durable([file.path for file in files])
            # The iterable of the rows may have written through this writer.
            if self._drawn is not None:
                self._drawn.check(self._name, seq, self._next)
                self._draw_again(self._drawn, seq)
            place = self._place(seq)
            if isinstance(place, Receipt):
                return place
            last, number, previous = place
            record = replace(self._record(table.metadata, files, number, previous), existing=existing)
            # The record may be durable from here on, even if this call ends with an exception at any place.
            self._last = None
            self._next = max(self._next, number + 1)
            stored, record = self._append(record)
            self._last = max(last, number)
            self._gate.added(stored.size)
            return self._receipt(stored, record)

    def _draw_again(self, before: drawn.DrawnLane, seq: int | None) -> None:
        """Draws another lane if this one is old. Numbers go on."""
        if not before.takes(seq, self._next):
            since = drawn.clocks()
            self._drawn = drawn.DrawnLane(self._target.reload().metadata, since, first=self._next)
            self.lane = self._drawn.name
            self._gate.use(self.lane)
            self._last = state.NO_SEQ

    def _place(self, seq: int | None) -> tuple[int, int, int] | Receipt:
        """Returns the last number of the lane, the number of the next record and the number that it follows.

        Returns the receipt of the record that has the number already, if there is one.

        Raises:
            ZonemapError: the lane is past the number, or has none left.
        """
        last = self._last
        if last is None or (seq is not None and seq <= last):
            tail = self._read_tail()
            last = tail.last
            if seq is not None and seq <= last:
                return (last, seq, tail.open[seq]) if seq in tail.open else self._repeated(seq, tail)
        number = seq if seq is not None else max(last + 1, self._next)
        if number > lanes.GREATEST_SEQ:
            raise ZonemapError(
                f"Cannot write to '{self._name}': the lane '{self.lane}' has the record {last}, and no number up to "
                f"{lanes.GREATEST_SEQ} is left. Use another lane."
            )
        return last, number, last

    def _append(self, record: IngestRecord) -> tuple[Stored, IngestRecord]:
        """Stores the record, again under a new name if the storage fails: a failed attempt may have left a part of it.

        Two records of one number are harmless, because the committer takes the first that it can read.
        """
        pause = _FIRST_PAUSE
        for attempt in range(_ATTEMPTS):
            try:
                return self._spool.append(record), record
            except OSError as error:
                if attempt == _ATTEMPTS - 1:
                    raise EnqueueUnknownError(
                        f"Cannot enqueue the record {record.seq} of lane '{record.lane}': {error}. It may be "
                        f"durable or not. Repeat the write with seq={record.seq}: the first durable record wins.",
                        record.lane,
                        record.seq,
                    ) from error
                time.sleep(pause)
                pause *= 4
                record = replace(record, nonce=lanes.new_nonce())
        raise AssertionError("unreachable")

    def _record(self, metadata: TableMetadata, files: Iterable[WrittenFile], seq: int, prev_seq: int) -> IngestRecord:
        files = list(files)
        snapshot = metadata.current_snapshot()
        return IngestRecord(
            queue_id=self._target.queue_id,
            table_uuid=str(metadata.table_uuid),
            branch=state.BRANCH,
            lane=self.lane,
            seq=seq,
            prev_seq=prev_seq,
            nonce=lanes.new_nonce(),
            writer=self._writer,
            created_ms=time.time_ns() // 1_000_000,
            schema_id=metadata.current_schema_id,
            base_snapshot_id=snapshot.snapshot_id if snapshot is not None else -1,
            format_version=metadata.format_version,
            rows=sum(file.rows for file in files),
            size=sum(file.size for file in files),
            files=tuple(FileEntry(file.spec_id, file.to_json()) for file in files),
        )

    def _repeated(self, seq: int, tail: LaneTail) -> Receipt:
        """Returns the receipt of the record that already has this number.

        Raises:
            ZonemapError: the lane is past the number, but never had a record of it, or may never have had one.
        """
        found = tail.readable.get(seq)
        record = self._spool.read(found) if found is not None else None
        if found is not None and record is not None:
            return self._receipt(found, record, duplicate=True)
        if found is None and not tail.had(seq):
            raise ZonemapError(
                f"Cannot write the record {seq} of lane '{self.lane}': the lane has the record {tail.last}, and none "
                f"of this number. Use a number above {tail.last}."
            )
        if found is None and seq <= tail.forgotten:
            raise ZonemapError(
                f"Cannot write the record {seq} of lane '{self.lane}': the lane has the record {tail.last}, and it no "
                f"longer knows which numbers up to {tail.forgotten} had a record. Look the rows up in the table. If "
                f"they are missing, use a number above {tail.last}."
            )
        return Receipt(self.lane, seq, "", 0, 0, (), "", True, Watch(self._target.reload, self._spool))

    def _receipt(self, stored: Stored, record: IngestRecord, *, duplicate: bool = False) -> Receipt:
        paths = tuple(str(file.content_file["file-path"]) for file in record.files)
        place = (self.lane, record.seq, record.nonce, record.rows, record.size, paths, stored.location)
        return Receipt(*place, duplicate, Watch(self._target.reload, self._spool))

    def _read_tail(self) -> LaneTail:
        """Reads where the lane goes on; the next record that is not given a number leaves some out.

        An append of an earlier process may still land: if its record has a number that is left out, the next one
        lies beside it, and the committer reports that. Records of one number would not be told apart. In an object
        store, which has no lock, the appends of several earlier processes may be under way; the count of the numbers
        that are left out is therefore random.

        The spool is read before the table: a record that is committed meanwhile is found in the table.
        """
        pending = self._spool.pending(self.lane)
        metadata = self._target.reload().metadata
        found = state.load(self._spool, state.pointers(metadata), str(metadata.table_uuid))
        tail = LaneTail.of(
            pending,
            found.watermark(self.lane),
            found.holes_of(self.lane),
            found.gaps.get(self.lane, ()),
            found.forgotten.get(self.lane, state.NO_SEQ),
        )
        self._last = tail.last
        skipped = 1 if is_local(self._spool.location) else 1 + secrets.randbelow(_MOST_SKIPPED)
        self._next = max(self._next, tail.last + 1 + skipped)
        return tail


def _description(application: str) -> str:
    """Returns the text that a record has for people: host, process and application."""
    if not isinstance(application, str):
        raise InvalidArgumentError(f"Cannot use application={checked.shown(application)}: give a text.")
    return "/".join(filter(None, [socket.gethostname(), str(os.getpid()), application or Path(sys.argv[0]).name]))


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes)
