# SPDX-License-Identifier: Apache-2.0
"""A session whose catalog `s3` keeps its tables in the S3 server of this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import session
from support.s3 import KEY, REGION, Store


@pytest.fixture(scope="session")
def store(base) -> Iterator[Store]:
    server = Store()
    yield server
    session.stop()  # the session sends requests to the server until it has stopped
    server.close()


@pytest.fixture(scope="session")
def s3_confs(base, store: Store) -> dict[str, str]:
    jars = (session.iceberg_jar(), session.jar("iceberg-aws-bundle"), session.jar("sqlite-jdbc"))
    return {
        "spark.jars": ",".join(jars),
        "spark.sql.catalog.s3": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.s3.type": "jdbc",
        "spark.sql.catalog.s3.uri": f"jdbc:sqlite:{base / 's3.db'}",
        "spark.sql.catalog.s3.jdbc.schema-version": "V1",
        "spark.sql.catalog.s3.warehouse": "s3://lake/warehouse",
        "spark.sql.catalog.s3.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.s3.s3.endpoint": store.url,
        "spark.sql.catalog.s3.s3.path-style-access": "true",
        "spark.sql.catalog.s3.s3.access-key-id": KEY,
        "spark.sql.catalog.s3.s3.secret-access-key": KEY,
        "spark.sql.catalog.s3.client.region": REGION,
        "spark.sql.catalog.s3.s3.retry.num-retries": "0",
    }


@pytest.fixture(scope="session")
def on_s3(s3_confs: dict[str, str]):
    """Starts the session; `session.restart(s3_confs, ingest=True)` starts one with an empty memory."""
    session.stop()
    session.start(s3_confs, ingest=True).sql("CREATE NAMESPACE IF NOT EXISTS s3.db")
    return session.get


@pytest.fixture
def spark(on_s3):
    return on_s3()
