# SPDX-License-Identifier: Apache-2.0
"""Decodes the primitive items of the stored format (docs/design/FORMAT.md, section 1)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

import pyarrow as pa

from zonemap.pyiceberg.damage import DamagedError

T = TypeVar("T")

_FREE_BYTES = 2 << 20
FREE_BLOCK_BYTES = 16 << 20
_MOST_RATIO = 256
_MOST_VARINT = (1 << 31) - 1
_FREE_ITEMS = 8192
_MAGIC = b"\x28\xb5\x2f\xfd"

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")


class Cursor:
    """Reads items one behind the other. Each read past the end is a DamagedError."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    @property
    def remaining(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self.data) - self.position

    def raw(self, length: int) -> bytes:
        """Reads bytes."""
        start = self.position
        if length < 0 or length > len(self.data) - start:
            raise DamagedError(f"{length} bytes where {self.remaining} are left")
        self.position = start + length
        return self.data[start : start + length]

    def _number(self, form: struct.Struct) -> int:
        start = self.position
        if form.size > len(self.data) - start:
            raise DamagedError(f"{form.size} bytes where {self.remaining} are left")
        self.position = start + form.size
        found: int = form.unpack_from(self.data, start)[0]
        return found

    def byte(self) -> int:
        """Reads a u8."""
        start = self.position
        if not 0 <= start < len(self.data):
            raise DamagedError("a byte where none is left")
        self.position = start + 1
        return self.data[start]

    def u16(self) -> int:
        """Reads a u16."""
        return self._number(_U16)

    def u32(self) -> int:
        """Reads a u32."""
        return self._number(_U32)

    def i32(self) -> int:
        """Reads an i32."""
        return self._number(_I32)

    def i64(self) -> int:
        """Reads an i64."""
        return self._number(_I64)

    def varint(self) -> int:
        """Reads a varint of at most five bytes."""
        if self.position < len(self.data) and self.data[self.position] < 0x80:
            self.position += 1
            return self.data[self.position - 1]
        value = 0
        for shift in range(0, 35, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > _MOST_VARINT:
                    raise DamagedError(f"a length of {value}")
                return value
        raise DamagedError("a number of more than five bytes")

    def bytes(self) -> bytes:
        """Reads a byte string."""
        return self.raw(self.varint())

    def text(self) -> str:
        """Reads a text."""
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise DamagedError(f"a text that is no UTF-8: {error}") from error

    def optional(self, read: Callable[[], T]) -> T | None:
        """Reads an optional item."""
        presence = self.byte()
        if presence > 1:
            raise DamagedError(f"a presence byte of {presence}")
        return read() if presence else None

    def count(self, item_bytes: int, most: int = _MOST_VARINT) -> int:
        """Reads the number of items of a list, each of at least ``item_bytes`` bytes."""
        found = self.varint()
        if found * item_bytes > self.remaining or found > most:
            raise DamagedError(f"{found} items in {self.remaining} bytes, of at most {most}")
        return found

    def end(self, what: str) -> None:
        """Fails unless everything was read."""
        if self.remaining:
            raise DamagedError(f"{what} is followed by {self.remaining} unexpected bytes")


def items_at(data: bytes, start: int, end: int, places: Sequence[int]) -> list[bytes]:
    """Returns the byte strings at ascending places of a run of byte strings, and reads no further than the last.

    Args:
        data: bytes that have the run.
        start: where the run begins.
        end: where it ends.
        places: which byte strings are returned.
    """
    found = []
    reached = 0
    cursor = Cursor(data)
    cursor.position = start
    for place in places:
        _skip(cursor, place - reached)
        found.append(cursor.bytes())
        reached = place + 1
    if cursor.position > end:
        raise DamagedError(f"{reached} byte strings in {end - start} bytes")
    return found


def _skip(cursor: Cursor, count: int) -> None:
    """Moves past byte strings: all at once where they have one length, as the paths of neighbouring files mostly have.

    A move past the end of the data shows at the next read.
    """
    if not count:
        return
    data, start = cursor.data, cursor.position
    length = cursor.varint()
    stride = cursor.position - start + length
    end = start + count * stride
    headers = range(start, cursor.position)
    if end <= len(data) and all(data[at:end:stride] == data[at : at + 1] * count for at in headers):
        cursor.position = end
        return
    cursor.position = start + stride
    for _ in range(count - 1):
        length = cursor.varint()
        cursor.position += length


def texts(items: list[bytes]) -> list[str]:
    """Returns byte strings as texts."""
    try:
        return [item.decode() for item in items]
    except UnicodeDecodeError as error:
        raise DamagedError(f"a text that is no UTF-8: {error}") from error


def most_items(stored_bytes: int) -> int:
    """Returns the largest number of items of a list in a section of so many stored bytes."""
    return _FREE_ITEMS + 2 * stored_bytes


def decompressed(frame: bytes, raw_length: int, free_bytes: int = _FREE_BYTES) -> bytes:
    """Decompresses a zstd frame, after a check that its header states this length and that the length is plausible."""
    _check_length(frame, raw_length, free_bytes)
    return _decompressed(frame, raw_length)


def decompressed_all(frames: Sequence[bytes], raw_lengths: Sequence[int], free_bytes: int = _FREE_BYTES) -> bytes:
    """Decompresses frames as `decompressed` does, in one call; returns their contents one behind the other."""
    for frame, length in zip(frames, raw_lengths, strict=True):
        _check_length(frame, length, free_bytes)
    # zstd checks each frame against the length in its header, so that the lengths tell where each one begins.
    return _decompressed(b"".join(frames), sum(raw_lengths)) if frames else b""


def _check_length(frame: bytes, raw_length: int, free_bytes: int) -> None:
    if raw_length < 0 or raw_length > free_bytes + _MOST_RATIO * len(frame):
        raise DamagedError(f"a zstd frame of {len(frame)} bytes for {raw_length} bytes")
    if _content_size(frame) != raw_length:
        raise DamagedError(f"a zstd frame that is not of {raw_length} bytes")


def _decompressed(frames: bytes, raw_length: int) -> bytes:
    try:
        found: bytes = _zstd().decompress(frames, decompressed_size=raw_length, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedError(f"a zstd frame that cannot be decompressed: {error}") from error
    if len(found) != raw_length:
        raise DamagedError(f"a zstd frame of {len(found)} bytes, not {raw_length}")
    return found


@cache
def _zstd() -> pa.Codec:
    return pa.Codec("zstd")


def _content_size(frame: bytes) -> int | None:
    """Returns the content size that the header of a zstd frame states (RFC 8878, 3.1.1.1); None without one."""
    if len(frame) < 6 or not frame.startswith(_MAGIC):
        return None
    descriptor = frame[4]
    is_single, size_flag = bool(descriptor & 0x20), descriptor >> 6
    if size_flag == 0 and not is_single:
        return None
    start = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[descriptor & 3]
    length = (1, 2, 4, 8)[size_flag]
    if len(frame) < start + length:
        return None
    size = int.from_bytes(frame[start : start + length], "little")
    return size + 256 if size_flag == 1 else size
