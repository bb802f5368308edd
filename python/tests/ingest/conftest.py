# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder

from ingest.support import EVENTS


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    found = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    found.create_namespace("db")
    yield found
    found.close()


@pytest.fixture
def make(catalog: SqlCatalog) -> Callable[..., Table]:
    def create(
        schema: Schema = EVENTS,
        *,
        spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        order: SortOrder = UNSORTED_SORT_ORDER,
        name: str = "events",
        **properties: str,
    ) -> Table:
        keys = {key.replace("__", "."): value for key, value in properties.items()}
        return catalog.create_table(f"db.{name}", schema, partition_spec=spec, sort_order=order, properties=keys)

    return create


@pytest.fixture
def events(make: Callable[..., Table]) -> Table:
    return make()
