# SPDX-License-Identifier: Apache-2.0
"""Folders and files of the queue that a committer removes while Python lists them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from demo_ingest import counting
from demo_ingest.lake import Lake
from ingest.support import NAME, record_paths, rows, spool_of
from zonemap.ingest import Writer, listing
from zonemap.ingest.spool import Spool
from zonemap.ingest.storage import LocalStorage

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def vanish(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Path], None]:
    """Removes a path as soon as the folder ``listed`` has been listed, before an entry of it is looked at."""

    def arm(listed: Path, path: Path) -> None:
        scandir = os.scandir

        class Listed:
            def __init__(self, folder: Any) -> None:
                with scandir(folder) as found:
                    self._entries = list(found)
                if Path(folder) == listed:
                    monkeypatch.undo()
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

            def __enter__(self) -> Any:
                return iter(self._entries)

            def __exit__(self, *_: object) -> None:
                pass

        monkeypatch.setattr(os, "scandir", Listed)

    return arm


@pytest.fixture
def spool(catalog: SqlCatalog, events: Table) -> Path:
    """A spool with one record in each of the lanes a and b."""
    for lane in ("a", "b"):
        with Writer(NAME, catalog=catalog, lane=lane) as writer:
            writer.write(rows(1))
    return spool_of(events)


def test_the_demo_counts_while_the_folder_of_a_lane_vanishes(
    tmp_path: Path, events: Table, spool: Path, vanish: Callable[[Path, Path], None]
) -> None:
    lake = Lake(tmp_path, "", "")
    assert counting.records(lake, events, "pending") == 2
    vanish(spool / "pending", spool / "pending" / "a")
    assert counting.records(lake, events, "pending") == 1
    shutil.rmtree(spool)
    assert counting.records(lake, events, "pending") == 0


def test_a_pattern_while_a_file_or_a_folder_vanishes(spool: Path, vanish: Callable[[Path, Path], None]) -> None:
    record = next(path for path in listing.matching(spool, "pending/*/*.rec") if path.parent.name == "b")
    assert listing.matching(spool, "*/b/*") == [record]
    assert listing.matching(spool, "queue-id.json/*") == listing.matching(spool / "none", "*") == []
    vanish(spool, spool / "pending")
    assert listing.matching(spool, "pending/*/*.rec") == []


@pytest.mark.parametrize("gone", ["a", "b"])
def test_the_spool_lists_what_is_left(
    events: Table, spool: Path, vanish: Callable[[Path, Path], None], gone: str
) -> None:
    (left,) = {"a", "b"} - {gone}
    vanish(spool / "pending", spool / "pending" / gone)
    found = Spool(str(spool_of(events)), LocalStorage()).backlog()
    assert {lane: count for lane, (count, _) in found.lanes.items()} == {gone: 0, left: 1}
    assert len(list(Spool(str(spool_of(events)), LocalStorage()).data_files())) == 1


def test_a_file_that_vanishes_is_left_out(events: Table, spool: Path, vanish: Callable[[Path, Path], None]) -> None:
    (record,) = (path for path in record_paths(events) if path.parent.name == "a")
    vanish(record.parent, record)
    assert list(listing.files(record.parent)) == Spool(str(spool_of(events)), LocalStorage()).lane("a") == []


def test_queues_are_listed_in_one_place() -> None:
    """Other listings of a queue, which other processes change, would raise when a folder vanishes."""
    listings = re.compile(r"(\.iterdir\(|\.r?glob\(|os\.(listdir|scandir|walk)\().*")
    places = ("python/zonemap/ingest", "examples/demo_ingest", "tests/ingest")
    found = {
        (path.relative_to(ROOT).as_posix(), match[0])
        for place in places
        for path in (ROOT / place).rglob("*.py")
        for match in listings.finditer(path.read_text())
    }
    # The files of the demo's own appends, and the log of a stream that has ended.
    own = {"examples/demo_ingest/direct.py", "examples/demo_ingest/journal.py", "tests/ingest/test_sink.py"}
    assert {path for path, _ in found} == {"python/zonemap/ingest/listing.py", *own}
