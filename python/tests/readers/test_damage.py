# SPDX-License-Identifier: Apache-2.0
"""Stored bytes that no writer leaves: PyIceberg plans with a reason, the rows stay right, and memory is bounded."""

from __future__ import annotations

import logging
import os
import random
import resource
import shutil
import struct
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable, Table

from readers.conftest import numbered, tables
from readers.writer import Options, crc, folder_of, text, varint, write_index
from zonemap.pyiceberg import Fallback, plan
from zonemap.pyiceberg.damage import DamagedError
from zonemap.pyiceberg.version import decode_version

FILTER = "id >= 15 and id < 25 and name < 'name-0024'"
MOST_BYTES = 64 << 20


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    with tables(tmp_path_factory.mktemp("lake")) as create:
        yield create([numbered(range(first, first + 10)) for first in range(0, 40, 10)])


@pytest.fixture
def table(written: Table) -> Iterator[Table]:
    """A table without an index."""
    yield written
    shutil.rmtree(folder_of(written).parent, ignore_errors=True)


def planned(table: Table) -> Any:
    """The plan of the filter, after a check of its files and of the memory that it took."""
    tracemalloc.start()
    found = plan(table.scan(row_filter=FILTER))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert files_of(found.tasks) == stock_of(table.metadata_location)
    assert peak < MOST_BYTES, f"{peak} bytes"
    return found


def files_of(tasks: list[Any]) -> set[str]:
    return {task.file.file_path for task in tasks}


@cache
def stock_of(metadata: str) -> set[str]:
    found = files_of(list(StaticTable.from_metadata(metadata).scan(row_filter=FILTER).plan_files()))
    assert len(found) == 2
    return found


def version_of(table: Table) -> Path:
    return folder_of(table) / "versions" / str(table.current_snapshot().snapshot_id)


def segment_of(table: Table) -> Path:
    return next((folder_of(table) / "segments" / "day").glob("*.zm"))


def test_a_sound_index_plans(table: Table) -> None:
    write_index(table)
    assert planned(table).is_from_index


def test_what_is_missing(table: Table) -> None:
    assert planned(table).fallback is Fallback.NO_VERSION
    write_index(table)
    segment_of(table).unlink()
    found = planned(table)
    assert found.fallback is Fallback.DAMAGED
    assert "is gone" in found.reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"table_uuid": "00000000-0000-0000-0000-000000000000"}, "belongs to another table"),
        ({"snapshot_id": 7}, "holds snapshot 7"),
        ({"manifest_list": "file:/elsewhere/snap.avro"}, "names another manifest list"),
        ({"data_files": 3}, "data and delete files where the version states others"),
        ({"delete_files": 1}, "data and delete files where the version states others"),
        ({"segments": []}, "data and delete files where the version states others"),
        ({"segments": [], "data_files": 0}, "lacks 4 manifests that its snapshot lists"),
        ({"segments": [("../../../data/f.zm", 9, 1)]}, "a file name that no index uses"),
        ({"segments": [("segments/day/../x.zm", 9, 1)]}, "a file name that no index uses"),
        ({"segments": [("/etc/passwd", 9, 1)]}, "a file name that no index uses"),
        ({"segments": [("segments/day/1-2-0-0.zmd", 9, 1)]}, "a file name that no index uses"),
        ({"segments": [("segments/day/1-2-0-0.zm", -9, 1)]}, "a file of -9 bytes"),
    ],
    ids=str,
)
def test_versions_of_something_else(table: Table, change: dict[str, Any], reason: str) -> None:
    write_index(table, **change)
    found = planned(table)
    assert found.fallback is Fallback.DAMAGED
    assert reason in found.reason


def test_a_later_format(table: Table) -> None:
    write_index(table, format=7)
    assert planned(table).fallback is Fallback.UNSUPPORTED_FORMAT
    write_index(table)
    path = segment_of(table)
    data = bytearray(path.read_bytes())
    data[8:10] = struct.pack("<H", 2)
    data[12:16] = struct.pack("<I", crc(bytes(data[:12])))
    path.write_bytes(data)
    assert planned(table).fallback is Fallback.UNSUPPORTED_FORMAT


def test_a_segment_of_another_snapshot(make: Callable[..., Table]) -> None:
    """The manifests of the version must be those that the snapshot lists, however well the counts agree."""
    table = make([numbered(range(first, first + 10)) for first in range(0, 40, 10)])
    folder = write_index(table)
    before = version_of(table).read_bytes()
    with table.transaction() as change:
        change.delete("id < 10")
        change.append(numbered(range(10)))
    snapshot = table.current_snapshot()
    version = decode_version(before)
    refs = [(ref.name, ref.size, ref.live[0][1]) for ref in version.segments]
    write_index(table, segments=refs, data_files=version.data_files)
    assert (folder / "versions" / str(snapshot.snapshot_id)).exists()
    found = plan(table.scan(row_filter=FILTER))
    assert found.fallback is Fallback.DAMAGED
    assert "that it does not list" in found.reason


