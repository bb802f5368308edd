# SPDX-License-Identifier: Apache-2.0
"""A table that `register_table` has copied shares the spool of the original, and does not write to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ingest.support import commit, rows, spool_of
from zonemap.common.errors import ZonemapError
from zonemap.ingest import Writer, wire


def _mark(events: Table, number: int) -> Path:
    return spool_of(events) / "owner" / f"{number:020d}.json"


def _body(name: str) -> dict[str, object]:
    return {"format": 1, "entries": [{"name": name, "catalog": "0123456789abcdef"}], "pointers": {}}


def test_the_first_writer_marks_the_spool(catalog: SqlCatalog, events: Table) -> None:
    Writer("lake.db.events", catalog=catalog).close()
    assert wire.unframe(_mark(events, 1).read_bytes()) == {
        "format": 1,
        "entries": [{"name": "db.events", "catalog": None}],
        "pointers": {},
    }
    Writer("lake.db.events", catalog=catalog).close()
    assert len(list(_mark(events, 1).parent.iterdir())) == 1


def test_a_writer_of_a_copy_is_refused(catalog: SqlCatalog, events: Table, tmp_path: Path) -> None:
    with Writer("lake.db.events", catalog=catalog) as writer:
        writer.write(rows(1))
    catalog.register_table("db.copied", events.metadata_location)
    with pytest.raises(ZonemapError, match=r"belongs to the table 'db.events'.*another root=.*take_over => true"):
        Writer("lake.db.copied", catalog=catalog)
    with Writer("lake.db.copied", catalog=catalog, root=tmp_path / "own") as writer:
        writer.write(rows(1))


def test_a_writer_of_a_copy_of_the_same_name_is_refused_after_a_commit(
    catalog: SqlCatalog, events: Table, tmp_path: Path
) -> None:
    other = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/other.db", warehouse=f"file://{tmp_path}/warehouse")
    other.create_namespace("db")
    other.register_table("db.events", events.metadata_location)
    with Writer("lake.db.events", catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
        before = catalog.load_table("db.events").metadata_location
        commit(events, {"a": 0})
    pointer = catalog.load_table("db.events").properties["zonemap.ingest.pointer.main"]
    body = {**_body("db.events"), "pointers": {"main": pointer}}
    _mark(events, 2).write_bytes(wire.frame(body))
    Writer("lake.db.events", catalog=catalog, lane="a").close()
    with pytest.raises(ZonemapError, match=r"has the commit 'v1.*which the table does not have"):
        Writer("lake.db.events", catalog=other)
    other.close()
    assert before != catalog.load_table("db.events").metadata_location


def test_a_mark_may_be_older_than_the_table(catalog: SqlCatalog, events: Table) -> None:
    with Writer("lake.db.events", catalog=catalog, lane="a") as writer:
        writer.write(rows(1))
    commit(events, {"a": 0})
    first = catalog.load_table("db.events").properties["zonemap.ingest.pointer.main"]
    _mark(events, 2).write_bytes(wire.frame({**_body("db.events"), "pointers": {"main": first}}))
    commit(events, {"a": 0})
    commit(events, {"a": 0})
    Writer("lake.db.events", catalog=catalog, lane="a").close()


def test_names_differ_in_case_only(catalog: SqlCatalog, events: Table) -> None:
    _mark(events, 5).parent.mkdir(parents=True)
    _mark(events, 5).write_bytes(wire.frame(_body("db.events")))
    catalog.rename_table("db.events", "db.Events")
    Writer("lake.db.Events", catalog=catalog).close()


def test_a_torn_mark_is_ignored_and_several_stop(catalog: SqlCatalog, events: Table) -> None:
    _mark(events, 1).parent.mkdir(parents=True)
    _mark(events, 1).write_bytes(wire.frame(_body("db.events")))
    _mark(events, 2).write_bytes(b"zonemap")
    Writer("lake.db.events", catalog=catalog).close()
    _mark(events, 1).unlink()
    with pytest.raises(ZonemapError, match="cannot be read"):
        Writer("lake.db.events", catalog=catalog)


def test_a_spool_that_has_states_is_left_to_its_committer(catalog: SqlCatalog, events: Table) -> None:
    folder = spool_of(events) / "state"
    folder.mkdir(parents=True)
    (folder / f"{1:020d}-0123456789abcdef.json").write_bytes(wire.frame({"branch": "main", "prev-pointer": None}))
    Writer("lake.db.events", catalog=catalog).close()
    assert not _mark(events, 1).parent.exists()
