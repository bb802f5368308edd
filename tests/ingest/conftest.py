# SPDX-License-Identifier: Apache-2.0
"""One session whose catalog `lake` is a JDBC catalog, which commits atomically and which PyIceberg can open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest import lake
from support import session


@pytest.fixture(scope="session")
def sqlite(base: Path) -> Path:
    """The database file of the catalog; PyIceberg uses the same file."""
    return base / "lake.db"


@pytest.fixture(scope="session")
def spark(base: Path, sqlite: Path) -> Iterator[object]:
    """The session; a task may fail twice."""
    session.stop()
    yield session.start(
        {
            "spark.master": "local[2, 3]",
            **lake.catalog_confs(sqlite, f"file:{base / 'ingest'}"),
            "spark.sql.zonemap.upkeep.followCommits.enabled": "true",
            "spark.sql.zonemap.upkeep.maxCpuShare": "1",
        },
        ingest=True,
    )
    session.stop()
