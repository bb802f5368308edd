# SPDX-License-Identifier: Apache-2.0
"""One REST catalog, a session that fills it, and two servers before it: one asks the catalog, one its database."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ingest.lake import start_python
from support import session
from support.rest import rest_server

STARTUP_SECONDS = 90


class Server:
    """A running `zonemap serve`."""

    def __init__(self, url: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.url = url
        self.log = log
        self._process = process
        self.is_killed = False

    def kill(self) -> None:
        """Ends the process at once, as the system does when memory is short."""
        self.is_killed = True
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def send(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Returns the status and the bytes of an answer; a body that is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def counts(self) -> dict[str, float]:
        """Returns the values of /metrics by name and labels."""
        lines = self.send("GET", "/metrics")[1].decode().splitlines()
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


@contextmanager
def serving(folder: Path, name: str, arguments: list[str], port: int = 0, **environment: str) -> Iterator[Server]:
    """Runs `zonemap serve` at a free or given port until the block ends; the JVM takes the place of the command."""
    log = folder / f"{name}.log"
    confs = {"spark.driver.extraJavaOptions": session.JVM_FLAGS, **session.quick_files()}
    confs["spark.jars"] = session.jar("sqlite-jdbc")
    words = [part for key, value in confs.items() for part in ("--conf", f"{key}={value}")]
    command = ["zonemap", "serve", "--port", str(port), "--iceberg", session.iceberg_jar(), *words, *arguments]
    kept = {key: os.environ.get(key) for key in environment}
    os.environ.update(environment)
    try:
        process = start_python(command, log)
    finally:
        for key, value in kept.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})
    try:
        end = time.monotonic() + STARTUP_SECONDS
        while "serves plans at " not in log.read_text():
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(0.05)
        server = Server(log.read_text().partition("serves plans at ")[2].split()[0], log, process)
        yield server
        if not server.is_killed:
            process.send_signal(signal.SIGTERM)
            assert process.wait(40) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="session")
def rest_url(base: Path) -> Iterator[str]:
    """Iceberg's REST catalog; its database and its files are in the folder `rest`."""
    with rest_server(base / "rest", str(base / "rest" / "warehouse")) as url:
        yield url


@pytest.fixture(scope="session")
def spark(rest_url: str) -> Iterator[object]:
    """The session, whose catalog `lake` is the REST catalog."""
    confs = {"spark.sql.catalog.lake.type": "rest", "spark.sql.catalog.lake.uri": rest_url}
    session.stop()
    yield session.start(confs)
    session.stop()


@pytest.fixture(scope="session")
def of_rest(base: Path, rest_url: str) -> Iterator[Server]:
    """A server that asks the REST catalog."""
    arguments = ["--catalog-property", "type=rest", "--catalog-property", f"uri={rest_url}"]
    with serving(base, "of_rest", arguments) as server:
        yield server


@pytest.fixture(scope="session")
def of_jdbc(base: Path, rest_url: str) -> Iterator[Server]:
    """A server that reads the database of the same catalog."""
    properties = {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{base / 'rest' / 'rest.db'}",
        "jdbc.schema-version": "V1",
        "warehouse": str(base / "rest" / "warehouse"),
    }
    file = base / "jdbc.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    arguments = ["--catalog-file", str(file), "--catalog-name", "backend"]
    with serving(base, "of_jdbc", arguments, ZONEMAP_SERVE_TOKEN="secret-of-callers") as server:
        yield server
