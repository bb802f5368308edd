# SPDX-License-Identifier: Apache-2.0
"""Decodes version files (docs/design/FORMAT.md, section 6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from google_crc32c import value as crc32c

from zonemap.pyiceberg.damage import DamagedError, UnsupportedFormatError
from zonemap.pyiceberg.store import Store
from zonemap.pyiceberg.wire import Cursor

_MAGIC = b"ZMVERSON"
_HEADER_BYTES = 18
_MOST_BYTES = 16 << 20
_REF_BYTES = 11
_WITH_FACTS, _WITH_COLUMNS, _WITH_KEYS, _WITH_MAPPINGS, _WITH_CHOSEN = 2, 3, 4, 5, 6
_FACT_KINDS = range(1, 7)

_PART = "[A-Za-z0-9_-]+"
_DATA_SEGMENT = re.compile(f"segments/{_PART}/{_PART}\\.zm")
_DELETE_SEGMENT = re.compile(f"segments/{_PART}/{_PART}\\.zmd")
_FACTS = re.compile(f"facts/{_PART}/-?[0-9]+/{_PART}\\.zmf")


@dataclass(frozen=True)
class SegmentRef:
    """A segment file, and the manifests in it that belong to the snapshot, as ascending (first, end) ranges."""

    name: str
    size: int
    live: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Version:
    """The index of one snapshot.

    Attributes:
        contradicted: the field ids of columns for which some manifest has wrong bounds.
    """

    table_uuid: str
    snapshot_id: int
    manifest_list: str
    data_files: int
    delete_files: int
    segments: tuple[SegmentRef, ...]
    delete_segments: tuple[SegmentRef, ...]
    contradicted: frozenset[int]


def read_version(store: Store, snapshot_id: int) -> Version | None:
    """Reads the version of a snapshot; None if the index has none."""
    file = store.open(f"versions/{snapshot_id}")
    if file is None:
        return None
    if not _HEADER_BYTES <= file.size <= _MOST_BYTES:
        raise DamagedError(f"a version file of {file.size} bytes")
    return decode_version(file.read(0, file.size))


def decode_version(data: bytes) -> Version:
    """Decodes the bytes of a version file."""
    cursor = Cursor(data)
    if cursor.raw(len(_MAGIC)) != _MAGIC:
        raise DamagedError("not a version file")
    form, length, crc = cursor.u16(), cursor.u32(), cursor.u32()
    if length != cursor.remaining:
        raise DamagedError(f"a version of {length} bytes in {cursor.remaining} bytes")
    if crc32c(data[_HEADER_BYTES:]) != crc:
        raise DamagedError("the checksum of the version does not match")
    if not 1 <= form <= _WITH_CHOSEN:
        raise UnsupportedFormatError(f"version files of format {form}, of which this release reads 1 to 6")
    table_uuid, snapshot_id, manifest_list = cursor.text(), cursor.i64(), cursor.text()
    cursor.i64()  # the sequence number
    data_files, delete_files = cursor.i64(), cursor.i64()
    segments = _references(cursor, _DATA_SEGMENT)
    delete_segments = _references(cursor, _DELETE_SEGMENT)
    contradicted = _contradicted(cursor, form) if form >= _WITH_FACTS else frozenset()
    _skip_columns(cursor, form)
    cursor.end("the version")
    return Version(
        table_uuid, snapshot_id, manifest_list, data_files, delete_files, segments, delete_segments, contradicted
    )


def _references(cursor: Cursor, form: re.Pattern[str]) -> tuple[SegmentRef, ...]:
    found = tuple(_reference(cursor, form) for _ in range(cursor.count(_REF_BYTES)))
    if len({ref.name for ref in found}) < len(found):
        raise DamagedError("a version that names a segment twice")
    return found


def _reference(cursor: Cursor, form: re.Pattern[str]) -> SegmentRef:
    name, size = _named(cursor, form)
    live = []
    end = 0
    for _ in range(cursor.count(2)):
        first = end + cursor.varint()
        end = first + cursor.varint()
        if first == end:
            raise DamagedError("an empty range of live manifests")
        live.append((first, end))
    return SegmentRef(name, size, tuple(live))


def _named(cursor: Cursor, form: re.Pattern[str]) -> tuple[str, int]:
    """Reads a name, a content hash and a size. The hash only names the content: checksums protect the sections."""
    name = cursor.text()
    if not form.fullmatch(name):
        raise DamagedError(f"a file name that no index uses: {name[:200]!r}")
    cursor.text()
    size = cursor.i64()
    if size < 0:
        raise DamagedError(f"a file of {size} bytes")
    return name, size


def _contradicted(cursor: Cursor, form: int) -> frozenset[int]:
    """Reads the references to fact files; returns the columns whose bounds in manifests are known to be wrong."""
    found = set()
    for _ in range(cursor.count(_REF_BYTES)):
        _named(cursor, _FACTS)
        if cursor.byte() not in _FACT_KINDS:
            raise DamagedError("facts of an unknown kind")
        field_id = cursor.i32()
        if form >= _WITH_KEYS:
            _skip_key(cursor)
        cursor.varint()
        cursor.varint()
        if form >= _WITH_KEYS and cursor.byte():
            found.add(field_id)
        if form >= _WITH_MAPPINGS:
            cursor.optional(cursor.text)
        if form >= _WITH_CHOSEN:
            cursor.byte()
    return frozenset(found)


def _skip_key(cursor: Cursor) -> None:
    kind = cursor.byte()
    readers: dict[int, Callable[[], object]] = {0: lambda: None, 1: cursor.i64, 2: cursor.bytes}
    if kind not in readers:
        raise DamagedError(f"a key of a map of kind {kind}")
    readers[kind]()


def _skip_columns(cursor: Cursor, form: int) -> None:
    """Skips the columns that maintainers index: segments may hold others."""
    if form >= _WITH_KEYS:
        cursor.optional(lambda: cursor.raw(4 * cursor.count(4)))
    elif form == _WITH_COLUMNS:
        cursor.raw(4 * cursor.count(4))
