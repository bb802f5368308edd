# SPDX-License-Identifier: Apache-2.0
"""The spool of one table: where its records, its queue id and its state files are."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from zonemap.common.errors import ZonemapError
from zonemap.ingest import lanes, wire
from zonemap.ingest.errors import RecordError
from zonemap.ingest.storage import CheckedStorage, Storage
from zonemap.ingest.tail import Pending, Stored

_FORMAT = 1

# Longer than a writer needs to store the queue id after it has found none.
_SETTLE_SECONDS = 1.5


#: Codes of refused records beside which another record of the same number may be committed.
_BESIDE = frozenset({"damaged", "fork", "invalid", "later-format", "lost", "too-long"})


@dataclass(frozen=True)
class Backlog:
    """The records of all lanes that wait for the committer: their number and the bytes of the records.

    Attributes:
        records: The number of records.
        bytes: Their bytes.
        lanes: Both for each lane, by the name of its folder; empty if they are not known.
    """

    records: int
    bytes: int
    lanes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class QuarantineReason:
    """Why a record was refused.

    Attributes:
        code: The code of the refusal.
        message: Why it was refused, for people.
        requeued: The lane and the nonce of its copy, if a person has appended it again; the number of a copy is 0.
    """

    code: str
    message: str
    requeued: tuple[str, str] | None = None


class Spool:
    """Reads and extends the spool of one table; holds no state but locations."""

    def __init__(self, location: str, storage: Storage) -> None:
        self.location = location
        self._storage = storage

    @property
    def _checked(self) -> CheckedStorage:
        return CheckedStorage(self._storage, self.location)

    def queue_id(self) -> str:
        """Returns the id of this incarnation of the spool; the first caller creates it.

        Raises:
            ZonemapError: the file of the id cannot be read.
        """
        found = self.known_queue_id()
        if found is None:
            body = {"format": _FORMAT, "queue-id": str(uuid.uuid4()), "created-ms": time.time_ns() // 1_000_000}
            self._checked.create(f"{self.location}/queue-id.json", json.dumps(body).encode())
            # Another writer may have created the file first; the stored id counts. In an object store, which does not
            # decide between two writers, the last one counts.
            if not self._checked.creates_atomically:
                time.sleep(_SETTLE_SECONDS)
            found = self.known_queue_id()
        if found is None:
            raise ZonemapError(f"Cannot read the queue id '{self.location}/queue-id.json': it vanished. Try again.")
        return found

    def known_queue_id(self) -> str | None:
        """Returns the id of this incarnation of the spool; None if nobody has created it.

        Raises:
            ZonemapError: the file of the id cannot be read.
        """
        location = f"{self.location}/queue-id.json"
        data = self._checked.read(location)
        if data is None:
            return None
        try:
            body = json.loads(data)
            if body["format"] == _FORMAT:
                return str(body["queue-id"])
            if "kafka-topic" in body:
                raise ZonemapError(
                    f"Cannot append to the queue '{self.location}': it is the Kafka topic '{body['kafka-topic']}', and "
                    "the Python writer appends to spools only. Write with Spark."
                )
            raise ValueError(f"its format {body['format']} is unknown")
        except (ValueError, KeyError, TypeError) as error:
            raise ZonemapError(
                f"Cannot read the queue id '{location}': {error}. Use a zonemap of the version that wrote it, or "
                "restore the file."
            ) from error

    def append(self, record: wire.IngestRecord) -> Stored:
        """Stores a record; it is durable when this call returns.

        Raises:
            OSError: the storage failed, or it has a file of this name; the record may be durable or not.
        """
        data = record.to_bytes()
        location = self.record(record.lane, record.seq, record.nonce)
        if not self._storage.create(location, data):
            raise FileExistsError(f"the file '{location}' exists")
        return Stored(record.seq, record.nonce, location, len(data))

    def read(self, stored: Stored) -> wire.IngestRecord | None:
        """Returns a record; None if it has left the spool.

        Raises:
            RecordError: the record is damaged, or longer than a record may be; such a file is not read.
        """
        if stored.size > wire.GREATEST_BYTES:
            raise RecordError(f"Cannot read a record: it has {stored.size:,} bytes, more than {wire.GREATEST_BYTES:,}.")
        data = self._checked.read(stored.location)
        return None if data is None else wire.IngestRecord.from_bytes(data)

    def lane(self, lane: str) -> list[Stored]:
        """Returns the records of a lane that wait, by sequence number."""
        return self._records(f"{self.location}/pending/{lanes.folder(lane)}")

    def _records(self, folder: str) -> list[Stored]:
        named = [(lanes.parse_record_name(entry.name), entry) for entry in self._checked.files(folder)]
        found = [Stored(*parsed, f"{folder}/{entry.name}", entry.size) for parsed, entry in named if parsed is not None]
        return sorted(found, key=lambda record: record.seq)

    def pending(self, lane: str) -> list[Pending]:
        """Returns the records of a lane that wait, with the number that each one follows, by sequence number.

        A record whose body is not that of its name cannot be read. One that leaves the spool meanwhile is left out.
        """
        found = []
        for stored in self.lane(lane):
            try:
                body = self.read(stored)
            except RecordError:
                found.append(Pending(stored, None))
                continue
            if body is not None:
                is_own = (body.lane, body.seq, body.nonce) == (lane, stored.seq, stored.nonce)
                is_whole = is_own and isinstance(body.prev_seq, int) and -1 <= body.prev_seq < body.seq
                found.append(Pending(stored, body.prev_seq if is_whole else None))
        return found

    def data_files(self) -> Iterator[str]:
        """Yields the locations of the data files of the records that wait in all lanes, if they can be read."""
        for lane in self._checked.folders(f"{self.location}/pending"):
            for stored in self._records(f"{self.location}/pending/{lane}"):
                try:
                    body = self.read(stored)
                except RecordError:
                    continue
                yield from (str(file.content_file.get("file-path")) for file in (body.files if body else ()))

    def backlog(self) -> Backlog:
        """Returns the number and bytes of the records of all lanes that wait; lists every lane's folder."""
        found = {}
        for lane in self._checked.folders(f"{self.location}/pending"):
            entries = self._checked.files(f"{self.location}/pending/{lane}")
            sizes = [entry.size for entry in entries if lanes.parse_record_name(entry.name)]
            found[lane] = (len(sizes), sum(sizes))
        return Backlog(sum(count for count, _ in found.values()), sum(size for _, size in found.values()), found)

    def quarantine_reason(self, lane: str, seq: int, nonce: str) -> QuarantineReason | None:
        """Returns why a record is, or was, in quarantine; None if it never was.

        An empty nonce stands for the record that has settled the number. The reasons of records beside which another
        one may be committed then do not count.
        """
        folder = f"{self.location}/quarantine/{lanes.folder(lane)}"
        if nonce:
            return self._reason(f"{folder}/{lanes.record_name(seq, nonce).removesuffix('.rec')}.why")
        names = [entry.name for entry in self._checked.files(folder) if entry.name.endswith(".why")]
        parsed = [(lanes.parse_record_name(f"{name.removesuffix('.why')}.rec"), name) for name in names]
        found = [self._reason(f"{folder}/{name}") for of, name in parsed if of is not None and of[0] == seq]
        return next((reason for reason in found if reason is not None and reason.code not in _BESIDE), None)

    def _reason(self, location: str) -> QuarantineReason | None:
        data = self._checked.read(location)
        if data is None:
            return None
        try:
            why = json.loads(data)
            copy = (why["requeued-lane"], why["requeued-nonce"]) if "requeued-lane" in why else None
            return QuarantineReason(str(why["code"]), str(why["message"]), copy)
        except (ValueError, KeyError, TypeError):
            return QuarantineReason("unknown", "the reason cannot be read")

    def state(self, name: str) -> bytes | None:
        """Returns the bytes of a state file; None if there is none."""
        return self._checked.read(f"{self.location}/state/{name}")

    def states(self) -> list[str]:
        """Returns the names of the state files."""
        return sorted(
            entry.name for entry in self._checked.files(f"{self.location}/state") if entry.name.endswith(".json")
        )

    def marks(self) -> list[str]:
        """Returns the names of the marks that say to which table the spool belongs."""
        return [entry.name for entry in self._storage.files(f"{self.location}/owner")]

    def mark(self, name: str) -> bytes | None:
        """Returns the bytes of a mark; None if there is none."""
        return self._storage.read(f"{self.location}/owner/{name}")

    def create_mark(self, name: str, data: bytes) -> bool:
        """Stores a mark; returns False if there is one of this name."""
        return self._storage.create(f"{self.location}/owner/{name}", data)

    def record(self, lane: str, seq: int, nonce: str) -> str:
        """Returns the location of a record that waits."""
        return f"{self.location}/pending/{lanes.folder(lane)}/{lanes.record_name(seq, nonce)}"
