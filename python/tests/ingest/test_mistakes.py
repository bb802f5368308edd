# SPDX-License-Identifier: Apache-2.0
"""Mistakes of a producer and failures of its libraries: each is one sentence of this package, not a raw error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from ingest.support import NAME, local, rows, spool_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.ingest import Writer


def refused(call: Callable[[], Any], match: str) -> str:
    """The message, which is one line and ends as a sentence."""
    with pytest.raises(ZonemapError, match=match) as found:
        call()
    message = str(found.value)
    assert message.startswith("Cannot ")
    assert message.endswith(".")
    assert "\n" not in message
    return message


def change(table: Table, **changes: Any) -> None:
    """Changes the metadata file of a table in place, as PyIceberg cannot."""
    path = local(table.metadata_location)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("catalog", "match"),
    [
        (None, "open the catalog 'lake': URI missing"),
        ("other", "open the catalog 'other': URI missing"),
        ({"type": "weird"}, "open the catalog 'lake': 'weird' is not a valid CatalogType"),
        ({"type": "sql", "uri": "sqlite:////missing/x.db"}, "open the catalog 'lake': .*unable to open database file"),
        ({"type": "rest", "uri": "http://127.0.0.1:9"}, "open the catalog 'lake': .*Connection refused"),
    ],
)
def test_a_catalog_that_cannot_be_opened(catalog: Any, match: str) -> None:
    refused(lambda: Writer(NAME, catalog=catalog), match)


def test_secrets_of_a_catalog_stay_out_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **properties: str) -> None:
        raise ValueError(f"Could not initialize catalog with the following properties: {properties}")

    monkeypatch.setattr("zonemap.ingest.target.load_catalog", fails)
    assert "hunter2" not in refused(lambda: Writer(NAME, catalog={"credential": "hunter2"}), "neither its type")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"application": 5}, "application=5: give a text"),
        ({"back_pressure": 5}, r"back_pressure=5: give a zonemap\.ingest\.BackPressure"),
        ({"root": "nowhere://bucket/x"}, "Unrecognized filesystem type in URI: nowhere"),
        ({"root": "/proc/x"}, "Cannot use the spool '/proc/x/"),
    ],
)
def test_arguments_that_cannot_be_used(
    catalog: SqlCatalog, events: Table, arguments: dict[str, Any], match: str
) -> None:
    refused(lambda: Writer(NAME, catalog=catalog, **arguments), match)


@pytest.mark.parametrize("text", ["garbage", "{}", None])
def test_metadata_that_cannot_be_read(catalog: SqlCatalog, events: Table, text: str | None) -> None:
    path = local(events.metadata_location)
    path.unlink() if text is None else path.write_text(text)
    refused(lambda: Writer(NAME, catalog=catalog), f"'{NAME}'")


def test_a_column_type_that_pyiceberg_does_not_know(catalog: SqlCatalog, events: Table) -> None:
    schema = json.loads(local(events.metadata_location).read_text())["schemas"][0]
    schema["fields"].append({"id": 9, "name": "v", "required": False, "type": "variant"})
    change(events, **{"format-version": 3, "next-row-id": 0, "schemas": [schema]})
    found = refused(lambda: Writer(NAME, catalog=catalog), "PyIceberg cannot read its metadata")
    assert found == (
        f"Cannot write to '{NAME}': PyIceberg cannot read its metadata (Unsupported field type: 'variant'). Write with "
        "Spark."
    )


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("write.parquet.row-group-limit", "0", "Row group size cannot be 0"),
        ("write.parquet.compression-level", "much", "Could not parse table property write.parquet.compression-level"),
        ("write.data.path", "nowhere://bucket", "Unrecognized filesystem type in URI: nowhere"),
        ("write.py-location-provider.impl", "a.b.C", "Could not initialize LocationProvider: a.b.C"),
        ("write.object-storage.enabled", "maybe", "write.object-storage.enabled to a boolean: maybe"),
    ],
)
def test_table_properties_that_cannot_be_used(
    catalog: SqlCatalog, events: Table, capfd: pytest.CaptureFixture[str], key: str, value: str, match: str
) -> None:
    change(events, properties={key: value})
    with Writer(NAME, catalog=catalog) as writer:
        refused(lambda: writer.write(rows(1)), match)
    assert "Traceback" not in capfd.readouterr().err
    assert list(spool_of(events).glob("pending/*/*")) == []


def test_a_spool_that_is_replaced_by_a_file(catalog: SqlCatalog, events: Table) -> None:
    with Writer(NAME, catalog=catalog, lane="a") as writer:
        receipt = writer.write(rows(1))
        shutil.rmtree(spool_of(events))
        spool_of(events).touch()
        calls = (lambda: writer.write(rows(1), seq=0), lambda: Writer(NAME, catalog=catalog, lane="b"), receipt.outcome)
        for call in calls:
            refused(call, f"use the spool '{re.escape(writer._spool.location)}': .*Not a directory")


@pytest.mark.parametrize("error", [OSError, RuntimeError, pa.ArrowInvalid])
def test_errors_of_the_rows_themselves_are_the_producers(
    catalog: SqlCatalog, events: Table, error: type[Exception]
) -> None:
    def batches() -> Any:
        yield from rows(1).to_batches()
        raise error("of the producer")

    with Writer(NAME, catalog=catalog) as writer, pytest.raises(error, match="of the producer") as found:
        writer.write(batches())
    assert not isinstance(found.value, ZonemapError)


def test_files_that_cannot_be_added(catalog: SqlCatalog, events: Table, tmp_path: Path) -> None:
    mapping = [{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["kind"]}]
    properties = {"schema.name-mapping.default": json.dumps(mapping)}
    change(events, properties=properties, **{"format-version": 3, "next-row-id": 0})
    required = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("kind", pa.null())])
    pq.write_table(pa.table({"id": [1], "kind": [None]}, schema=required), tmp_path / "nulls.parquet")
    with Writer(NAME, catalog=catalog) as writer:
        for location, match in (
            (str(tmp_path / "nulls.parquet"), "column 'kind' has no type but nulls"),
            ("nowhere://bucket/x.parquet", "Unrecognized filesystem type in URI: nowhere"),
            ("", "its location is not absolute"),
        ):
            refused(lambda location=location: writer.add_files([location]), match)
        with pytest.raises(InvalidArgumentError):
            writer.add_files(5)  # type: ignore[arg-type]
