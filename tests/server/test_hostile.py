# SPDX-License-Identifier: Apache-2.0
"""Requests that are malformed, too large, or of somebody else, and what the server leaves behind."""

from __future__ import annotations

import json
import socket

import pytest
from support import product, tables
from support.session import STOCK

from server.conftest import Server
from server.test_clients import path

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

ANNA = {"Authorization": "Bearer secret-of-callers"}


@pytest.fixture(scope="module")
def name(spark) -> str:
    name = tables.range_table(spark, "lake.served.hostile", files=3, rows=10)
    product.build(spark, name)
    return name


@pytest.fixture(params=["of_rest", "of_jdbc"])
def server(request) -> Server:
    return request.getfixturevalue(request.param)


def error(answer: tuple[int, bytes]) -> tuple[int, str]:
    return answer[0], json.loads(answer[1])["error"]["type"]


def test_config_table_and_health(server: Server, name: str, spark) -> None:
    status, body = server.send("GET", "/v1/config", headers=ANNA)
    assert (
        status == 200
        and "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan" in json.loads(body)["endpoints"]
    )
    status, body = server.send("GET", path(name), headers=ANNA)
    assert status == 200 and json.loads(body)["config"]["scan-planning-mode"] == "server"
    plain = tables.create(spark, "lake.served.plain", "id BIGINT")
    status, body = server.send("GET", path(plain), headers=ANNA)
    assert status == 200 and "scan-planning-mode" not in json.loads(body).get("config", {})
    assert server.send("HEAD", path(name), headers=ANNA)[0] in {200, 204}
    assert server.send("GET", "/health") == (200, b"ok\n")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"filter": {"type": "eq"}}',
        b'{"snapshot-id": "x"}',
        b'{"filter": ' + b"[" * 9999,
    ],
)
def test_malformed_plans_are_bad_requests(server: Server, name: str, body: bytes) -> None:
    assert error(server.send("POST", f"{path(name)}/plan", body, ANNA))[0] == 400


def test_large_bodies_and_filters_are_refused(server: Server, name: str) -> None:
    assert server.send("POST", f"{path(name)}/plan", b" " * (1 << 20) + b"{}", ANNA)[0] == 413
    long = {"filter": {"type": "in", "term": "id", "values": list(range(40000))}}
    assert error(server.send("POST", f"{path(name)}/plan", long, ANNA)) == (400, "BadRequestException")
    nested: object = True
    for _ in range(400):
        nested = {"type": "not", "child": nested}
    assert error(server.send("POST", f"{path(name)}/plan", {"filter": nested}, ANNA)) == (400, "BadRequestException")


def test_tokens_of_others_and_forged_ones_do_not_exist(server: Server, name: str, spark) -> None:
    status, body = server.send("POST", f"{path(name)}/plan", {}, ANNA)
    assert status == 200
    plan_id = json.loads(body)["plan-id"]
    assert server.send("GET", f"{path(name)}/plan/{plan_id}", headers=ANNA)[0] == 200
    for token in (plan_id[:-8] + "AAAAAAAA", "x", "%2e"):
        assert server.send("GET", f"{path(name)}/plan/{token}", headers=ANNA)[0] == 404
    assert error(server.send("POST", f"{path(name)}/tasks", {"plan-task": plan_id}, ANNA)) == (
        404,
        "NoSuchPlanTaskException",
    )
    other = tables.range_table(spark, "lake.served.other", files=1, rows=1)
    assert server.send("GET", f"{path(other)}/plan/{plan_id}", headers=ANNA)[0] == 404
    assert server.send("DELETE", f"{path(name)}/plan/{plan_id}", headers=ANNA)[0] == 204
    missing = "/v1/namespaces/served/tables/missing/plan"
    assert error(server.send("POST", missing, {}, ANNA)) == (404, "NoSuchTableException")


def test_names_of_other_folders_and_other_alphabets(server: Server, name: str) -> None:
    for namespace in ("..", "%2e%2e", "a%00b"):
        assert server.send("GET", f"/v1/namespaces/{namespace}/tables/t", headers=ANNA)[0] == 404
    for namespace in ("%E6%97%A5%E6%9C%AC", "a%1Fb", "%22%3E%3Cscript%3E"):
        assert error(server.send("POST", f"/v1/namespaces/{namespace}/tables/t/plan", {}, ANNA))[0] == 404
    assert server.send("GET", "/etc/passwd", headers=ANNA)[0] == 404


def test_the_token_of_the_server_is_asked_for(of_jdbc: Server, name: str) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}):
        for method, below in (("GET", ""), ("POST", "/plan"), ("POST", "/tasks")):
            answer = of_jdbc.send(method, path(name) + below, {} if method == "POST" else None, headers)
            assert error(answer) == (401, "NotAuthorizedException")
        assert of_jdbc.send("GET", "/v1/config", headers=headers)[0] == 401
    assert of_jdbc.send("POST", "/v1/namespaces", {"namespace": ["x"]}, ANNA)[0] == 501


def test_the_log_has_no_credential_and_no_literal(server: Server, name: str) -> None:
    request = {"filter": {"type": "eq", "term": "s", "value": "literal-of-a-query"}}
    assert server.send("POST", f"{path(name)}/plan", request, ANNA)[0] == 200
    log = server.log.read_text()
    assert "files_kept=" in log
    assert "literal-of-a-query" not in log and "secret-of-callers" not in log


def test_half_a_request_does_not_stop_others(server: Server, name: str) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        half.sendall(f"POST {path(name)}/plan HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
        assert server.send("POST", f"{path(name)}/plan", {}, ANNA)[0] == 200