def test_a_manifest_that_is_named_twice(table: Table) -> None:
    write_index(table)
    version = decode_version(version_of(table).read_bytes())
    ref = version.segments[0]
    write_index(table, segments=[(ref.name, ref.size, 4), (ref.name, ref.size, 4)], data_files=8)
    assert "names a segment twice" in planned(table).reason


def test_few_segments_are_open_at_once(table: Table) -> None:
    """Segments without live manifests cost no descriptor each."""
    folder = write_index(table)
    path = segment_of(table)
    size = path.stat().st_size
    names = [f"segments/day/{n}-{n}-{path.stem.rpartition('/')[2]}.zm" for n in range(300)]
    for name in names:
        os.link(path, folder / name)
    own = [(path.relative_to(folder).as_posix(), size, 4)]
    write_index(table, segments=own + [(name, size, 0) for name in names])
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, most[1]))
    try:
        assert planned(table).is_from_index
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_version_file_of_any_damage(table: Table) -> None:
    write_index(table)
    data = version_of(table).read_bytes()
    for length in range(len(data)):
        with pytest.raises(DamagedError):
            decode_version(data[:length])
    for place in range(len(data)):
        with pytest.raises(DamagedError):
            decode_version(data[:place] + bytes((data[place] ^ 0x40,)) + data[place + 1 :])
    with pytest.raises(DamagedError):
        decode_version(data + b"\0")


@pytest.mark.parametrize(
    "options", [Options(), Options(boundaries=3, detail=0, packed_codes=True, compressed=True)], ids=["plain", "packed"]
)
def test_a_segment_of_any_damage(table: Table, options: Options) -> None:
    write_index(table, options)
    path = segment_of(table)
    data = path.read_bytes()
    seed = random.Random(9)
    outcomes = set()
    for place in sorted(seed.sample(range(len(data)), 24)):
        path.write_bytes(data[:place] + bytes((data[place] ^ 1 << seed.randrange(8),)) + data[place + 1 :])
        outcomes.add(planned(table).fallback)
    assert outcomes == {None, Fallback.DAMAGED}
    for length in seed.sample(range(len(data)), 6):
        path.write_bytes(data[:length])
        assert planned(table).fallback is Fallback.DAMAGED


def forged(table: Table, changed: tuple[int, int], change: Callable[[bytes], bytes], options: Options) -> Any:
    """The plan from a segment with one changed section, whose checksums are right."""
    options.change_section = lambda kind, item, data: change(data) if (kind, item) == changed else data
    write_index(table, options)
    return planned(table)


def put(form: str, offset: int, value: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:offset] + struct.pack(form, value) + data[offset + struct.calcsize(form) :]


def tuples_of(nulls: int) -> bytes:
    """The partitions section with one tuple of nulls."""
    return varint(1) + struct.pack("<i", 0) + varint(nulls) + bytes(nulls)


_FORGED = {
    "two billion rows": ((1, 0), put("<I", 0, 2**31 - 1)),
    "other zones": ((1, 0), put("<I", 4, 512)),
    "rows of no manifest": ((1, 0), put("<I", 0, 5)),
    "four billion split offsets": ((1, 0), put("<I", 16 + 1 + len(text("PARQUET")), 2**32 - 1)),
    "a thousand formats": ((1, 0), lambda data: data[:16] + varint(1001) + bytes(1000) + data[17:]),
    "a list of a billion formats": ((1, 0), lambda data: data[:16] + varint(10**9) + data[17:]),
    "a billion manifests": ((2, 0), lambda data: varint(10**9) + data[1:]),
    "a manifest that is cut": ((2, 0), lambda data: data[:-20]),
    "a billion partitions": ((3, 0), lambda data: varint(10**9) + data[1:]),
    "a tuple of a billion values": ((3, 0), lambda data: data[:5] + varint(10**9) + data[6:]),
    "a tuple of more values than its spec has": ((3, 0), lambda data: tuples_of(1000)),
    "partitions of an unknown kind": ((3, 0), lambda data: varint(1) + struct.pack("<i", 0) + b"\1\x0c"),
    "sizes of fewer files": ((4, 2), lambda data: data[:-4]),
    "partitions that are not there": ((4, 4), lambda data: b"\xff\xff" * 4),
    "splits that are not there": ((4, 9), lambda data: b"\xff" * 4),
    "fewer path blocks": ((5, 0), lambda data: b""),
    "a path block outside": ((5, 0), put("<I", 0, 2**31)),
    "a path block of two billion bytes": ((5, 0), put("<I", 8, 2**31 - 1)),
    "a billion boundaries": ((7, 1), put("<I", 9, 10**9)),
    "a column of an unknown type": ((7, 1), lambda data: text("lang") + data[5:]),
    "a column of an unknown detail": ((7, 1), put("<B", 5, 3)),
    "boundaries that descend": ((7, 1), put("<q", 13, 10**9)),
    "codes of fewer files": ((8, 1), lambda data: data[:-2]),
    "flags of fewer files": ((9, 1), lambda data: data[:-1]),
    "provenances of fewer files": ((14, 0), lambda data: b"\1\1"),
    "a provenance that does not exist": ((14, 0), lambda data: b"\10"),
    "evidence of a row that does not exist": ((15, 0), lambda data: b"\1\1\1\177\0"),
}


