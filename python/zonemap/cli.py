"""The ``zonemap`` command."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zonemap import doctor as checks
from zonemap import follow as following
from zonemap import ingest, procedures
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.jar import jar_path
from zonemap.output import output_of
from zonemap.session import configure
from zonemap.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Command = TypeVar("Command", bound=Callable[..., Any])

_output = click.option(
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Output format: tables for people or JSON for programs.",
)
_iceberg = click.option(
    "--iceberg", metavar="VERSION|JAR", help="Load this Iceberg runtime; by default your set-up provides it."
)


def _session_options(command: Command) -> Command:
    """Adds the options of commands that read or change the index of a table."""
    for option in (
        click.option("--conf", "settings", multiple=True, metavar="KEY=VALUE", help="A Spark conf; may be repeated."),
        click.option("--remote", metavar="URL", help="URL of a Spark Connect server, such as sc://host:15002."),
        _iceberg,
        _output,
    ):
        command = option(command)
    return command


@click.group()
@click.version_option(__version__, prog_name="zonemap")
def cli() -> None:
    """Zonemap index for Apache Iceberg tables in Spark."""


@cli.command("jar-path")
def jar_path_command() -> None:
    """Print the path of the Spark extension's jar, for --jars or spark.jars."""
    click.echo(jar_path())


@cli.command()
@click.option("--session", is_flag=True, help="Also start a local session and check it.")
@_iceberg
@_output
def doctor(session: bool, iceberg: str | None, output: str) -> None:
    """Check the requirements of zonemap; the exit code is 1 if a check fails."""
    found = checks.installation_checks()
    if session and all(check.state != "failed" for check in found):
        spark = _start(("spark.master=local[1]", "spark.ui.enabled=false"), None, iceberg)
        found += checks.session_checks(spark)
        spark.stop()
    output_of(output, always_list=True).rows("zonemap doctor", [check.as_dict() for check in found])
    if any(check.state == "failed" for check in found):
        sys.exit(1)


