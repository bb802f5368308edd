# SPDX-License-Identifier: Apache-2.0
"""The bytes of records and state files: one line with checksum and length, then one JSON object."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

from zonemap.common.errors import ZonemapError
from zonemap.ingest.errors import RecordError

#: Readers reject a larger record.
GREATEST_BYTES = 64 * 1024 * 1024

_VERSION = 1
_FIRST_LINE = re.compile(rb"zonemap-ingest ([0-9]+) ([0-9a-f]{8}) ([0-9]+)")
_LONGEST_FIRST_LINE = 100


@dataclass(frozen=True)
class FileEntry:
    """One data file of a record.

    Attributes:
        spec_id: The partition spec that the file was written with.
        content_file: The file in the JSON form of Iceberg's ContentFileParser.
    """

    spec_id: int
    content_file: dict[str, Any]


@dataclass(frozen=True)
class IngestRecord:
    """One write: data files that are committed together or not at all. Each field is a field of the wire format.

    ``existing`` says that the writer found the files in place. It is left out of the bytes if it is False.
    """

    queue_id: str
    table_uuid: str
    branch: str
    lane: str
    seq: int
    prev_seq: int
    nonce: str
    writer: str
    created_ms: int
    schema_id: int
    base_snapshot_id: int
    format_version: int
    rows: int
    size: int
    files: tuple[FileEntry, ...]
    existing: bool = False

    def to_bytes(self) -> bytes:
        """Returns the bytes of this record's file.

        Raises:
            ZonemapError: the bytes are more than readers accept.
        """
        body = {_key(name): value for name, value in vars(self).items() if name not in {"files", "existing"}}
        body["files"] = [{"spec-id": file.spec_id, "content-file": file.content_file} for file in self.files]
        if self.existing:
            body["existing"] = True
        data = frame(body)
        if len(data) > GREATEST_BYTES:
            raise ZonemapError(
                f"Cannot enqueue a record of {len(self.files):,} files: it has {len(data):,} bytes, more than "
                f"{GREATEST_BYTES:,}. Write fewer files at a time, or set write.metadata.metrics.default to 'counts'."
            )
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> IngestRecord:
        """Reads a record.

        Raises:
            RecordError: the bytes are damaged, or a field is missing.
        """
        body = unframe(data)
        try:
            files = tuple(FileEntry(int(file["spec-id"]), file["content-file"]) for file in body["files"])
            names = [name for name in cls.__dataclass_fields__ if name not in {"files", "existing"}]
            fields = {name: body[_key(name)] for name in names}
            return cls(files=files, existing=body.get("existing") is True, **fields)
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"Cannot read a record: the field {error} is missing or malformed.") from error


def _key(name: str) -> str:
    """Returns the key of a field; the name ``bytes`` of the format is a type of Python."""
    return "bytes" if name == "size" else name.replace("_", "-")


def frame(body: dict[str, Any]) -> bytes:
    """Returns the bytes of a file with this JSON body."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    return f"zonemap-ingest {_VERSION} {zlib.crc32(text):08x} {len(text)}\n".encode() + text


def unframe(data: bytes, greatest: int = GREATEST_BYTES) -> dict[str, Any]:
    """Returns the JSON body of a file of at most ``greatest`` bytes.

    Raises:
        RecordError: the file is longer, its first line is malformed, the version is unknown, or length or checksum
            differ.
    """
    if len(data) > greatest:
        raise RecordError(f"Cannot read a record: it has {len(data):,} bytes, more than {greatest:,}.")
    line, newline, text = data.partition(b"\n")
    match = _FIRST_LINE.fullmatch(line) if newline and len(line) <= _LONGEST_FIRST_LINE else None
    if match is None:
        raise RecordError("Cannot read a record: its first line is malformed.")
    version, checksum, length = int(match[1]), int(match[2], 16), int(match[3])
    if version != _VERSION:
        raise RecordError(f"Cannot read a record: its version {version} is unknown. Update zonemap.")
    if length != len(text):
        raise RecordError(f"Cannot read a record: it has {len(text):,} bytes of {length:,}.")
    if zlib.crc32(text) != checksum:
        raise RecordError("Cannot read a record: its checksum differs.")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise RecordError(f"Cannot read a record: its body is no JSON ({error}).") from error
    if not isinstance(body, dict):
        raise RecordError("Cannot read a record: its body is no JSON object.")
    return body
