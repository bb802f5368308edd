# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table


@contextmanager
def tables(folder: Path) -> Iterator[Callable[..., Table]]:
    """A function that creates a table with one file for each Arrow table."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("db")

    def create(files: list[pa.Table], schema: pa.Schema | None = None, **properties: str) -> Table:
        keys: dict[str, Any] = {key.replace("__", "."): value for key, value in properties.items()}
        name = f"db.t{len(catalog.list_tables('db'))}"
        table = catalog.create_table(name, schema or files[0].schema, properties=keys)
        for file in files:
            table.append(file)
        return table

    yield create
    catalog.close()


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Table]]:
    with tables(tmp_path_factory.mktemp("lake")) as create:
        yield create


@pytest.fixture(scope="module")
def eight(make: Callable[..., Table]) -> Table:
    return make([numbered(range(first, first + 10)) for first in range(0, 80, 10)])


@pytest.fixture
def ranges(eight: Table) -> Table:
    """Eight files; ids ascend by file. A test overwrites the index and changes nothing else."""
    return eight


def numbered(ids: range) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": [f"name-{i:04d}" for i in ids],
            "reading": pa.array([i / 4 for i in ids], pa.float64()),
        }
    )