@cli.command()
@click.argument("table")
@click.option(
    "--facts",
    multiple=True,
    metavar="KIND(COLUMN)",
    help="Build facts from the data files: values(a), bloom(b), ngrams(c), bounds(d), ranges(e) or values(tags['k']); "
    "'none' drops all facts. May be repeated.",
)
@click.option(
    "--columns",
    multiple=True,
    metavar="COLUMN",
    help="Retain bounds of the named columns only, in old segments of the index too; '*' for all columns. May be "
    "repeated.",
)
@_session_options
def build(
    table: str,
    facts: tuple[str, ...],
    columns: tuple[str, ...],
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Index the current snapshot of TABLE (catalog.namespace.table)."""
    result = procedures.build(_start(settings, remote, iceberg), table, facts=facts, columns=columns or None)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        output_of(output).rows("built", [{k: v for k, v in result.as_dict().items() if k != "facts"}])
        if result.facts:
            output_of(output).rows("facts", [asdict(fact) for fact in result.facts])


@cli.command()
@click.argument("table")
@_session_options
def status(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Show which snapshot of TABLE the index covers, and its size."""
    result = procedures.status(_start(settings, remote, iceberg), table)
    output_of(output).rows("status", [result.as_dict()])


@cli.command()
@click.argument("table")
@_session_options
def merge(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Merge the segments of the index of TABLE into larger ones."""
    result = procedures.merge(_start(settings, remote, iceberg), table)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        output_of(output).rows("merged", [asdict(level) for level in result.levels])


@cli.command()
@click.argument("table")
@click.option("--delete", is_flag=True, help="Delete the files; without this option they are only listed.")
@click.option(
    "--older-than-hours", type=click.IntRange(0), default=24, show_default=True, help="Retain all younger files."
)
@_session_options
def gc(
    table: str,
    delete: bool,
    older_than_hours: int,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """List the index files of TABLE that no retained snapshot needs, or delete them."""
    spark = _start(settings, remote, iceberg)
    result = procedures.gc(spark, table, dry_run=not delete, older_than_hours=older_than_hours)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = f"{'deleted' if delete else 'would delete'} {len(result.files)} files, {result.bytes:,} bytes"
        output_of(output).rows(title, [asdict(file) for file in result.files])


@cli.command()
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--every", type=click.FloatRange(0.1), default=10.0, show_default=True, help="Seconds between refreshes.")
@_session_options
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
    stop = threading.Event()
    spark = _start(settings, remote, iceberg)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    following.follow(spark, tables, every_seconds=every, stop=stop, report=_line(output))


@cli.command("commit-loop")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("--every", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Seconds between reports.")
@_session_options
def commit_loop(
    tables: tuple[str, ...],
    every: float,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Commit the ingest queue of each TABLE, until interrupted.

    The command holds no state: it may be stopped and started at any time, and run by several machines at once. The conf
    spark.sql.zonemap.ingest.interval sets the time between two commits. It prints one line for each change, as text or
    JSON.
    """
    stop = threading.Event()
    spark = _start(settings, remote, iceberg)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    ingest.commit_loop(spark, tables, every_seconds=every, stop=stop, report=_line(output))


@cli.command("ingest-status")
@click.argument("table")
@_session_options
def ingest_status(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Show the ingest queue of TABLE and its committers."""
    result = ingest.status(_start(settings, remote, iceberg), table)
    output_of(output).rows("ingest status", [result.as_dict()])


@cli.command()
@click.argument("table")
@click.option("--dry-run", is_flag=True, help="List the files and delete none.")
@_session_options
def drop(
    table: str, dry_run: bool, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str
) -> None:
    """Delete the index of TABLE; the table itself does not change."""
    result = procedures.drop(_start(settings, remote, iceberg), table, dry_run=dry_run)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = "would delete" if dry_run else "deleted"
        output_of(output).rows(f"{title} {len(result.paths)} files", [{"path": path} for path in result.paths])


@cli.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo"),
    show_default=True,
    help="Folder of the lake and the report; files of an earlier demo in it are replaced.",
)
@click.option(
    "--iceberg",
    metavar="VERSION|JAR",
    default="1.11.0",
    show_default=True,
    help="Iceberg's runtime: a version to download, or a jar.",
)
@click.option("--commits", type=click.IntRange(1, 64), default=32, show_default=True, help="Commits to each table.")
def demo(folder: Path, iceberg: str, commits: int) -> None:
    """Write a small lake of real flights, index it, and compare queries with the index off and on."""
    from zonemap.demo.main import run  # noqa: PLC0415 - needs PySpark and the demo's data

    sys.exit(run(folder, iceberg=iceberg, commits=commits))


def _line(output: str) -> Callable[[str], None]:
    """Returns a function that prints an event as one line of text or JSON."""

    def report(line: str) -> None:
        click.echo(json.dumps({"at": time.time(), "event": line}) if output == "json" else line)
        sys.stdout.flush()

    return report


def _start(settings: tuple[str, ...], remote: str | None, iceberg: str | None) -> SparkSession:
    """Starts a session with the extension and the confs of the command line."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        raise ZonemapError(
            "Cannot start Spark: PySpark is not installed. Install it: pip install 'zonemap[spark]'."
        ) from error
    builder = SparkSession.builder.appName("zonemap")
    if remote is not None:
        builder = builder.remote(remote)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InvalidArgumentError(f"Cannot read --conf '{setting}': it has no '='. Write --conf key=value.")
        builder = builder.config(key.strip(), value)
    return configure(builder, iceberg=iceberg).getOrCreate()


def main() -> None:
    """Runs the command line; an error of the user is printed as one line without a stack trace."""
    try:
        cli()
    except ZonemapError as error:
        click.echo(f"zonemap: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        # Errors of Spark have a JVM stack after the first line; any other error is a defect and keeps its stack trace.
        if not hasattr(error, "getCondition"):
            raise
        click.echo(f"zonemap: {str(error).strip().partition(chr(10))[0]}", err=True)
        sys.exit(2)
