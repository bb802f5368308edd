# SPDX-License-Identifier: Apache-2.0
"""Each command of the ingest queue once, against a table with a writer that needs no JVM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from ingest import lake
from support import product, tables
from support.session import STOCK

from zonemap.commands import cli, sessions
from zonemap.ingest import Writer, wire

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def test_every_command(spark, sqlite: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tables.create(spark, "lake.ingest.commands", "id BIGINT")
    monkeypatch.setattr(sessions, "start", lambda *_, **__: spark)

    def run(command: str, *options: str, code: int = 0) -> Any:
        result = CliRunner().invoke(cli.cli, [f"ingest-{command}", name, *options, "--output", "json"])
        assert result.exit_code == code, (command, result.output, result.exception)
        return json.loads(result.output)

    catalog = lake.python_catalog(sqlite, f"file:{base / 'ingest'}")
    with Writer(name, catalog=catalog, lane="gateway") as writer:
        receipts = [writer.write(pa.table({"id": [number]})) for number in range(3)]
    assert [receipt.seq for receipt in receipts] == [1, 2, 3]
    refused = [receipts[1], receipts[2]]
    kept = [Path(receipt.files[0].removeprefix("file:")).resolve() for receipt in refused]
    sizes = [path.read_bytes() for path in kept]

    assert run("pause", "--reason", "a test")["paused"] == "a test"
    assert run("commit", code=1)[0]["outcome"] == "paused"
    assert run("wait", "--timeout", "0", code=1)[0]["state"] == "pending"
    assert run("resume")["was_paused"] is True
    # Old records of which a file is gone are refused.
    for path, receipt in zip(kept, refused, strict=True):
        path.unlink()
        record = Path(receipt.record.removeprefix("file:"))
        record.write_bytes(_existing(record.read_bytes()))
    assert run("commit")[0]["records"] == 1
    assert [(row["seq"], row["code"]) for row in run("quarantined")] == [(2, "missing-file"), (3, "missing-file")]
    for path, data in zip(kept, sizes, strict=True):
        path.write_bytes(data)
    assert len(run("requeue", "--lane", "gateway", "--seq", "2")) == 1
    assert [row["seq"] for row in run("discard", "--lane", "gateway", "--seq", "3")] == [3]
    assert run("quarantined") == []
    assert run("commit")[0]["records"] == 1
    assert run("wait", "--lane", "gateway", "--seq", "1")[0]["state"] == "visible"
    before = run("status")
    assert (before["committed_rows"], before["pending_records"], before["quarantined"]) == (2, 0, 0)
    assert run("reset", "--watermark", "gateway=3")["pointer"] != before["pointer"]
    assert any(row["path"].endswith(kept[1].name) for row in run("collect-garbage", "--older-than-hours", "0"))
    catalog.close()
    spark.sql(f"REFRESH TABLE {name}")
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) == [0, 1]


def _existing(data: bytes) -> bytes:
    """Returns a record whose files the committer looks at, as those of ``add_files``."""
    return wire.frame(wire.unframe(data) | {"existing": True})
