# SPDX-License-Identifier: Apache-2.0
"""Iceberg's REST catalog server as a process, and the keys that a catalog vends with its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support import session
from support.s3 import TemporaryKeys
from support.servers import java_server

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


@contextmanager
def rest_server(
    folder: Path, warehouse: str, properties: Mapping[str, str] | None = None, more_jars: Sequence[str] = ()
) -> Iterator[str]:
    """Runs Iceberg's REST catalog over a JDBC catalog in `folder`, on the loopback; yields its URL.

    `properties` are further properties of the JDBC catalog, such as those of its FileIO, and the `port`. A folder that
    another server has left keeps its tables.
    """
    properties = properties or {}
    arguments = [f"jdbc:sqlite:{folder / 'rest.db'}", warehouse]
    arguments += [f"{key}={value}" for key, value in properties.items()]
    with java_server(folder, "RestServer.java", (*REST_JARS, *more_jars), arguments) as port:
        yield f"http://127.0.0.1:{port}"


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
