# SPDX-License-Identifier: Apache-2.0
"""Iceberg's REST catalog server as a process, and the keys that a catalog vends with its tables."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from support import session
from support.s3 import TemporaryKeys

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


@contextmanager
def rest_server(
    folder: Path, warehouse: str, properties: Mapping[str, str] | None = None, more_jars: Sequence[str] = ()
) -> Iterator[str]:
    """Runs Iceberg's REST catalog over a JDBC catalog in `folder`, on the loopback; yields its URL.

    `properties` are further properties of the JDBC catalog, such as those of its FileIO.
    """
    properties = properties or {}
    folder.mkdir()
    paths = [session.JARS / name for name in (*REST_JARS, *more_jars)]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"Cannot start the REST catalog without {missing}. Run 'make jars'."
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else "java"
    class_path = os.pathsep.join([*map(str, paths), str(Path(pyspark.__file__).parent / "jars" / "*")])
    command = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", class_path]
    command += [
        str(Path(__file__).with_name("RestServer.java")),
        f"jdbc:sqlite:{folder / 'rest.db'}",
        warehouse,
        *(f"{key}={value}" for key, value in properties.items()),
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


class Vending:
    """Adds a key for the table's folder to each answer that loads a table, as Polaris, Lakekeeper and Unity do."""

    def __init__(self, keys: TemporaryKeys) -> None:
        self._keys = keys
        #: The time at which new keys say that they expire, in milliseconds since 1970; None: they do not say it.
        self.expires_at_ms: int | None = None
        #: Whether keys are given as storage credentials, and not as properties of the table's FileIO.
        self.as_credentials = False

    def __call__(self, content: bytes) -> bytes:
        try:
            body = json.loads(content)
        except ValueError:
            return content
        if not isinstance(body, dict) or "metadata-location" not in body:
            return content
        config = {
            "s3.access-key-id": self._keys.issue(body["metadata"]["location"]),
            "s3.secret-access-key": "secret",
            "s3.session-token": "token",
        }
        if self.expires_at_ms is not None:
            config["s3.session-token-expires-at-ms"] = str(self.expires_at_ms)
        if self.as_credentials:
            body["storage-credentials"] = [{"prefix": body["metadata"]["location"], "config": config}]
        else:
            body["config"] = {**body.get("config", {}), **config}
        return json.dumps(body).encode()
