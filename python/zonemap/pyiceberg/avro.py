"""Reads some fields of the records of an Avro file, by field id, with PyIceberg's decoder.

PyIceberg's own reader makes objects of whole entries, partition summaries included, and cannot leave out a list. For a
table of many manifests this takes longer than everything else in a plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

from zonemap.pyiceberg.damage import DamagedError

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16

_Read: TypeAlias = Callable[[BinaryDecoder], Any]

_PRIMITIVES: dict[str, _Read] = {
    "null": lambda decoder: None,
    "boolean": lambda decoder: decoder.read_boolean(),
    "int": lambda decoder: decoder.read_int(),
    "long": lambda decoder: decoder.read_int(),
    "float": lambda decoder: decoder.read_float(),
    "double": lambda decoder: decoder.read_double(),
    "bytes": lambda decoder: decoder.read_bytes(),
    "string": lambda decoder: decoder.read_bytes(),
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
    fields = [
        (places.get(field.get("field-id", -1)), _reader(field["type"]))
        for field in json.loads(header["avro.schema"])["fields"]
    ]
    records = []
    while decoder.tell() < len(data):
        count, size = decoder.read_int(), decoder.read_int()
        block = decoder.read(size)
        inner = new_decoder(codec.decompress(block) if codec else block)
        for _ in range(count):
            record: list[Any] = [None] * len(field_ids)
            for place, read in fields:
                value = read(inner)
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


def _reader(schema: Any) -> _Read:
    """Returns a function that reads a value; values that are no primitives are read past."""
    if isinstance(schema, list):
        return _union([_reader(branch) for branch in schema])
    if isinstance(schema, str):
        return _PRIMITIVES[schema]
    kind = schema["type"]
    make = _GROUPS.get(kind)
    return _reader(kind) if make is None else make(schema)


_GROUPS: dict[str, Callable[[Any], _Read]] = {
    "array": lambda schema: _items(_reader(schema["items"])),
    "map": lambda schema: _items(_both(_PRIMITIVES["bytes"], _reader(schema["values"]))),
    "record": lambda schema: _both(*(_reader(field["type"]) for field in schema["fields"])),
    "fixed": lambda schema: lambda decoder: decoder.read(schema["size"]),
}


def _union(branches: list[_Read]) -> _Read:
    return lambda decoder: branches[decoder.read_int()](decoder)


def _both(*readers: _Read) -> _Read:
    def read(decoder: BinaryDecoder) -> None:
        for each in readers:
            each(decoder)

    return read


def _items(item: _Read) -> _Read:
    def read(decoder: BinaryDecoder) -> None:
        while count := decoder.read_int():
            if count < 0:
                decoder.read_int()
            for _ in range(abs(count)):
                item(decoder)

    return read
