# SPDX-License-Identifier: Apache-2.0
"""One session with every kind of catalog, and the servers and files that these catalogs need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import session
from support.rest import rest_server
from support.servers import java_server

HDFS_JARS = ("hadoop-client-minicluster-3.4.2.jar", "mockito-core-4.11.0.jar")


@pytest.fixture(scope="session")
def rest_url(base: Path) -> Iterator[str]:
    """Runs Iceberg's REST catalog server as a separate process on the loopback interface."""
    folder = base / "rest"
    with rest_server(folder, str(folder / "warehouse")) as url:
        yield url


@pytest.fixture(scope="session")
def sqlite(base: Path) -> Path:
    """The database file of the JDBC catalog; PyIceberg uses the same file."""
    return base / "jdbc.db"


@pytest.fixture(scope="session")
def hdfs_url(base: Path) -> Iterator[str]:
    """Runs HDFS as a separate process on the loopback interface."""
    folder = base / "hdfs"
    with java_server(folder, "HdfsServer.java", HDFS_JARS, [str(folder / "nodes")]) as port:
        yield f"hdfs://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def catalogs(base: Path, rest_url: str, hdfs_url: str, sqlite: Path) -> Iterator[object]:
    """The session: hadoop `lake` and `hdfs`, JDBC `jdbc`, `rest`, Hive `hive`, and Spark's own with Iceberg support."""
    derby = base / "metastore"
    iceberg = "org.apache.iceberg.spark.SparkCatalog"
    confs = {
        "spark.jars": f"{session.iceberg_jar()},{session.jar('sqlite-jdbc')}",
        "spark.sql.catalog.jdbc": iceberg,
        "spark.sql.catalog.jdbc.type": "jdbc",
        "spark.sql.catalog.jdbc.uri": f"jdbc:sqlite:{sqlite}",
        "spark.sql.catalog.jdbc.jdbc.schema-version": "V1",
        "spark.sql.catalog.jdbc.warehouse": f"file:{base / 'jdbc'}",
        "spark.sql.catalog.rest": iceberg,
        "spark.sql.catalog.rest.type": "rest",
        "spark.sql.catalog.rest.uri": rest_url,
        "spark.sql.catalog.hdfs": iceberg,
        "spark.sql.catalog.hdfs.type": "hadoop",
        "spark.sql.catalog.hdfs.warehouse": f"{hdfs_url}/warehouse",
        "spark.sql.catalog.hive": iceberg,
        "spark.sql.catalog.hive.type": "hive",
        "spark.sql.catalog.hive.warehouse": str(base / "hive"),
        "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
        "spark.sql.catalog.spark_catalog.type": "hadoop",
        "spark.sql.catalog.spark_catalog.warehouse": str(base / "session"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={derby};create=true",
        # PySpark does not ship the jar of BoneCP, the default pool
        "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
        # Hive locks need the tables of Hive transactions, which this Derby database lacks; without locks, Iceberg
        # commits by compare-and-swap
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        "spark.hadoop.hive.metastore.warehouse.dir": str(base / "hive"),
    }
    session.stop()
    started = session.start(confs, ingest=True)
    yield started
    session.stop()
