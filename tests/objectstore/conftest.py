"""An S3 server in this process that records requests and can refuse them, and a session that uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import boto3
import pytest
from moto.server import DomainDispatcherApplication, create_backend_app
from support import session
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKETS = ("lake", "indexes")
KEY = "testing"
REGION = "us-east-1"
#: The response of S3 to a request that its policy does not allow.
DENIED = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
)

Request = tuple[str, str]


class Quiet(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        pass


class Store:
    """The S3 server, with its recorded requests (method, path) and its rule for refusing requests."""

    def __init__(self) -> None:
        self._inner = DomainDispatcherApplication(create_backend_app)
        self._requests: list[Request] = []
        self._refuses: Callable[[str, str], bool] = lambda method, path: False
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client = boto3.client(
            "s3", endpoint_url=self.url, region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=KEY
        )
        for bucket in BUCKETS:
            self.client.create_bucket(Bucket=bucket)

    def _answer(self, environ, start_response):
        request = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self._requests.append(request)
        if self._refuses(*request):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("403 Forbidden", [("Content-Type", "application/xml"), ("Content-Length", str(len(DENIED)))])
            return [DENIED if request[0] != "HEAD" else b""]
        return self._inner(environ, start_response)

    @contextmanager
    def recording(self) -> Iterator[list[Request]]:
        """Records the requests made inside the block."""
        seen: list[Request] = []
        mark = len(self._requests)
        yield seen
        seen += self._requests[mark:]

    @contextmanager
    def refusing(self, refuses: Callable[[str, str], bool]) -> Iterator[None]:
        self._refuses = refuses
        try:
            yield
        finally:
            self._refuses = lambda method, path: False

    def keys(self, bucket: str, part: str = "") -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return sorted(o["Key"] for page in pages for o in page.get("Contents", []) if part in o["Key"])

    def delete(self, bucket: str, keys: list[str]) -> None:
        for key in keys:
            self.client.delete_object(Bucket=bucket, Key=key)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def store(base) -> Iterator[Store]:
    server = Store()
    yield server
    session.stop()  # the session sends requests to the server until it has stopped
    server.close()


@pytest.fixture(scope="session")
def s3_confs(base, store: Store) -> dict[str, str]:
    jars = (session.iceberg_jar(), session.jar("iceberg-aws-bundle"), session.jar("sqlite-jdbc"))
    return {
        "spark.jars": ",".join(jars),
        "spark.sql.catalog.s3": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.s3.type": "jdbc",
        "spark.sql.catalog.s3.uri": f"jdbc:sqlite:{base / 's3.db'}",
        "spark.sql.catalog.s3.jdbc.schema-version": "V1",
        "spark.sql.catalog.s3.warehouse": "s3://lake/warehouse",
        "spark.sql.catalog.s3.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "spark.sql.catalog.s3.s3.endpoint": store.url,
        "spark.sql.catalog.s3.s3.path-style-access": "true",
        "spark.sql.catalog.s3.s3.access-key-id": KEY,
        "spark.sql.catalog.s3.s3.secret-access-key": KEY,
        "spark.sql.catalog.s3.client.region": REGION,
        "spark.sql.catalog.s3.s3.retry.num-retries": "0",
    }


@pytest.fixture(scope="session")
def on_s3(s3_confs: dict[str, str]):
    """Starts the session; `session.restart(s3_confs)` starts one with an empty memory."""
    session.stop()
    session.start(s3_confs).sql("CREATE NAMESPACE IF NOT EXISTS s3.db")
    return session.get


@pytest.fixture
def spark(on_s3):
    return on_s3()
