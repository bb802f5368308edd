# SPDX-License-Identifier: Apache-2.0
"""Reads some fields of the records of an Avro file, by field id, with PyIceberg's decoder.

PyIceberg's own reader makes objects of whole entries, partition summaries included, and cannot leave out a list. For a
table of many manifests this takes longer than everything else in a plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

from zonemap.pyiceberg.damage import DamagedError

with suppress(ImportError):
    # `new_decoder` imports it when it is first called.
    import pyiceberg.avro.decoder_fast  # noqa: F401

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16

#: Reads the next value of one decoder.
_Read: TypeAlias = Callable[[], Any]

#: The methods that read past primitives.
_SKIPS = {
    "boolean": "skip_boolean",
    "int": "skip_int",
    "long": "skip_int",
    "float": "skip_float",
    "double": "skip_double",
    "bytes": "skip_bytes",
    "string": "skip_bytes",
}

#: The methods that read primitives. Texts are read as bytes.
_PRIMITIVES = {
    "boolean": "read_boolean",
    "int": "read_int",
    "long": "read_int",
    "float": "read_float",
    "double": "read_double",
    "bytes": "read_bytes",
    "string": "read_bytes",
}


def read_fields(data: bytes, field_ids: Sequence[int]) -> list[list[Any]]:
    """Returns the fields of each record, in the order of the ids; None for a field that the file lacks.

    Texts are returned as bytes of UTF-8.
    """
    decoder = new_decoder(data)
    if decoder.read(len(_MAGIC)) != _MAGIC:
        raise DamagedError("not an Avro file")
    header = _map(decoder)
    name = header.get("avro.codec", b"null").decode()
    codec = next(found for known, found in KNOWN_CODECS.items() if known == name)
    sync = decoder.read(_SYNC_BYTES)
    places = {field_id: place for place, field_id in enumerate(field_ids)}
    schema = json.loads(header["avro.schema"])
    fields = [(places.get(field.get("field-id", -1)), field["type"]) for field in schema["fields"]]
    records = []
    while decoder.tell() < len(data):
        count, size = decoder.read_int(), decoder.read_int()
        block = decoder.read(size)
        inner = new_decoder(codec.decompress(block) if codec else block)
        readers = [(place, _reader(kind, inner, _SKIPS if place is None else _PRIMITIVES)) for place, kind in fields]
        for _ in range(count):
            record: list[Any] = [None] * len(field_ids)
            for place, read in readers:
                value = read()
                if place is not None:
                    record[place] = value
            records.append(record)
        if decoder.read(_SYNC_BYTES) != sync:
            raise DamagedError("an Avro file whose blocks do not end with its marker")
    return records


def _map(decoder: BinaryDecoder) -> dict[str, bytes]:
    found = {}
    while count := decoder.read_int():
        if count < 0:
            decoder.read_int()
        for _ in range(abs(count)):
            key = decoder.read_utf8()
            found[key] = decoder.read_bytes()
    return found


def _reader(schema: Any, decoder: BinaryDecoder, methods: Mapping[str, str] = _SKIPS) -> _Read:
    """Returns a function that reads a value; values that are no primitives are read past.

    Args:
        schema: the type of the value.
        decoder: the decoder.
        methods: the methods that read primitives, or those that read past them.
    """
    if isinstance(schema, list):
        return _union([_reader(branch, decoder, methods) for branch in schema], decoder)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "null":
        return _nothing
    if isinstance(kind, str) and kind in methods:
        method: _Read = getattr(decoder, methods[kind])
        return method
    if not isinstance(kind, str):
        return _reader(kind, decoder, methods)
    return _GROUPS[kind](schema, decoder)


_GROUPS: dict[str, Callable[[Any, BinaryDecoder], _Read]] = {
    "array": lambda schema, decoder: _items(_reader(schema["items"], decoder), decoder),
    "map": lambda schema, decoder: _items(_both(decoder.skip_bytes, _reader(schema["values"], decoder)), decoder),
    "record": lambda schema, decoder: _both(*(_reader(field["type"], decoder) for field in schema["fields"])),
    "fixed": lambda schema, decoder: lambda: decoder.read(schema["size"]),
}


def _nothing() -> None:
    return None


def _union(branches: list[_Read], decoder: BinaryDecoder) -> _Read:
    branch = decoder.read_int

    def read() -> Any:
        return branches[branch()]()

    def optional() -> Any:
        return some() if branch() else None

    if len(branches) == 2 and branches[0] is _nothing:
        some = branches[1]
        return optional
    return read


def _both(*readers: _Read) -> _Read:
    def read() -> None:
        for each in readers:
            each()

    return read


def _items(item: _Read, decoder: BinaryDecoder) -> _Read:
    def read() -> None:
        while count := decoder.read_int():
            if count < 0:
                decoder.read_int()
            for _ in range(abs(count)):
                item()

    return read
