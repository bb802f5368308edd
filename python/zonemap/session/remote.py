# SPDX-License-Identifier: Apache-2.0
"""Spark Connect servers: the URL of a session, without its secrets in a message, and a check that a server answers."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from zonemap.common import redaction
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.session import conf_sources, confs, spark_errors
from zonemap.session.spark_installation import CONNECT_REQUIREMENT

#: The conf of the server's URL.
REMOTE = "spark.remote"

#: Longest time that a command waits for the first answer of a server.
PATIENCE_SECONDS = 8.0

_PAUSE_SECONDS = 0.2
_NO_METHOD = "/spark.connect.SparkConnectService/Zonemap"
_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_-]+")
_LARGEST_PORT = 65535


def address_of(options: Mapping[str, Any]) -> str | None:
    """Returns ``spark.remote`` of the builder's options, else SPARK_REMOTE: a URL, or a master such as ``local[2]``."""
    return str(options.get(REMOTE) or os.environ.get("SPARK_REMOTE", "")) or None


def server_of(options: Mapping[str, Any]) -> str | None:
    """Returns the URL ``sc://...`` of the builder's options or of SPARK_REMOTE; None for a session of this machine."""
    url = address_of(options)
    return url if url is not None and url.startswith(redaction.SCHEME) else None


def lacks_extension(session: Any) -> bool:
    """Returns True if the session's extensions do not name zonemap's; False if the server does not show its confs."""
    try:
        listed = session.conf.get(confs.EXTENSIONS, "")
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
        return False
    return confs.EXTENSION_CLASS not in conf_sources.split_list(listed)


def require_server(url: str, *, seconds: float | None = None) -> None:
    """Waits until the server answers; Spark's own client would retry for many minutes.

    Args:
        url: The URL of the server.
        seconds: Longest time to wait; None: ``PATIENCE_SECONDS``.

    Raises:
        InvalidArgumentError: Spark cannot read the URL.
        ZonemapError: no server answers in time, or the packages of Spark Connect are missing.
    """
    patience = PATIENCE_SECONDS if seconds is None else seconds
    shown = redaction.shown(url)
    try:
        import grpc  # noqa: PLC0415 - an extra of PySpark
        from pyspark.sql.connect.client import core  # noqa: PLC0415
    except ImportError as error:
        raise ZonemapError(
            f"Cannot connect to '{shown}': {spark_errors.sentence(error).rstrip('.')}. "
            f"Install the packages of Spark Connect: pip install '{CONNECT_REQUIREMENT}'."
        ) from error
    # PySpark 3.5 has one builder, whose name Spark 4 gave to what its builders share.
    builder: Any = getattr(core, "DefaultChannelBuilder", core.ChannelBuilder)
    try:
        channel = None if _hides_parameters(url) else builder(url).toChannel()
    except Exception as error:
        if not (spark_errors.is_of_spark(error) or isinstance(error, ValueError)):
            raise
        channel = None
    if channel is None:
        # Spark's sentence quotes the malformed part, which may be a secret.
        raise InvalidArgumentError(
            f"Cannot read the URL '{shown}': {_defect_of(url)}. Write sc://host:15002, and parameters after '/;'."
        )
    try:
        if not _answers(grpc, channel, patience):
            raise ZonemapError(
                f"Cannot connect to '{shown}': no Spark Connect server answered within {patience:g} s. "
                "Check the host and the port, and that the server runs."
            )
    finally:
        channel.close()


def _answers(grpc: Any, channel: Any, seconds: float) -> bool:
    """Returns True once a server answers a call; a proxy may accept the channel of a server that does not run."""
    deadline = time.monotonic() + seconds
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        return False
    # No server has this method: a server that runs refuses the call, and no session begins.
    call = channel.unary_unary(_NO_METHOD)
    while (left := deadline - time.monotonic()) > 0:
        try:
            call(b"", timeout=left)
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                return True
            time.sleep(min(left, _PAUSE_SECONDS))
        else:
            return True
    return False


def _hides_parameters(url: str) -> bool:
    """Returns True for ``sc://host;token=x``: Spark would look for a host of this whole name."""
    return ";" in url.removeprefix(redaction.SCHEME).partition("/")[0]


def _defect_of(url: str) -> str:
    """Returns why a URL cannot be read, without quoting a part that may be a secret."""
    before, _, parameters = url.removeprefix(redaction.SCHEME).partition(";")
    _, port = redaction.host_and_port(url)
    if not redaction.has_host(url):
        return "it names no host"
    if port and not (port.isdecimal() and int(port) <= _LARGEST_PORT):
        return f"its port is not a number from 1 to {_LARGEST_PORT}"
    if before.partition("/")[2]:
        return "a path follows the host"
    if _hides_parameters(url):
        return "its parameters follow no '/'"
    for parameter in parameters.split(";") if parameters else ():
        name, *values = parameter.split("=")
        if len(values) != 1:
            named = f"parameter '{name}'" if values and _PARAMETER_NAME.fullmatch(name) else "a parameter"
            return f"{named} is not key=value, where %3D stands for '=' within a value"
    return "Spark refuses it"
