# SPDX-License-Identifier: Apache-2.0
"""The oracle of the soak finds each kind of violation, in tables that PyIceberg writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from ingest.soak import rows
from ingest.soak.journal import Journal
from ingest.soak.oracle import Oracle
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

LANE = "numbered-0"
WHOLE = [rows.of(LANE, k) for k in range(4)]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    found = SqlCatalog("lake", uri=f"sqlite:///{tmp_path / 'lake.db'}", warehouse=f"file:{tmp_path}")
    found.create_namespace("db")
    yield found
    found.close()


def violations(catalog: SqlCatalog, table: Table, accepted: list[int], intended: int = 4) -> list[str]:
    oracle = Oracle(catalog, "lake.db.t")
    return oracle.violations({LANE: Journal(set(range(intended)), {k: [] for k in accepted})})


def table_of(catalog: SqlCatalog, *appends: pa.Table) -> Table:
    table = catalog.create_table("db.t", rows.of(LANE, 0).schema)
    for append in appends:
        table.append(append)
    return table


@pytest.mark.parametrize(
    ("appends", "accepted", "found"),
    [
        (WHOLE, [0, 1, 2, 3], []),
        (WHOLE, [0, 1], []),
        (WHOLE[:2], [0, 1], []),
        (WHOLE[:3], [0, 1, 2, 3], ["accepted and lost: [3]"]),
        ([WHOLE[0], WHOLE[2], WHOLE[1]], [0, 1, 2], ["has no prefix"]),
        ([WHOLE[0], WHOLE[1], WHOLE[1]], [0, 1], ["append 1 of numbered-0 has the rows"] * 2),
        ([WHOLE[0], rows.of(LANE, 1).slice(1)], [0, 1], ["append 1 of numbered-0 has the rows"] * 2),
        ([*WHOLE, rows.of(LANE, 4)], [0], ["never begun: [4]"]),
        ([WHOLE[0], rows.of("another", 0)], [0], ["lane another has no writer"]),
    ],
)
def test_rows(catalog: SqlCatalog, appends: list[pa.Table], accepted: list[int], found: list[str]) -> None:
    seen = violations(catalog, table_of(catalog, *appends), accepted)
    assert len(seen) == len(found), seen
    assert all(text in violation for text, violation in zip(found, seen, strict=True)), seen


@pytest.mark.parametrize(
    ("fault", "found"), [("delete", "is missing"), ("cut", "has not"), ("twice", "is there twice")]
)
def test_files(catalog: SqlCatalog, fault: str, found: str) -> None:
    table = table_of(catalog, *WHOLE)
    path = Path(table.inspect.files()["file_path"][0].as_py().removeprefix("file:"))
    if fault == "delete":
        path.unlink()
    elif fault == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        table.add_files([str(path)], check_duplicate_files=False)
    assert any(found in violation for violation in violations(catalog, table, [0, 1, 2, 3]))
