# SPDX-License-Identifier: Apache-2.0
"""The options of commands that use a session, and the session that they start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zonemap.common import optional_packages
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.common.redaction import without_secrets
from zonemap.session.configuration import configure, require_spark
from zonemap.session.remote import PATIENCE_SECONDS, REMOTE, require_server, server_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = TypeVar("Command", bound=Callable[..., Any])

# The key of the time-out in the context of a command.
_PATIENCE = "zonemap.connect-timeout"

output = click.option(
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format: tables for people or JSON for programs.",
)
iceberg = click.option(
    "--iceberg", metavar="VERSION|JAR", help="Load this Iceberg runtime; by default your set-up provides it."
)


def _keep_patience(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
    context.meta[_PATIENCE] = seconds


settings = click.option("--conf", "settings", multiple=True, metavar="KEY=VALUE", help="A Spark conf; may be repeated.")
_remote = click.option(
    "--remote",
    metavar="URL",
    help="URL of a Spark Connect server, such as sc://host:15002; by default spark.remote of --conf, or SPARK_REMOTE.",
)
_connect_timeout = click.option(
    "--connect-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    expose_value=False,
    callback=_keep_patience,
    help=f"Longest wait for the first answer of a Spark Connect server; by default {PATIENCE_SECONDS:g}.",
)


def options_of_session(command: Command) -> Command:
    """Adds the options of commands that read or change the index of a table."""
    for option in (settings, _remote, _connect_timeout, iceberg, output):
        command = option(command)
    return command


def options_without_session(command: Command) -> Command:
    """Adds the options of commands that take the confs of a session and start none."""
    for option in (settings, iceberg, output):
        command = option(command)
    return command


def start(settings: tuple[str, ...], remote: str | None, iceberg: str | None, *, ingest: bool = False) -> SparkSession:
    """Starts a session with the extension and the confs of the command line."""
    options = confs(settings, remote)
    server = server_of(options)
    if server is not None:
        context = click.get_current_context(silent=True)
        require_server(server, seconds=None if context is None else context.meta.get(_PATIENCE))
    return builder(options, iceberg, ingest=ingest).getOrCreate()


def builder(options: dict[str, str], iceberg: str | None, *, ingest: bool = False) -> SparkSession.Builder:
    """Returns the builder of a session with the extension and these confs."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        raise ZonemapError(
            f"Cannot start Spark: PySpark is not installed. Install it: {optional_packages.command('spark')}."
        ) from error
    if server_of(options) is None:
        require_spark(options, "start Spark")
    found = SparkSession.builder.appName("zonemap")
    for key, value in options.items():
        found = found.config(key, value)
    return configure(found, iceberg=iceberg, ingest=ingest)


def confs(settings: tuple[str, ...], remote: str | None) -> dict[str, str]:
    """Returns the confs of the command line; --remote beats the conf that it stands for, as in spark-submit."""
    options: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            shown = without_secrets(setting)
            raise InvalidArgumentError(f"Cannot read --conf '{shown}': it has no '='. Write --conf key=value.")
        options[key.strip()] = value
    return options if remote is None else options | {REMOTE: remote}
