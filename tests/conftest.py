# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import product, session


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the warehouse, which all JVMs of this run share."""
    folder = tmp_path_factory.mktemp("zonemap")
    session.use_directory(folder)
    yield folder
    session.stop()


@pytest.fixture
def spark(base: Path):
    """The running session; after a test that restarts the JVM, this is the new session."""
    return session.get()


@pytest.fixture
def without_rows_of_small_tables(spark):
    """For tests of keys at run time: rows of the small side would prune the same files while the query is planned."""
    with product.raw_conf(spark, {"spark.sql.zonemap.join.smallTables.enabled": "false"}):
        yield


def pytest_report_header() -> list[str]:
    mode = "stock Iceberg only (ZONEMAP_TEST_STOCK=1): the product is NOT tested" if session.STOCK else "product"
    return [f"zonemap tests: {mode}, Iceberg {session.ICEBERG}, jars in {session.JARS}"]
