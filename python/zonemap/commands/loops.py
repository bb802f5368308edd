# SPDX-License-Identifier: Apache-2.0
"""Commands that go on until they are interrupted."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable

import click

from zonemap.commands import committer, sessions
from zonemap.index import follow as following


@click.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--every", type=click.FloatRange(0.1), default=10.0, show_default=True, help="Seconds between refreshes.")
@sessions.options_of_session
def follow(
    tables: tuple[str, ...],
    every: float,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Refresh the index of each TABLE after commits of other applications, until interrupted.

    The command holds no state: it may be stopped and started at any time, and run twice. It prints one line for each
    change, as text or JSON.
    """
    spark = sessions.start(settings, remote, iceberg)
    following.follow(spark, tables, every_seconds=every, stop=_interruption(), report=_line(output))


@click.command("commit-loop")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--every", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Seconds between reports.")
@sessions.options_without_session
def commit_loop(
    tables: tuple[str, ...],
    every: float,
    settings: tuple[str, ...],
    iceberg: str | None,
    output: str,
) -> None:
    """Commit the ingest queue of each TABLE (catalog.namespace.table), until interrupted.

    The command starts no Spark application: a small JVM takes the place of this process and loads the catalogs that
    the confs spark.sql.catalog.* describe. It holds no state: it may be stopped and started at any time, and run by
    several machines at once. The conf spark.sql.zonemap.ingest.interval sets the time between two commits. It prints
    one line for each change, as text or JSON.
    """
    committer.command(tables, every_seconds=every, settings=settings, iceberg=iceberg, output=output).replace_process()


COMMANDS = (follow, commit_loop)


def _interruption() -> threading.Event:
    """Returns an event that SIGINT and SIGTERM set instead of ending the process."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _line(output: str) -> Callable[[str], None]:
    """Returns a function that prints an event as one line of text or JSON."""

    def report(line: str) -> None:
        click.echo(json.dumps({"at": time.time(), "event": line}) if output == "json" else line)
        sys.stdout.flush()

    return report
