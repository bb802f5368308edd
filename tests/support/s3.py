# SPDX-License-Identifier: Apache-2.0
"""An S3 server in this process that records requests, refuses some, and enforces the reach of keys."""

from __future__ import annotations

import io
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKETS = ("lake", "indexes")
KEY = "testing"
REGION = "us-east-1"
_KEY = re.compile(r"Credential=([^/]+)/")
_DELETED = re.compile(rb"<Key>([^<]*)</Key>")

Request = tuple[str, str]


@dataclass(frozen=True)
class Refusal:
    """An answer of S3 other than success."""

    status: str
    code: str

    @property
    def body(self) -> bytes:
        text = f"<Error><Code>{self.code}</Code><Message>{self.code}</Message></Error>"
        return b'<?xml version="1.0" encoding="UTF-8"?>' + text.encode()


#: The answer to a request that the policy of a key does not allow.
DENIED = Refusal("403 Forbidden", "AccessDenied")
#: The answer to a request with a temporary key whose time is over.
EXPIRED = Refusal("400 Bad Request", "ExpiredToken")


class TemporaryKeys:
    """Keys that reach the objects below one folder each, until they are expired. Other keys reach everything."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        self._expired: set[str] = set()
        #: The number of requests that were refused because the time of their key was over.
        self.late = 0

    def issue(self, location: str) -> str:
        """Returns a new key for the folder `s3://bucket/path`."""
        key = f"AKIA{uuid.uuid4().hex[:16].upper()}"
        self._folders[key] = location.removeprefix("s3:/").rstrip("/") + "/"
        return key

    def expire_all(self) -> None:
        """Ends the time of all keys that were issued so far."""
        self._expired.update(self._folders)

    def refusal(self, environ: dict[str, object], body: bytes) -> Refusal | None:
        found = _KEY.search(str(environ.get("HTTP_AUTHORIZATION", "")))
        key = found[1] if found else ""
        if key not in self._folders:
            return None
        if key in self._expired:
            self.late += 1
            return EXPIRED
        return None if all(name.startswith(self._folders[key]) for name in _named(environ, body)) else DENIED


def _named(environ: dict[str, object], body: bytes) -> list[str]:
    """Returns the objects that a request names, as `/bucket/key`; of a listing its prefix."""
    path, query = str(environ["PATH_INFO"]), str(environ.get("QUERY_STRING", ""))
    parameters = parse_qs(query, keep_blank_values=True)
    bucket = path.split("/")[1]
    if path.count("/") > 1 and path != f"/{bucket}/":
        return [path]
    if "delete" in parameters:
        return [f"/{bucket}/{unquote(key.decode())}" for key in _DELETED.findall(body)]
    return [f"/{bucket}/{parameters.get('prefix', [''])[0]}"]


class Quiet(WSGIRequestHandler):
    def log_request(self, *_: object) -> None:
        pass


class Store:
    """The S3 server, with its recorded requests (method, path) and its rule for refusing requests."""

    def __init__(self) -> None:
        self._inner = DomainDispatcherApplication(create_backend_app)
        self._requests: list[Request] = []
        self._refuses: Callable[[str, str], bool] = lambda method, path: False
        self.temporary_keys = TemporaryKeys()
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
        chunked = environ.get("wsgi.input_terminated")
        body = environ["wsgi.input"].read(*(() if chunked else (int(environ.get("CONTENT_LENGTH") or 0),)))
        environ["wsgi.input"] = io.BytesIO(body)
        refusal = DENIED if self._refuses(*request) else self.temporary_keys.refusal(environ, body)
        if refusal is not None:
            start_response(
                refusal.status, [("Content-Type", "application/xml"), ("Content-Length", str(len(refusal.body)))]
            )
            return [refusal.body if request[0] != "HEAD" else b""]
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
