# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest

from zonemap import ZonemapError
from zonemap.session import remote

grpc = pytest.importorskip("grpc")
pytest.importorskip("pyspark")


class _Proxy(grpc.GenericRpcHandler):
    """Answers each call with the next of these codes, and with the last one from then on."""

    def __init__(self, codes: list[Any]) -> None:
        self.calls: list[str] = []
        self._codes = codes

    def service(self, details: Any) -> Any:
        def answer(_: bytes, context: Any) -> None:
            self.calls.append(details.method)
            context.abort(self._codes[min(len(self.calls), len(self._codes)) - 1], "x")

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture
def served() -> Iterator[Callable[[list[Any]], tuple[str, _Proxy]]]:
    """Starts a server that answers with these codes; no codes: a server that has no method."""
    servers = []

    def start(codes: list[Any]) -> tuple[str, _Proxy]:
        server, proxy = grpc.server(futures.ThreadPoolExecutor(1)), _Proxy(codes)
        servers.append(server)
        if codes:
            server.add_generic_rpc_handlers([proxy])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        return f"sc://127.0.0.1:{port}", proxy

    yield start
    for server in servers:
        server.stop(None)


@pytest.mark.parametrize("names", [[], ["UNIMPLEMENTED"], ["UNAUTHENTICATED"], ["UNAVAILABLE", "UNIMPLEMENTED"]])
def test_a_server_that_answers_is_enough(served: Any, names: list[str]) -> None:
    url, proxy = served([grpc.StatusCode[name] for name in names])
    remote.require_server(url, seconds=5)
    assert len(proxy.calls) == len(names)


def test_a_proxy_without_its_server_is_no_server(served: Any) -> None:
    url, proxy = served([grpc.StatusCode.UNAVAILABLE])
    started = time.monotonic()
    with pytest.raises(
        ZonemapError, match=rf"Cannot connect to '{url}': no Spark Connect server answered within 0.5 s"
    ):
        remote.require_server(f"{url}/;user_id=me", seconds=0.5)
    assert 0.4 < time.monotonic() - started < 5
    assert len(proxy.calls) > 1
