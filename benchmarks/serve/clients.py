# SPDX-License-Identifier: Apache-2.0
"""Plans of many clients at a time, by requests of HTTP: a client of Python takes longer for a plan than the server."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlparse

PATH = "/v1/namespaces/db/tables/atlas/plan"
#: Plans of each number of clients; as many before them are not measured, because the JVM compiles meanwhile.
PLANS = 6400


def measure(url: str, value: int, clients: int, server_cpu: Callable[[], float]) -> dict[str, float]:
    """Returns plans a second, wall milliseconds and server CPU milliseconds of a plan of one value of ``seq``.

    Args:
        url: The URL of the server.
        value: The value.
        clients: The number of connections, each with one plan at a time.
        server_cpu: Returns the CPU milliseconds of the server so far.
    """
    body = json.dumps({"filter": {"type": "eq", "term": "seq", "value": value}})
    host = urlparse(url).netloc
    _plans(host, body, clients)
    cpu, started = server_cpu(), time.perf_counter()
    millis = _plans(host, body, clients)
    seconds = time.perf_counter() - started
    return {
        "clients": clients,
        "plansPerSecond": round(len(millis) / seconds, 1),
        "wallMillisP50": round(statistics.median(millis), 2),
        "wallMillisP99": round(statistics.quantiles(millis, n=100)[98], 2),
        "serverCpuMillis": round((server_cpu() - cpu) / len(millis), 3),
    }


def _plans(host: str, body: str, clients: int) -> list[float]:
    """Returns the wall milliseconds of all plans."""

    def ask(_client: int) -> list[float]:
        connection = http.client.HTTPConnection(host)
        millis = []
        for _ in range(PLANS // clients):
            started = time.perf_counter()
            connection.request("POST", PATH, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            files = json.loads(answer.read()).get("file-scan-tasks")
            millis.append((time.perf_counter() - started) * 1000)
            if answer.status != 200 or len(files) != 1:
                raise ValueError(f"the plan has the status {answer.status} and the files {files}")
        connection.close()
        return millis

    with ThreadPoolExecutor(clients) as pool:
        return [value for millis in pool.map(ask, range(clients)) for value in millis]
