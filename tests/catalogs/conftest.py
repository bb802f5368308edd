"""One session with every kind of catalog, and the servers and files that these catalogs need."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from support import session

REST_JARS = (
    f"iceberg-core-{session.BUILT_AGAINST}.jar",
    f"iceberg-core-{session.BUILT_AGAINST}-tests.jar",
    f"iceberg-api-{session.BUILT_AGAINST}.jar",
    f"iceberg-common-{session.BUILT_AGAINST}.jar",
    f"iceberg-bundled-guava-{session.BUILT_AGAINST}.jar",
    "httpclient5-5.6.1.jar",
    "httpcore5-5.4.2.jar",
    "httpcore5-h2-5.4.2.jar",
    "caffeine-2.9.3.jar",
    "sqlite-jdbc-3.50.3.0.jar",
)
STARTUP_SECONDS = 90


@pytest.fixture(scope="session")
def rest_url(base: Path) -> Iterator[str]:
    """Runs Iceberg's REST catalog server as a separate process on the loopback interface."""
    folder = base / "rest"
    folder.mkdir()
    paths = [session.JARS / name for name in REST_JARS]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"Cannot start the REST catalog without {missing}. Run 'make jars'."
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else "java"
    class_path = os.pathsep.join([*map(str, paths), str(Path(pyspark.__file__).parent / "jars" / "*")])
    command = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", class_path]
    command += [
        str(Path(__file__).with_name("RestServer.java")),
        f"jdbc:sqlite:{folder / 'rest.db'}",
        str(folder / "warehouse"),
    ]
    with (folder / "stderr").open("w") as errors:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    timer = threading.Timer(STARTUP_SECONDS, server.kill)
    timer.start()
    try:
        port = server.stdout.readline().strip()
        timer.cancel()
        assert port, f"The REST catalog did not start:\n{(folder / 'stderr').read_text()[-3000:]}"
        yield f"http://127.0.0.1:{port}"
    finally:
        timer.cancel()
        server.stdin.close()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@pytest.fixture(scope="session")
def sqlite(base: Path) -> Path:
    """The database file of the JDBC catalog; PyIceberg uses the same file."""
    return base / "jdbc.db"


@pytest.fixture(scope="session")
def catalogs(base: Path, rest_url: str, sqlite: Path) -> Iterator[object]:
    """The session: hadoop `lake`, JDBC `jdbc`, `rest`, Hive `hive`, and Spark's own catalog with Iceberg support."""
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
    started = session.start(confs)
    yield started
    session.stop()
