# SPDX-License-Identifier: Apache-2.0
"""A proxy before a REST catalog, on the loopback: it loses, delays and repeats commits of tables, and changes answers."""

from __future__ import annotations

import http.client
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

#: The faults of a commit. In "unsent" and "late", the client sees a closed connection, as in "unanswered".
UNSENT = "unsent"  # the request never arrives at the catalog
UNANSWERED = "unanswered"  # the catalog applies the request, and its answer is lost
LATE = "late"  # the catalog gets the request LATE_SECONDS after the client has lost its connection
TWICE = "twice"  # the catalog gets the request twice, and the client gets the second answer
GATEWAY = "gateway"  # the catalog applies the request, and the client gets 504
BUSY = "busy"  # the catalog applies the request, and the client gets 503
BROKEN = "broken"  # the catalog does not get the request, and the client gets 500
FAULTS = (UNSENT, UNANSWERED, LATE, TWICE, GATEWAY, BUSY, BROKEN)

LATE_SECONDS = 1.5
_TABLE = re.compile(r"^/v1/namespaces/[^/]+/tables/[^/]+$")
_STATUS = {GATEWAY: 504, BUSY: 503, BROKEN: 500}
_OF_ONE_CONNECTION = {
    "connection",
    "transfer-encoding",
    "content-length",
    "host",
    "accept-encoding",
    "content-encoding",
}


class FaultyProxy:
    """Forwards requests to a catalog. Each commit takes the next of the planned faults; without one, it is forwarded."""

    def __init__(self, target: str, changed: Callable[[bytes], bytes]) -> None:
        self.target = urlsplit(target)
        self._changed = changed
        self._answers: list[int] = []
        self._faults: list[str] = []
        self._late: list[threading.Thread] = []
        self._lock = threading.Lock()

    def plan(self, faults: Sequence[str]) -> None:
        """Sets the faults of the next commits, and forgets the answers to earlier ones."""
        with self._lock:
            self._faults = list(faults)
            self._answers = []

    def planned(self) -> list[str]:
        """Returns the faults that no commit has taken yet."""
        with self._lock:
            return list(self._faults)

    def answers(self) -> list[int]:
        """Returns the status of each answer that the catalog gave to a commit since `plan`, in order."""
        with self._lock:
            return list(self._answers)

    def wait_for_late_requests(self) -> None:
        """Waits until the catalog has answered all late requests."""
        with self._lock:
            late, self._late = self._late, []
        for thread in late:
            thread.join(30)
            assert not thread.is_alive()

    def take(self) -> str | None:
        with self._lock:
            return self._faults.pop(0) if self._faults else None

    def later(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        def send() -> None:
            time.sleep(LATE_SECONDS)
            self.forward(method, path, headers, body, commit=True)

        thread = threading.Thread(target=send, daemon=True)
        with self._lock:
            self._late.append(thread)
        thread.start()

    def forward(
        self, method: str, path: str, headers: dict[str, str], body: bytes, *, commit: bool
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.target.hostname or "", self.target.port, timeout=60)
        try:
            connection.request(method, path, body=body or None, headers=headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if commit:
            with self._lock:
                self._answers.append(answer.status)
        return answer.status, answer.getheaders(), self._changed(content)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultyProxy

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key: value for key, value in self.headers.items() if key.lower() not in _OF_ONE_CONNECTION}
        path = urlsplit(self.path).path
        commit = self.command == "POST" and _TABLE.match(path) is not None
        fault = self.proxy.take() if commit else None
        request = (self.command, self.path, headers, body)
        if fault in (UNSENT, LATE):
            if fault == LATE:
                self.proxy.later(*request)
            self.close_connection = True
            return
        if fault == BROKEN:
            self._send(_STATUS[fault], [("Content-Type", "application/json")], _error(_STATUS[fault]))
            return
        answer = self.proxy.forward(*request, commit=commit)
        if fault == TWICE:
            answer = self.proxy.forward(*request, commit=commit)
        if fault == UNANSWERED:
            self.close_connection = True
        elif fault in (GATEWAY, BUSY):
            self._send(_STATUS[fault], [("Content-Type", "application/json")], _error(_STATUS[fault]))
        else:
            self._send(*answer)

    def _send(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers:
            if key.lower() not in _OF_ONE_CONNECTION:
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _answer  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: object) -> None:
        pass


def _error(status: int) -> bytes:
    return b'{"error": {"message": "a planned fault", "type": "PlannedFault", "code": %d}}' % status


@contextmanager
def faulty_proxy(
    target: str, changed: Callable[[bytes], bytes] = lambda content: content
) -> Iterator[tuple[FaultyProxy, str]]:
    """Runs the proxy; yields it and its URL. `changed` returns what the client gets instead of a body."""
    proxy = FaultyProxy(target, changed)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": proxy}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
