"""Spark Connect servers: the URL of a session, and a check that a server answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from zonemap import confs, current, failures
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.installed import CONNECT_REQUIREMENT

#: Longest time that a command waits for the first answer of a server.
PATIENCE_SECONDS = 8.0


def server_of(options: Mapping[str, Any]) -> str | None:
    """Returns the URL ``sc://...`` of the builder's options or of SPARK_REMOTE; None for a session of this machine."""
    url = str(options.get("spark.remote") or os.environ.get("SPARK_REMOTE", ""))
    return url if url.startswith("sc://") else None


def lacks_extension(session: Any) -> bool:
    """Returns True if the session's extensions do not name zonemap's; False if the server does not show its confs."""
    try:
        listed = session.conf.get(confs.EXTENSIONS, "")
    except Exception as error:
        if not failures.is_of_spark(error):
            raise
        return False
    return confs.EXTENSION_CLASS not in current.split_list(listed)


def require_server(url: str, *, seconds: float = PATIENCE_SECONDS) -> None:
    """Waits until the server accepts a channel; Spark's own client would retry for many minutes.

    Raises:
        InvalidArgumentError: Spark cannot read the URL.
        ZonemapError: no server answers in time, or the packages of Spark Connect are missing.
    """
    # The rest of the URL may contain a token.
    shown = url.partition(";")[0]
    try:
        import grpc  # noqa: PLC0415 - an extra of PySpark
        from pyspark.sql.connect.client.core import DefaultChannelBuilder  # noqa: PLC0415
    except ImportError as error:
        raise ZonemapError(
            f"Cannot connect to '{shown}': {failures.sentence(error).rstrip('.')}. "
            f"Install the packages of Spark Connect: pip install '{CONNECT_REQUIREMENT}'."
        ) from error
    try:
        channel = DefaultChannelBuilder(url).toChannel()
    except Exception as error:
        if not (failures.is_of_spark(error) or isinstance(error, ValueError)):
            raise
        raise InvalidArgumentError(
            f"Cannot read the URL '{shown}': {failures.sentence(error).rstrip('.')}. Write sc://host:15002."
        ) from None
    try:
        grpc.channel_ready_future(channel).result(timeout=seconds)
    except grpc.FutureTimeoutError:
        raise ZonemapError(
            f"Cannot connect to '{shown}': no Spark Connect server answered within {seconds:g} s. "
            "Check the host and the port, and that the server runs."
        ) from None
    finally:
        channel.close()
