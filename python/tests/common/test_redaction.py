# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest

from zonemap import InvalidArgumentError, ProcedureError
from zonemap.common import redaction
from zonemap.index.index import Index
from zonemap.session import spark_errors
from zonemap.session.remote import require_server

SHOWN = [
    ("sc://host", "sc://host"),
    ("sc://host:15002", "sc://host:15002"),
    ("sc://[::1]:15002/;use_ssl=true", "sc://[::1]:15002"),
    ("sc://[::1]", "sc://[::1]"),
    ("sc://host:15002/;token=SECRET;user_id=SECRET", "sc://host:15002"),
    ("sc://host/;token=SECRET=", "sc://host"),
    ("sc://host;token=SECRET", "sc://host"),
    ("sc://host/;token=a@SECRET", "sc://host"),
    ("sc://host/token=SECRET", "sc://host"),
    ("sc://host?token=SECRET", "sc://host"),
    ("sc://host#SECRET", "sc://host"),
    ("sc://SECRET@host", "sc://host"),
    ("sc://u:SECRET@host:1", "sc://host:1"),
    ("sc://u:SEC/SECRET@host:1/;a=b", "sc://host:1"),
    ("sc://u:SEC;SECRET@host", "sc://u:***"),
    ("sc://user:SECRET", "sc://user:***"),
    ("sc://user%SECRET", "sc://***"),
    ("sc:///;token=SECRET", "sc://"),
    ("SC://host:15002/;token=SECRET", "sc://host:15002"),
    ("sc://host:15002/;token=a SECRET; b=SECRET", "sc://host:15002"),
]


@pytest.mark.parametrize(("url", "shown"), SHOWN)
def test_a_url_is_shown_by_its_host_and_port(url: str, shown: str) -> None:
    assert redaction.shown(url) == shown
    assert "SEC" not in shown
    assert redaction.without_secrets(f"Connect [{url}], or '{url}'.") == f"Connect [{shown}], or '{shown}'."


def test_a_url_without_quotes_hides_the_rest_of_its_line() -> None:
    text = "Lost sc://host/;token=a SECRET; b=SECRET\nConnect to sc://host:1 now, or to Sc://host;x=SECRET"
    assert redaction.without_secrets(text) == "Lost sc://host ***\nConnect to sc://host:1 now, or to sc://host"


def test_other_texts_stay() -> None:
    for text in ("", "Cannot read 's3://u:p@b/k;x=1'.", "token=1", "sc:/x;y"):
        assert redaction.without_secrets(text) == text


class _SparkError(Exception):
    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        return "X"


class _Session:
    def sql(self, statement: str) -> None:
        raise _SparkError("Spark Connect [sc://host/;token=SECRET] is gone.")


def test_the_sentence_of_an_error_has_no_secret() -> None:
    error = _SparkError("Spark master [local], Spark Connect [sc://u:SECRET@host:1/;token=SECRET].")
    assert spark_errors.sentence(error) == "Spark master [local], Spark Connect [sc://host:1]."
    with pytest.raises(ProcedureError) as caught:
        Index(_Session(), "t").build()  # type: ignore[arg-type]
    assert str(caught.value) == "Spark Connect [sc://host] is gone."


@pytest.mark.parametrize(
    ("url", "shown", "why"),
    [
        ("sc://host/;token=SECRET=", "sc://host", "parameter 'token' is not key=value, where %3D stands for '='"),
        ("sc://host/;SECRET", "sc://host", "a parameter is not key=value"),
        ("sc://host;token=SECRET", "sc://host", "its parameters follow no '/'"),
        ("sc://host/token=SECRET", "sc://host", "a path follows the host"),
        ("sc://user:SECRET", "sc://user:***", "its port is not a number from 1 to 65535"),
        ("sc://host:99999", "sc://host:99999", "its port is not a number from 1 to 65535"),
        ("sc:///;token=SECRET", "sc://", "it names no host"),
    ],
)
def test_a_malformed_url_is_refused_without_its_secrets(url: str, shown: str, why: str) -> None:
    pytest.importorskip("grpc")
    with pytest.raises(InvalidArgumentError, match=re.escape(f"Cannot read the URL '{shown}': {why}")) as caught:
        require_server(url, seconds=0.1)
    assert str(caught.value).endswith(". Write sc://host:15002, and parameters after '/;'.")
    assert "SECRET" not in "".join(map(str, (caught.value, caught.value.__cause__, caught.value.__context__)))