@pytest.mark.parametrize("case", _FORGED)
def test_forged_counts(table: Table, case: str) -> None:
    changed, change = _FORGED[case]
    found = forged(table, changed, change, Options(provenance=b"\4", evidence=b"\0\0"))
    assert found.fallback in {Fallback.DAMAGED, None}, found.reason
    # Only a section that this plan does not read can be damaged without a fallback.
    assert found.fallback is Fallback.DAMAGED or changed[0] in {14, 15}


def change_table(path: Path, change: Callable[[list[bytearray]], None]) -> None:
    """Changes the rows of a section table, and its length and checksum with them."""
    data = path.read_bytes()
    start = len(data) - 16 - struct.unpack("<I", data[-16:-12])[0]
    rows = [bytearray(data[row : row + 36]) for row in range(start, len(data) - 16, 36)]
    change(rows)
    table = b"".join(rows)
    path.write_bytes(data[:start] + table + struct.pack("<II", len(table), crc(table)) + b"ZMSEGMNT")


def test_sections_that_are_never_compressed(table: Table) -> None:
    for kind in (4, 6, 8, 9):
        write_index(table)

        def compress(rows: list[bytearray], kind: int = kind) -> None:
            next(row for row in rows if row[0] == kind)[2] = 1

        change_table(segment_of(table), compress)
        assert "a compressed section of kind" in planned(table).reason
        shutil.rmtree(folder_of(table))


def test_two_sections_of_one_kind_and_id(table: Table) -> None:
    write_index(table)
    change_table(segment_of(table), lambda rows: rows.append(rows[0]))
    size = segment_of(table).stat().st_size
    ref = decode_version(version_of(table).read_bytes()).segments[0]
    changed = segment_of(table).read_bytes()
    write_index(table, segments=[(ref.name, size, 4)])
    segment_of(table).write_bytes(changed)
    assert "two sections of kind" in planned(table).reason


def shapes(data: bytes, splits: int, changes: dict[int, tuple[int, int, int]]) -> bytes:
    """The meta section with another total of split offsets and other shapes of some slots."""
    start = 16 + 1 + len(text("PARQUET"))
    data = data[:start] + struct.pack("<I", splits) + data[start + 4 :]
    for slot, shape in changes.items():
        at = start + 4 + 10 * (slot - 1)
        data = data[:at] + struct.pack("<BBq", *shape) + data[at + 10 :]
    return data


def test_split_offsets_that_no_bytes_bound(table: Table) -> None:
    """Files share a list where all offsets are alike."""

    def change(data: bytes) -> bytes:
        return shapes(data, 4 * 65536, {9: (0, 0, 65536), 10: (0, 0, 10**12)})

    write_index(table, Options(change_section=lambda kind, item, data: change(data) if kind == 1 else data))
    found = planned(table)
    assert found.is_from_index
    assert len({id(task.file.split_offsets) for task in found.tasks}) == 1


def test_rows_that_are_not_live_take_no_memory(table: Table) -> None:
    """The split offsets of two million rows of a manifest that is not live."""
    dead = 2 << 20
    blocks = -(-(4 + dead) // 256)

    def change(kind: int, item: int, data: bytes) -> bytes:
        if kind == 1:
            flat = {2: (0, 0, 500), 3: (0, 0, 1), 4: (0, 0, 0), 5: (0, 0, 1), 6: (0, 0, 1), 8: (1, 0, 0)}
            return struct.pack("<I", 4 + dead) + shapes(data, 0, flat | {1: (0, 0, 0), 9: (0, 1, 0), 10: (0, 0, 0)})[4:]
        if kind == 2:
            return varint(5) + data[1:] + text("x") + bytes(8 + 4 + 4 + 8 + 8 + 8) + varint(dead)
        if kind == 4:
            return bytes(4 + dead) if item == 9 else b""
        if kind == 5:
            return data * blocks
        return data + bytes(max(0, 8 * blocks - len(data))) if kind == 6 else data

    write_index(table, Options(columns=set(), change_section=change))
    ref = decode_version(version_of(table).read_bytes()).segments[0]
    write_index(table, Options(columns=set(), change_section=change), segments=[(ref.name, ref.size, 4)], data_files=4)
    tracemalloc.start()
    found = plan(table.scan())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.tasks) == 4, found.reason
    assert found.is_from_index
    assert peak < 16 << 20, f"{peak} bytes"


