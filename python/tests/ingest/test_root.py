# SPDX-License-Identifier: Apache-2.0
"""Where the spool of a table is: beside its folder, in it, or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.table.update import SetLocationUpdate

from ingest.support import NAME, local, rows, spool_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import Writer, keys

INSIDE = "_zonemap_ingest"
PROPERTY = "zonemap.ingest.root"


def spool_in(table: Table, name: str = INSIDE) -> Path:
    return local(table.location()) / name / str(table.metadata.table_uuid)


def with_property(table: Table, root: str) -> None:
    with table.catalog.load_table(table.name()).transaction() as change:
        change.set_properties({PROPERTY: root})


@pytest.mark.parametrize("name", [INSIDE, "_q", "_queue.of-7"])
def test_a_name_is_a_folder_in_the_folder_of_each_table(catalog: SqlCatalog, events: Table, name: str) -> None:
    with Writer(NAME, catalog=catalog, root=name) as writer:
        receipt = writer.write(rows(1))
    assert local(receipt.record).is_relative_to(spool_in(events, name))
    assert not spool_of(events).exists()


def test_the_property_names_the_root_of_all_writers(catalog: SqlCatalog, events: Table, tmp_path: Path) -> None:
    with_property(events, INSIDE)
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        assert local(writer.write(rows(1)).record).is_relative_to(spool_in(events))
    with Writer(NAME, catalog=catalog, lane="b", root=f"{INSIDE}/") as writer:
        assert local(writer.write(rows(2)).record).is_relative_to(spool_in(events))
    with pytest.raises(InvalidArgumentError, match=f"the property '{PROPERTY}' of '{NAME}' is '{INSIDE}'"):
        Writer(NAME, catalog=catalog, root=tmp_path / "own")


def test_a_property_with_a_whole_path(catalog: SqlCatalog, events: Table, tmp_path: Path) -> None:
    with_property(events, str(tmp_path / "spools"))
    with Writer(NAME, catalog=catalog) as writer:
        assert local(writer.write(rows(1)).record).is_relative_to(tmp_path / "spools")


@pytest.mark.parametrize("root", ["spool", "_a/b", "_", "..", "_zonemap_ingest/.."])
def test_other_relative_roots_are_refused(catalog: SqlCatalog, events: Table, root: str) -> None:
    with pytest.raises(InvalidArgumentError, match="not absolute"):
        Writer(NAME, catalog=catalog, root=root)
    with_property(events, root)
    with pytest.raises(InvalidArgumentError, match=f"the property {PROPERTY} '{root}' of '{NAME}': it is not absolute"):
        Writer(NAME, catalog=catalog)


@pytest.mark.parametrize("folder", ["data/_q", "spool", INSIDE])
def test_whole_paths_in_the_folder_of_the_table_are_refused(catalog: SqlCatalog, events: Table, folder: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"lies in the table's folder.*give '{INSIDE}'"):
        Writer(NAME, catalog=catalog, root=f"{events.location()}/{folder}")


@pytest.mark.parametrize(("first", "second"), [(None, INSIDE), (INSIDE, None)])
def test_a_second_spool_is_not_begun(catalog: SqlCatalog, events: Table, first: str | None, second: str | None) -> None:
    with Writer(NAME, catalog=catalog, root=first) as writer:
        receipt = writer.write(rows(1))
    base = INSIDE if first else str(spool_of(events).parent)
    with pytest.raises(
        ZonemapError, match=rf"its spool is in .*Set the property '{PROPERTY}' .* to '(file://)?{base}'"
    ):
        Writer(NAME, catalog=catalog, root=second)
    assert local(receipt.record).exists()
    assert not (spool_of(events) if first else spool_in(events)).exists()


def test_a_chosen_folder_is_used_beside_a_spool_of_another_table(catalog: SqlCatalog, events: Table) -> None:
    """As a copy by register_table needs it, which has the folder and the UUID of the original."""
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    with Writer(NAME, catalog=catalog, root="_of_the_copy") as writer:
        assert local(writer.write(rows(2)).record).is_relative_to(spool_in(events, "_of_the_copy"))


def test_a_moved_table_does_not_get_a_second_spool_in_its_folder(
    catalog: SqlCatalog, make: Callable[..., Table], tmp_path: Path
) -> None:
    table = make()
    with_property(table, INSIDE)
    with Writer(NAME, catalog=catalog) as writer:
        writer.write(rows(1))
    former = spool_in(table).parent
    with catalog.load_table(table.name()).transaction() as change:
        change._apply((SetLocationUpdate(location=f"file://{tmp_path}/new"),))
    with pytest.raises(ZonemapError, match=f"the table was moved .*to 'file://{former}'"):
        Writer(NAME, catalog=catalog)
    with_property(table, f"file://{former}")
    with Writer(NAME, catalog=catalog) as writer:
        assert local(writer.write(rows(2)).record).is_relative_to(former)


def test_a_writer_stops_when_its_table_gets_another_root(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a", refresh_seconds=1e-9) as writer:
        writer.write(rows(1))
        with_property(events, INSIDE)
        with pytest.raises(ZonemapError, match=r"names the spool .* now.*Open a new writer"):
            writer.write(rows(2))


@pytest.mark.parametrize(
    ("properties", "seconds"),
    [
        ({}, None),
        ({"s3.access-key-id": "a"}, None),
        ({"s3.session-token": "t"}, 300),
        ({"s3.session-token": "t", "s3.session-token-expires-at-ms": 3600}, 3300),
        ({"s3.session-token": "t", "s3.session-token-expires-at-ms": 60}, 30),
        ({"s3.session-token": "t", "s3.session-token-expires-at-ms": -60}, 300),
        ({"s3.session-token": "t", "s3.session-token-expires-at-ms": "soon"}, 300),
        ({"adls.sas-token.a": "t", "adls.sas-token-expires-at-ms.a": 1000}, 700),
        ({"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": 900}, 600),
        ({"s3.session-token-expires-at-ms": 3600, "gcs.oauth2.token-expires-at": 400}, 200),
    ],
)
def test_the_time_for_which_keys_are_used(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str | int], seconds: float | None
) -> None:
    now = 1_800_000_000
    monkeypatch.setattr(keys.time, "time", lambda: float(now))
    given = {key: str((now + value) * 1000) if isinstance(value, int) else value for key, value in properties.items()}
    assert keys.seconds_of_use(SimpleNamespace(properties=given)) == seconds  # type: ignore[arg-type]
