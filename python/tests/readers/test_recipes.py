# SPDX-License-Identifier: Apache-2.0
"""Runs the page about readers without Spark: every block of Python on it, in order, on one table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import ROOT
from pyiceberg.catalog import load_catalog

from readers.writer import write_index
from zonemap.pyiceberg import Fallback

PAGE = ROOT / "docs" / "guide" / "readers.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _region(number: int) -> str:
    return "eu" if number % 3 == 0 else "us"


def _rows(ids: range) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "region": [_region(number) for number in ids]})


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The catalog that the page loads, with a table of ids from 0 to 399 in 20 files and its index."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", type(load_catalog.__globals__["_ENV_CONFIG"])())
    catalog = load_catalog("lake")
    catalog.create_namespace("db")
    table = catalog.create_table("db.events", _rows(range(1)).schema)
    for first in range(0, 400, 20):
        table.append(_rows(range(first, first + 20)))
    write_index(table)
    yield catalog
    catalog.close()


def test_every_block_of_the_page(lake: Any, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "True 1 of 20 \n"
    ids = list(range(120, 140))
    assert names["rows"]["id"].to_pylist() == ids
    assert names["frame"]["region"].tolist() == [_region(i) for i in ids]
    assert names["in_duckdb"] == [(20,)]
    assert names["in_polars"]["id"].to_list() == ids[::3]
    assert sorted(names["by_duckdb"]) == [(i, _region(i)) for i in ids]
    assert names["by_polars"]["id"].to_list() == ids
    names["table"].catalog.close()


def test_every_reason_is_on_the_page() -> None:
    codes = re.findall(r"^\| ([A-Z_]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert codes == [code for code in codes if code in Fallback.__members__]
    assert set(codes) == set(Fallback.__members__)
