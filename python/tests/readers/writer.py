# SPDX-License-Identifier: Apache-2.0
"""Writes the index of a PyIceberg table as docs/design/FORMAT.md describes it; shares no code with the product."""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFileContent, ManifestContent
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

_TIMES = (DateType, TimeType, TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)
_INTEGERS = (BooleanType, IntegerType, LongType, *_TIMES)
_FLOATS = (FloatType, DoubleType)


def _after(register: int) -> int:
    for _ in range(8):
        register = (register >> 1) ^ (0x82F63B78 if register & 1 else 0)
    return register


_TABLE = [_after(byte) for byte in range(256)]


def crc(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register = _TABLE[(register ^ byte) & 255] ^ (register >> 8)
    return register ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return out + bytes((number,))


def sized(data: bytes) -> bytes:
    return varint(len(data)) + data


def text(value: str) -> bytes:
    return sized(value.encode())


def optional(form: str, value: int | None) -> bytes:
    return b"\0" if value is None else b"\1" + struct.pack(form, value)


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


@dataclass
class Options:
    """The layout of a segment: each is one that the format allows."""

    detail: int | None = None
    boundaries: int = 32767
    packed_codes: bool = False
    packed_exact: bool = False
    compressed: bool = False
    provenance: bytes = b"\1"
    evidence: bytes = b""
    columns: set[int] | None = None
    change_section: Callable[[int, int, bytes], bytes] = field(default=lambda kind, item, data: data)


class Container:
    def __init__(self, kind: int, options: Options) -> None:
        head = b"ZMSEGMNT" + struct.pack("<HH", 1, kind)
        self.data = bytearray((head + struct.pack("<I", crc(head))).ljust(64, b"\0"))
        self.rows = b""
        self.options = options

    def add(self, kind: int, item: int, raw: bytes) -> None:
        raw = self.options.change_section(kind, item, raw)
        may_compress = self.options.compressed and kind not in {4, 6, 8, 9, 11, 12, 13}
        stored = zstd(raw) if may_compress else raw
        self.data += bytes(-len(self.data) % 64)
        check = 0 if kind in {6, 11} else crc(stored)
        place = (kind, int(may_compress), item, len(self.data), len(stored), len(raw), check)
        self.rows += struct.pack("<HHiqqqI", *place)
        self.data += stored

    def blocks(self, index: int, data: int, item: int, raws: list[bytes]) -> None:
        rows, frames = b"", b""
        for raw in raws:
            frame = zstd(raw)
            rows += struct.pack("<IIII", len(frames), len(frame), len(raw), crc(frame))
            frames += frame
        self.add(index, item, rows)
        self.add(data, item, frames)

    def finish(self) -> bytes:
        return bytes(self.data) + self.rows + struct.pack("<II", len(self.rows), crc(self.rows)) + b"ZMSEGMNT"


def longs(values: list[int], nullable: bool = False, width: int = 8) -> tuple[bytes, bytes]:
    """The shape and the codes of a fixed array of one width."""
    least = min(0, *values) if values else 0
    shape = struct.pack("<BBq", int(nullable), width, least)
    return shape, b"".join((value - least).to_bytes(width, "little") for value in values)


def value_of(kind: Any, data: bytes) -> int | bytes:
    """A bound in the encoding of section 4."""
    value = from_bytes(kind, data)
    if isinstance(kind, _FLOATS):
        bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
        return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF
    if isinstance(kind, DecimalType):
        unscaled = int(value.scaleb(kind.scale))
        return unscaled if kind.precision <= 18 else (unscaled + (1 << 127)).to_bytes(16, "big")
    if isinstance(kind, _INTEGERS):
        return int(value)
    if isinstance(kind, StringType):
        return value.encode()
    if isinstance(kind, UUIDType):
        return data
    assert isinstance(kind, BinaryType | FixedType), kind
    return bytes(value)


def is_bytes(kind: Any) -> bool:
    """Whether values of a type are encoded as bytes."""
    if isinstance(kind, DecimalType):
        return kind.precision > 18
    return isinstance(kind, StringType | BinaryType | FixedType | UUIDType)


class Column:
    """The bounds of one column over the rows of a segment."""

    def __init__(self, found: NestedField, files: list[Any], options: Options) -> None:
        self.kind, self.options = found.field_type, options
        self.lower, self.upper, self.flags = [], [], []
        for file in files:
            lower, upper = (
                None if not bounds or found.field_id not in bounds else value_of(self.kind, bounds[found.field_id])
                for bounds in (file.lower_bounds, file.upper_bounds)
            )
            if lower is not None and upper is not None and lower > upper:
                lower = upper = None
            self.lower.append(lower)
            self.upper.append(upper)
            self.flags.append(self._flags(found.field_id, file, lower, upper))
        present = sorted({value for value in self.lower + self.upper if value is not None})
        self.is_exact = len(present) <= options.boundaries
        if not self.is_exact:
            last = options.boundaries - 1
            present = [present[i * (len(present) - 1) // last] for i in range(options.boundaries)]
        self.dictionary = present
        self.detail = options.detail if options.detail is not None else int(self.is_exact)
        if self.detail == 2:
            self.lower = [None if v is None else self._floor(v) for v in self.lower]
            self.upper = [None if v is None else self._ceiling(v) for v in self.upper]
            self.flags = [flags & ~4 for flags in self.flags]
        self.lower_codes = [0 if value is None else self.code(value) for value in self.lower]
        self.upper_codes = [0xFFFF if value is None else self.code(value) for value in self.upper]

    def _floor(self, value: Any) -> Any:
        place = bisect_left(self.dictionary, value)
        return value if place < len(self.dictionary) and self.dictionary[place] == value else self.dictionary[place - 1]

    def _ceiling(self, value: Any) -> Any:
        return self.dictionary[bisect_left(self.dictionary, value)]

    def _flags(self, field_id: int, file: Any, lower: Any, upper: Any) -> int:
        tight = lower is not None and upper is not None and (not is_bytes(self.kind) or lower == upper)
        count = (file.value_counts or {}).get(field_id)
        nulls = presence((file.null_value_counts or {}).get(field_id), count)
        nans = presence((file.nan_value_counts or {}).get(field_id), count) if isinstance(self.kind, _FLOATS) else 1
        if nulls == 3:
            nans = 1
        return (lower is not None) | (upper is not None) << 1 | tight << 2 | nulls << 3 | nans << 5

    def code(self, value: Any) -> int:
        place = bisect_left(self.dictionary, value)
        return 2 * place + (place < len(self.dictionary) and self.dictionary[place] == value)

    def write(self, container: Container, field_id: int) -> None:
        container.add(7, field_id, self._head())
        lower, upper = self.lower_codes, self.upper_codes
        if self.options.packed_codes and self.detail != 2:
            container.add(12, field_id, packed_codes(lower, None) + packed_codes(upper, lower))
        else:
            form = "<B" if self.detail == 2 else "<H"
            mask = 0xFF if self.detail == 2 else 0xFFFF
            low, high = (b"".join(struct.pack(form, code & mask) for code in side) for side in (lower, upper))
            container.add(8, field_id, low + bytes(-len(low) % 64) + high)
        container.add(9, field_id, bytes(self.flags))
        if self.detail == 0 and self.options.packed_exact and not is_bytes(self.kind):
            container.add(13, field_id, self._packed_exact())
        elif self.detail == 0:
            container.blocks(10, 11, field_id, [self._frame(b) for b in range(0, len(lower), 1024)])

    def _head(self) -> bytes:
        if self.dictionary and is_bytes(self.kind):
            ends = [0]
            for value in self.dictionary:
                ends.append(ends[-1] + len(value))
            boundaries = struct.pack(f"<{len(ends)}I", *ends) + b"".join(self.dictionary)
        elif self.dictionary:
            boundaries = struct.pack(f"<{len(self.dictionary)}q", *self.dictionary)
        else:
            boundaries = struct.pack("<I", 0) if is_bytes(self.kind) else b""
        head = text(str(self.kind)) + bytes((self.detail,)) + b"\0\0\0"
        head += struct.pack("<I", len(self.dictionary)) + boundaries
        rows = range(len(self.flags))
        for zones in ([rows] if rows else [], [rows[b : b + 1024] for b in range(0, len(rows), 1024)]):
            made = [self._zone(zone) for zone in zones]
            head += b"".join(struct.pack("<H", low) for low, _, _ in made)
            head += b"".join(struct.pack("<H", high) for _, high, _ in made)
            head += bytes(flags for _, _, flags in made)
        return head

    def _zone(self, rows: range) -> tuple[int, int, int]:
        counted = [r for r in rows if (self.flags[r] >> 3) & 3 != 3 and (self.flags[r] >> 5) & 3 != 3]
        has_lower = bool(counted) and all(self.flags[r] & 1 for r in counted)
        has_upper = bool(counted) and all(self.flags[r] & 2 for r in counted)
        tight = has_lower and has_upper and all(self.flags[r] & 4 for r in counted)
        lower = min((self.lower_codes[r] for r in counted), default=0) if has_lower else 0
        upper = max((self.upper_codes[r] for r in counted), default=0) if has_upper else 0xFFFF
        flags = has_lower | has_upper << 1 | tight << 2
        for shift in (3, 5):
            found = {(self.flags[r] >> shift) & 3 for r in rows}
            flags |= (found.pop() if len(found) == 1 else 0 if 0 in found else 2) << shift
        return lower, upper, flags

    def _frame(self, first: int) -> bytes:
        lower, upper = self.lower[first : first + 1024], self.upper[first : first + 1024]
        if is_bytes(self.kind):
            return b"".join(sized(value or b"") for value in lower + upper)
        lows, highs = [value or 0 for value in lower], [value or 0 for value in upper]
        steps = [low - (lows[i - 1] if i else 0) for i, low in enumerate(lows)]
        widths = [high - low for low, high in zip(lows, highs, strict=True)]
        return b"".join(struct.pack("<Q", number % (1 << 64)) for number in steps + widths)

    def _packed_exact(self) -> bytes:
        lower = [0 if v is None else v - self._below(c) for v, c in zip(self.lower, self.lower_codes, strict=True)]
        upper = [0 if v is None else v - self._below(c) for v, c in zip(self.upper, self.upper_codes, strict=True)]
        return packed_exact(lower, 0) + packed_exact(upper, 0) + bytes(8)

    def _below(self, code: int) -> int:
        place = code // 2 if code % 2 else code // 2 - 1
        return 0 if place < 0 else self.dictionary[place]


def presence(part: int | None, whole: int | None) -> int:
    if part is None:
        return 0
    if part == 0:
        return 1
    return 3 if part == whole else 2


def packed_codes(codes: list[int], lower: list[int] | None) -> bytes:
    table, blocks = b"", b""
    for first in range(0, len(codes), 1024):
        block = codes[first : first + 1024]
        if lower is not None:
            block = [(code - low) % 65536 for code, low in zip(block, lower[first:], strict=False)]
        base = min(block)
        width = next(w for w in (0, 1, 2, 4, 8, 16) if max(block) - base < 1 << w)
        base = 0 if width == 16 else base
        table += struct.pack("<HBB", base, width, int(lower is not None))
        blocks += bits([code - base for code in block], width)
    return table + blocks


def packed_exact(numbers: list[int], origin: int) -> bytes:
    table, blocks = b"", b""
    for first in range(0, len(numbers), 1024):
        block = numbers[first : first + 1024]
        width = max(block).bit_length()
        width = width if width <= 56 else 64
        table += struct.pack("<qBB", 0, width, origin)
        blocks += bits(block, width)
    return table + blocks


def bits(numbers: list[int], width: int) -> bytes:
    whole = sum(number << (i * width) for i, number in enumerate(numbers))
    return whole.to_bytes((len(numbers) * width + 7) // 8, "little")


def manifest(found: Any, rows: int, first_row_id: int | None = None) -> bytes:
    out = text(found.manifest_path)
    out += struct.pack("<qii", found.manifest_length, int(found.content), found.partition_spec_id)
    out += struct.pack("<qq", found.sequence_number, found.min_sequence_number)
    out += optional("<q", found.added_snapshot_id) + optional("<q", first_row_id)
    for count in (found.added_files_count, found.existing_files_count, found.deleted_files_count):
        out += optional("<i", count)
    for count in (found.added_rows_count, found.existing_rows_count, found.deleted_rows_count):
        out += optional("<q", count)
    return out + varint(rows)


def tuple_of(spec_id: int, values: list[Any]) -> bytes:
    out = struct.pack("<i", spec_id) + varint(len(values))
    for value in values:
        if value is None:
            out += b"\0"
        elif isinstance(value, bool):
            out += b"\1" + bytes((value,))
        elif isinstance(value, int):
            out += b"\3" + struct.pack("<q", value)
        elif isinstance(value, float):
            out += b"\5" + struct.pack("<d", value)
        elif isinstance(value, bytes):
            out += b"\7" + sized(value)
        elif isinstance(value, Decimal):
            exponent = int(value.as_tuple().exponent)
            unscaled = int(value.scaleb(-exponent, Context(prec=60)))
            length = unscaled.bit_length() // 8 + 1
            out += b"\x08" + struct.pack("<i", -exponent) + sized(unscaled.to_bytes(length, "big", signed=True))
        elif isinstance(value, UUID):
            # Two numbers, so that the bytes of each half are little-endian.
            out += b"\x09" + value.bytes[7::-1] + value.bytes[:7:-1]
        else:
            out += b"\6" + text(value)
    return out


def segment(manifests: list[tuple[Any, list[Any]]], schema: Any, options: Options) -> bytes:
    """A data segment of manifests and their live entries."""
    entries = [entry for _, found in manifests for entry in found]
    files = [entry.data_file for entry in entries]
    tuples = sorted({tuple_of(file.spec_id, file.partition._data) for file in files})
    splits = [file.split_offsets for file in files]
    arrays = [
        longs([0] * len(files), width=1),
        longs([file.file_size_in_bytes for file in files], width=4),
        longs([file.record_count for file in files], width=4),
        longs([tuples.index(tuple_of(file.spec_id, file.partition._data)) for file in files], width=2),
        longs([entry.sequence_number for entry in entries]),
        longs([entry.file_sequence_number for entry in entries]),
        (struct.pack("<BBq", 1, 0, 0), b""),
        longs([0 if f.sort_order_id is None else f.sort_order_id + 1 for f in files], nullable=True, width=1),
        longs([0 if offsets is None else len(offsets) + 1 for offsets in splits], nullable=True, width=1),
        longs([offset for offsets in splits for offset in offsets or ()]),
    ]
    container = Container(1, options)
    total = sum(len(offsets or ()) for offsets in splits)
    meta = struct.pack("<IIII", len(files), 1024, 256, 1024) + varint(1) + text("PARQUET") + struct.pack("<I", total)
    container.add(1, 0, meta + b"".join(shape for shape, _ in arrays))
    container.add(2, 0, varint(len(manifests)) + b"".join(manifest(m, len(found)) for m, found in manifests))
    container.add(3, 0, varint(len(tuples)) + b"".join(tuples))
    for slot, (shape, codes) in enumerate(arrays, start=1):
        if shape[1] and codes:
            container.add(4, slot, codes)
    paths = [text(file.file_path) for file in files]
    container.blocks(5, 6, 0, [b"".join(paths[b : b + 256]) for b in range(0, len(paths), 256)])
    for field_id in sorted(schema.field_ids):
        found = schema.find_field(field_id)
        if found.field_type.is_primitive and (options.columns is None or field_id in options.columns):
            Column(found, files, options).write(container, found.field_id)
    if options.provenance != b"\0":
        container.add(14, 0, options.provenance)
    if options.evidence:
        container.add(15, 0, options.evidence)
    container.add(99, 7, b"a section of a later release")
    return container.finish()


def by_field(items: dict[int, Any] | None, encode: Callable[[Any], bytes]) -> bytes:
    if items is None:
        return b"\0"
    return b"\1" + varint(len(items)) + b"".join(struct.pack("<i", k) + encode(v) for k, v in sorted(items.items()))


def lists_of(file: Any) -> bytes:
    """The split offsets and the equality ids of a delete file."""
    out = b""
    for numbers, form in ((file.split_offsets, "<q"), (file.equality_ids, "<i")):
        out += b"\0" if numbers is None else b"\1" + varint(len(numbers))
        out += b"".join(struct.pack(form, number) for number in numbers or ())
    return out


def delete_segment(manifests: list[tuple[Any, list[Any]]], options: Options) -> bytes:
    entries = [entry for _, found in manifests for entry in found]
    tuples = sorted({tuple_of(e.data_file.spec_id, e.data_file.partition._data) for e in entries})
    out = varint(len(entries))
    for entry in entries:
        file = entry.data_file
        place = tuples.index(tuple_of(file.spec_id, file.partition._data))
        out += bytes((int(file.content),)) + text(file.file_path) + text(file.file_format.value)
        out += struct.pack("<qqi", file.file_size_in_bytes, file.record_count, place)
        out += struct.pack("<qq", entry.sequence_number, entry.sequence_number) + b"\0" + lists_of(file) + b"\0\0\0"
        for counts in (file.column_sizes, file.value_counts, file.null_value_counts, file.nan_value_counts):
            out += by_field(counts, lambda count: struct.pack("<q", count))
        for bounds in (file.lower_bounds, file.upper_bounds):
            out += by_field(bounds, sized)
    container = Container(2, options)
    container.add(2, 0, varint(len(manifests)) + b"".join(manifest(m, len(found)) for m, found in manifests))
    container.add(3, 0, varint(len(tuples)) + b"".join(tuples))
    container.add(20, 0, out)
    return container.finish()


def folder_of(table: Table) -> Path:
    location = table.location().removeprefix("file://")
    return Path(location) / "_zonemaps_v2" / str(table.metadata.table_uuid)


def write_index(
    table: Table, options: Options | None = None, *, contradicted: int | None = None, **changes: Any
) -> Path:
    """Writes the index of the current snapshot; `changes` replace fields of the version. Returns the folder."""
    options = options or Options()
    snapshot = table.current_snapshot()
    read = [(each, each.fetch_manifest_entry(table.io)) for each in snapshot.manifests(table.io)]
    read = [(each, found) for each, found in read if found]
    data = [pair for pair in read if pair[0].content == ManifestContent.DATA]
    deletes = [pair for pair in read if pair[0].content == ManifestContent.DELETES]
    assert all(e.data_file.content == DataFileContent.DATA for _, found in data for e in found)
    folder = folder_of(table)
    refs = [[], []]
    for kind, manifests in enumerate((data, deletes)):
        if manifests:
            made = segment(manifests, table.schema(), options) if kind == 0 else delete_segment(manifests, options)
            name = f"segments/day/1-2-{hashlib.sha256(made).hexdigest()[:16]}-00000000.zm{'d' * kind}"
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(made)
            refs[kind].append((name, len(made), len(manifests)))
    counts = [sum(len(found) for _, found in manifests) for manifests in (data, deletes)]
    version = {
        "table_uuid": str(table.metadata.table_uuid),
        "snapshot_id": snapshot.snapshot_id,
        "manifest_list": snapshot.manifest_list,
        "data_files": counts[0],
        "delete_files": counts[1],
        "segments": refs[0],
        "delete_segments": refs[1],
        "format": 1 if contradicted is None else 4,
    } | changes
    path = folder / "versions" / str(snapshot.snapshot_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_version(version, contradicted))
    return folder


def encode_version(version: dict[str, Any], contradicted: int | None) -> bytes:
    out = text(version["table_uuid"]) + struct.pack("<q", version["snapshot_id"]) + text(version["manifest_list"])
    out += struct.pack("<qqq", 1, version["data_files"], version["delete_files"])
    for kind in ("segments", "delete_segments"):
        out += varint(len(version[kind]))
        for name, size, manifests in version[kind]:
            out += text(name) + text("0" * 16) + struct.pack("<q", size)
            out += varint(1) + varint(0) + varint(manifests) if manifests else varint(0)
    if contradicted is not None:
        out += varint(1) + text(f"facts/bounds/{contradicted}/{'0' * 16}-00000000.zmf") + text("0" * 16)
        out += struct.pack("<qBi", 100, 4, contradicted) + b"\0" + varint(1) + varint(1) + b"\1" + b"\0"
    return b"ZMVERSON" + struct.pack("<HII", version["format"], len(out), crc(out)) + out
