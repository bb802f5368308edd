# SPDX-License-Identifier: Apache-2.0
"""The server and its catalog end and start again while clients plan: each answer is right, or an error."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlparse

import pytest
from support import product, tables
from support.rest import rest_server
from support.session import STOCK

from server.conftest import serving
from server.test_clients import path

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

CLIENTS = 8
FILES, ROWS = 24, 10
ANSWERS = 200
WAIT_SECONDS = 60
TABLE = "killed.served.ranges"


class Clients:
    """Threads that plan ranges of ids, one plan at a time each, and compare each plan with the files that hold them."""

    def __init__(self, url: str, files: dict[str, tuple[int, int]]) -> None:
        self._host = urlparse(url).netloc
        self._files = files
        self._stopped = threading.Event()
        self.answers = 0
        self.errors = 0
        self.wrong: list[str] = []

    @contextmanager
    def planning(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._plan_all, args=(random.Random(seed),)) for seed in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def _plan_all(self, rng: random.Random) -> None:
        while not self._stopped.is_set():
            low = rng.randrange(-5, FILES * ROWS + 5)
            high = low + rng.choice((0, 0, 3, 40, 1000))
            wanted = {name for name, (least, most) in self._files.items() if most >= low and least <= high}
            try:
                planned = self._plan(low, high)
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                self.errors += 1
                time.sleep(0.02)
                continue
            self.answers += 1
            if planned != wanted:
                self.wrong.append(f"{low} to {high}: {sorted(planned)}")

    def _plan(self, low: int, high: int) -> set[str]:
        within = [{"type": "gt-eq", "term": "id", "value": low}, {"type": "lt-eq", "term": "id", "value": high}]
        found = self._send("plan", {"filter": {"type": "and", "left": within[0], "right": within[1]}})
        files = found.get("file-scan-tasks", [])
        pages = list(found.get("plan-tasks", []))
        while pages:
            page = self._send("tasks", {"plan-task": pages.pop()})
            files += page.get("file-scan-tasks", [])
            pages += page.get("plan-tasks", [])
        return {task["data-file"]["file-path"] for task in files}

    def _send(self, what: str, body: dict[str, object]) -> dict[str, list]:
        connection = http.client.HTTPConnection(self._host, timeout=30)
        try:
            connection.request("POST", f"{path(TABLE)}/{what}", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise ValueError(f"{answer.status}: {text!r}")
            return json.loads(text)
        finally:
            connection.close()


def wait(what: str, until: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not until():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_each_answer_is_right_or_an_error(spark, base: Path) -> None:
    ports = {"catalog": free_port(), "server": free_port()}
    folder, warehouse = base / "killed", str(base / "killed" / "warehouse")

    def catalog():
        return rest_server(folder, warehouse, {"port": str(ports["catalog"])})

    def server():
        uri = f"uri=http://127.0.0.1:{ports['catalog']}"
        arguments = ["--catalog-property", "type=rest", "--catalog-property", uri]
        return serving(base, "killed_server", arguments, port=ports["server"])

    def more(count: Callable[[], int], wanted: int) -> Callable[[], bool]:
        before = count()
        return lambda: count() >= before + wanted

    with catalog():
        spark.conf.set("spark.sql.catalog.killed", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set("spark.sql.catalog.killed.type", "rest")
        spark.conf.set("spark.sql.catalog.killed.uri", f"http://127.0.0.1:{ports['catalog']}")
        tables.range_table(spark, TABLE, files=FILES, rows=ROWS)
        product.build(spark, TABLE)
        with product.off(spark):
            held = spark.sql(f"SELECT _file, min(id), max(id) FROM {TABLE} GROUP BY _file").collect()
        assert len(held) == FILES
    clients = Clients(f"http://127.0.0.1:{ports['server']}", {name: (least, most) for name, least, most in held})
    with clients.planning():
        with catalog():
            with server() as first:
                wait("no answers", more(lambda: clients.answers, ANSWERS))
                first.kill()
            wait("no errors without a server", more(lambda: clients.errors, CLIENTS))
            with server() as second:
                wait("no answers of the new server", more(lambda: clients.answers, ANSWERS))
                second.kill()
        with server():
            wait("no errors without a catalog", more(lambda: clients.errors, 10 * CLIENTS))
            answered = clients.answers
            with catalog():
                wait("no answers with the catalog", more(lambda: clients.answers, ANSWERS))
            wait("no errors after the catalog", more(lambda: clients.errors, 10 * CLIENTS))
    assert clients.wrong == []
    assert clients.answers >= answered + ANSWERS
