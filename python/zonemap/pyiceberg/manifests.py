# SPDX-License-Identifier: Apache-2.0
"""Which manifests a segment holds and a snapshot lists (docs/design/FORMAT.md, "Manifests"; SOUNDNESS, S127).

A manifest is known only when all fields of its entry in the manifest list agree. Both sides are compared in the bytes
in which a segment stores these fields, so that no object is made of a field.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from pyiceberg.io import FileIO

from zonemap.pyiceberg.avro import read_fields
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.wire import Cursor

_LEAST_BYTES = 42
_FIXED = struct.Struct("<qiiqq")

#: The lengths of the optional fields behind the fixed ones, in order.
_OPTIONAL_BYTES = (8, 8, 4, 4, 4, 8, 8, 8)

_DATA, _DELETES = 0, 1

#: The field ids of a manifest-list entry that are compared, in the order in which a segment stores them.
_LISTED = (500, 501, 517, 502, 515, 516, 503, 520, 504, 505, 506, 512, 513, 514)
_CONTENT, _ADDED, _EXISTING = 2, 8, 9


@dataclass(frozen=True)
class ListedManifests:
    """The manifests with live entries that a snapshot lists.

    Attributes:
        counts: how often each manifest is listed, by its fields as stored.
        content: the content of each: 0 data, 1 deletes.
        files: the number of live entries of each; None where the list has no counts.
    """

    counts: Counter[bytes]
    content: dict[bytes, int]
    files: dict[bytes, int | None]

    def check(self, data: Iterable[Held], deletes: Iterable[Held]) -> None:
        """Fails unless the live manifests of segments are exactly these."""
        found: Counter[bytes] = Counter()
        for held, content in [(each, _DATA) for each in data] + [(each, _DELETES) for each in deletes]:
            for identity, rows in held:
                found[identity] += 1
                if self.content.get(identity, content) != content:
                    raise DamagedError("the version names manifests in segments of another content")
                if self.files.get(identity) not in {None, rows}:
                    raise DamagedError(f"a segment holds {rows} of {self.files[identity]} entries of a manifest")
        if found != self.counts:
            lacks, strangers = (self.counts - found).total(), (found - self.counts).total()
            raise DamagedError(
                f"the version lacks {lacks} manifests that its snapshot lists, "
                f"and names {strangers} that it does not list"
            )


#: The live manifests of a segment: the fields as stored, and the number of rows.
Held = list[tuple[bytes, int]]


def read_list(io: FileIO, location: str) -> ListedManifests:
    """Reads the manifest list of a snapshot."""
    with io.new_input(location).open() as stream:
        entries = read_fields(stream.read(), _LISTED)
    counts: Counter[bytes] = Counter()
    content: dict[bytes, int] = {}
    files: dict[bytes, int | None] = {}
    for entry in entries:
        has_counts = entry[_ADDED] is not None and entry[_EXISTING] is not None
        live = entry[_ADDED] + entry[_EXISTING] if has_counts else None
        if live == 0:
            continue
        identity = _stored(entry)
        counts[identity] += 1
        content[identity] = entry[_CONTENT] or 0
        files[identity] = live
    return ListedManifests(counts, content, files)


def _stored(entry: list[Any]) -> bytes:
    # The lists of tables of format 1 have no content and no sequence numbers, which are 0 then.
    path, fixed, rest = entry[0], [number or 0 for number in entry[1:6]], entry[6:]
    if None not in rest:
        values = [1] * (2 * len(rest))
        values[1::2] = rest
        return b"".join((_varint(len(path)), path, _WHOLE.pack(*fixed, *values)))
    values = [item for value in rest for item in ((0,) if value is None else (1, value))]
    form = _form(tuple(value is None for value in rest))
    return b"".join((_varint(len(path)), path, form.pack(*fixed, *values)))


@cache
def _form(is_absent: tuple[bool, ...]) -> struct.Struct:
    """Returns the layout of the fields behind the path, for these absent ones."""
    optional = ("q" if length == 8 else "i" for length in _OPTIONAL_BYTES)
    parts = ("B" if absent else f"B{form}" for form, absent in zip(optional, is_absent, strict=True))
    return struct.Struct(_FIXED.format + "".join(parts))


#: The layout where all fields are present, and where their presence bytes are among its items.
_WHOLE = _form((False,) * len(_OPTIONAL_BYTES))
_PRESENCES, _ALL_PRESENT = slice(5, None, 2), (1,) * len(_OPTIONAL_BYTES)


@cache
def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class SegmentManifests:
    """The manifests of a segment: consecutive rows belong to each.

    Args:
        section: the section of manifests.
        most: the largest number of manifests that the section may state.
    """

    def __init__(self, section: bytes, most: int) -> None:
        cursor = Cursor(section)
        self._identities = []
        counts = []
        specs = set()
        for _ in range(cursor.count(_LEAST_BYTES, most)):
            start = cursor.position
            fixed, cursor.position = _fields(cursor)
            specs.add(_FIXED.unpack_from(section, fixed)[2])
            self._identities.append(section[start : cursor.position])
            counts.append(cursor.varint())
        cursor.end("the manifests")
        self._spec_ids = frozenset(specs)
        self._starts = [0, *accumulate(counts)]

    @property
    def rows(self) -> int:
        """The number of rows of all manifests."""
        return self._starts[-1]

    def held(self, live: Iterable[tuple[int, int]]) -> Held:
        """Returns the manifests of ranges of ordinals."""
        found: Held = []
        for first, end in live:
            if end > len(self._identities):
                raise DamagedError(f"a version that names manifest {end - 1} of {len(self._identities)}")
            starts = self._starts
            found += [(self._identities[each], starts[each + 1] - starts[each]) for each in range(first, end)]
        return found

    def spec_ids(self) -> frozenset[int]:
        """Returns the specs of the manifests, which are those of their files."""
        return self._spec_ids

    def row_ranges(self, live: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Returns the rows of ranges of ordinals."""
        return [(self._starts[first], self._starts[end]) for first, end in live]


def _fields(cursor: Cursor) -> tuple[int, int]:
    """Returns where the fixed fields of a manifest begin, and where all its fields end, without decoding them."""
    length = cursor.varint()
    fixed = cursor.position + length
    data, position = cursor.data, fixed + _FIXED.size
    end = fixed + _WHOLE.size
    if end <= len(data) and _WHOLE.unpack_from(data, fixed)[_PRESENCES] == _ALL_PRESENT:
        return fixed, end
    try:
        for size in _OPTIONAL_BYTES:
            presence = data[position]
            if presence > 1:
                raise DamagedError(f"a presence byte of {presence}")
            position += 1 + size * presence
    except IndexError as error:
        raise DamagedError("a cut manifest") from error
    if position > len(data):
        raise DamagedError("a cut manifest")
    return fixed, position