def test_compressed_sections_that_promise_too_much(table: Table) -> None:
    """A section that states more raw bytes than its frame has, or than 256 for each byte."""
    write_index(table, Options(compressed=True))
    path = segment_of(table)
    data = bytearray(path.read_bytes())
    length = struct.unpack("<I", data[-16:-12])[0]
    start = len(data) - 16 - length
    for row in range(start, start + length, 36):
        data[row + 24 : row + 32] = struct.pack("<q", 2**31 - 1) if data[row + 2] else data[row + 24 : row + 32]
    data[-12:-8] = struct.pack("<I", crc(bytes(data[start:-16])))
    path.write_bytes(data)
    assert planned(table).fallback is Fallback.DAMAGED


def test_symbolic_links_out_of_the_index(table: Table, tmp_path: Path) -> None:
    write_index(table)
    path = segment_of(table)
    moved = tmp_path / "elsewhere.zm"
    shutil.move(path, moved)
    path.symlink_to(moved)
    found = planned(table)
    assert found.fallback is Fallback.DAMAGED
    assert "symbolic link" in found.reason
    # The folder itself may be a link.
    path.unlink()
    shutil.move(moved, path)
    folder = folder_of(table)
    shutil.move(folder, tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    assert planned(table).is_from_index


@pytest.mark.parametrize("form", ["relative/{}", "FILE://{}/upper", "file:{}/one", "file://{}/a%41b"])
def test_symbolic_links_of_any_local_location(
    form: str, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parent = form.format(tmp_path if "{}/" in form else "x")
    inside, folder = tmp_path / parent.rpartition("/")[2], folder_of(table)
    write_index(table)
    if parent.startswith("relative"):
        inside = tmp_path / parent
    inside.mkdir(parents=True)
    shutil.move(folder, inside / folder.name)
    assert plan(table.scan(row_filter=FILTER), location=parent).is_from_index
    path = next((inside / folder.name / "segments" / "day").glob("*.zm"))
    shutil.move(path, tmp_path / "elsewhere.zm")
    path.symlink_to(tmp_path / "elsewhere.zm")
    found = plan(table.scan(row_filter=FILTER), location=parent)
    assert found.fallback is Fallback.DAMAGED
    assert "symbolic link" in found.reason


@pytest.mark.parametrize("file_of", [segment_of, version_of])
@pytest.mark.parametrize("create", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_not_opened(
    table: Table, file_of: Callable[[Table], Path], create: Callable[[Path], None]
) -> None:
    write_index(table)
    path = file_of(table)
    path.unlink()
    create(path)
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(planned(table)))
    reader.start()
    reader.join(10)
    if reader.is_alive():
        # A reader that has opened the pipe waits for its writer.
        os.close(os.open(path, os.O_WRONLY))
        reader.join()
        pytest.fail("the plan waits for a named pipe")
    assert "is no regular file" in found[0].reason


def test_an_index_that_cannot_be_read(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    write_index(table)

    def refuse(*_: object) -> None:
        raise PermissionError("no access")

    monkeypatch.setattr("zonemap.pyiceberg.store.Store.open", refuse)
    found = planned(table)
    assert (found.fallback, found.detail) == (Fallback.UNREADABLE, "PermissionError: no access")


def test_the_reason_is_logged(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="zonemap.pyiceberg"):
        planned(table)
        write_index(table, snapshot_id=7)
        planned(table)
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "NO_VERSION: the index has no version of the snapshot" in caplog.messages[0]
    assert "DAMAGED: the index is damaged, or is not of this snapshot" in caplog.messages[1]


def test_a_large_segment_is_read_in_parts(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the sections of the filter's columns are read."""
    write_index(table, Options(detail=0))
    from zonemap.pyiceberg.container import Container

    read: list[tuple[int, int]] = []
    section = Container.section

    def noted(self: Container, kind: Any, item: int = 0) -> bytes:
        read.append((int(kind), item))
        return section(self, kind, item)

    monkeypatch.setattr(Container, "section", noted)
    found = plan(table.scan(row_filter="id = 25"))
    assert (found.is_from_index, len(found.tasks)) == (True, 1)
    assert {item for kind, item in read if kind in {7, 8, 9, 10}} == {1}
    assert len(read) == len(set(read))
    read.clear()
    assert plan(table.scan(row_filter="id = 2500")).tasks == []
    assert not [kind for kind, _ in read if kind in {3, 4, 8, 9}]
