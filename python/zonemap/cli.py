"""The ``zonemap`` command."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zonemap import advice, diagnosis, extras, failures, ingest, procedures, reports
from zonemap import doctor as checks
from zonemap import follow as following
from zonemap.commands import demos
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.jar import jar_path
from zonemap.output import output_of
from zonemap.redaction import without_secrets
from zonemap.remote import REMOTE, address_of, require_server, server_of
from zonemap.results import BuildResult, BuildResults
from zonemap.session import configure, require_spark
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
        click.option(
            "--remote",
            metavar="URL",
            help="URL of a Spark Connect server, such as sc://host:15002; by default spark.remote of --conf, or "
            "SPARK_REMOTE.",
        ),
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
@click.option(
    "--session",
    is_flag=True,
    help="Also start a session and check it; --conf, --remote and the URL of a server in SPARK_REMOTE imply it.",
)
@_session_options
def doctor(session: bool, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Check the requirements of zonemap; the exit code is 1 if a check fails.

    With a Spark Connect server, check this machine as a client, and the server.
    """
    options = _options(settings, remote)
    server = server_of(options)
    found = checks.client_checks() if server else checks.installation_checks()
    if (session or options or server) and all(check.state != "failed" for check in found):
        # A small session, where nothing names another; a remote address leaves no place for a master.
        master = () if address_of(options) else ("spark.master=local[1]",)
        # Spark logs a missing class with a Java trace, as a warning; the checks name what is missing.
        small = () if server else (*master, "spark.ui.enabled=false", "spark.log.level=ERROR")
        found += checks.session_checks(lambda: _start((*small, *settings), remote, iceberg))
    output_of(output, always_list=True).rows("zonemap doctor", [check.as_dict() for check in found])
    if any(check.state == "failed" for check in found):
        sys.exit(1)


@cli.command()
@click.argument("table", required=False)
@click.option("--namespace", metavar="CATALOG.NAMESPACE", help="Index all tables of this namespace instead.")
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
@click.option("--estimate", is_flag=True, help="Read a sample of the data files, print the cost, and build no facts.")
@click.option(
    "--max-fact-share",
    type=float,
    metavar="SHARE",
    help="Largest share of the bytes of the data files that all facts of the table may take together; 0.1 without it.",
)
@_session_options
def build(
    table: str | None,
    namespace: str | None,
    facts: tuple[str, ...],
    columns: tuple[str, ...],
    estimate: bool,
    max_fact_share: float | None,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Index the current snapshot of TABLE (catalog.namespace.table), or of each table of a namespace.

    With --namespace, the error of a table is in its row, and the command ends with code 1 once all have their turn.
    """
    if (table is None) == (namespace is None):
        raise InvalidArgumentError("Cannot build an index: give TABLE or --namespace, and not both.")
    wanted: Any = {"table": table} if namespace is None else {"namespace": namespace}
    found: BuildResult | BuildResults = procedures.build(
        _start(settings, remote, iceberg),
        facts=facts,
        columns=columns or None,
        estimate=estimate,
        max_fact_share=max_fact_share,
        progress=output == "table" and sys.stderr.isatty(),
        **wanted,
    )
    results = [found] if isinstance(found, BuildResult) else list(found)
    several = namespace is not None
    if output == "json":
        output_of(output, always_list=several).rows("", [r.as_dict() for r in results])
    else:
        left_out = {"facts"} if several else {"facts", "problem"}
        rows = [{key: value for key, value in asdict(r).items() if key not in left_out} for r in results]
        built_facts = [
            {"table": result.table, **asdict(fact)} if several else asdict(fact)
            for result in results
            for fact in result.facts
        ]
        output_of(output, always_list=several).rows("built", rows)
        if built_facts:
            output_of(output).rows("facts", built_facts)
    if any(result.problem for result in results):
        sys.exit(1)


@cli.command()
@click.argument("table", required=False)
@click.option("--namespace", metavar="CATALOG.NAMESPACE", help="Show all tables of this namespace instead.")
@_session_options
def status(
    table: str | None,
    namespace: str | None,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Show how far the index of TABLE covers it, and the size of the index.

    Without TABLE and --namespace, show the tables that the driver of a Spark Connect server has queried or indexed.
    """
    if table is not None and namespace is not None:
        raise InvalidArgumentError(
            f"Cannot show TABLE '{table}' and --namespace '{namespace}': a command shows one of them. Leave one out."
        )
    if table is None and namespace is None and server_of(_options(settings, remote)) is None:
        raise InvalidArgumentError(
            "Cannot show the tables of a driver that has just started: it knows none. "
            "Give TABLE, --namespace or --remote."
        )
    spark = _start(settings, remote, iceberg)
    if table is not None:
        output_of(output).rows("status", [procedures.status(spark, table).as_dict()])
    else:
        found = procedures.status(spark, namespace=namespace)
        output_of(output, always_list=True).rows("status", [result.as_dict() for result in found])


@cli.command("why-not")
@click.argument("query")
@_session_options
def why_not(query: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Explain why QUERY, the text of a SELECT, reads the files that it reads. The query is not executed."""
    result = diagnosis.why_not(query, spark=_start(settings, remote, iceberg))
    rows = result.as_dicts() if output == "json" else result.summaries()
    output_of(output, always_list=True).rows("why not", rows)


@cli.command()
@click.argument("table")
@click.option("--columns", multiple=True, metavar="COLUMN", help="A column of the sort order; may be repeated.")
@_session_options
def clustering(
    table: str,
    columns: tuple[str, ...],
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Show how far the data files of TABLE overlap in the values of columns; by default, of its sort order."""
    result = diagnosis.clustering_information(_start(settings, remote, iceberg), table, columns or None)
    output_of(output).rows("clustering", [result.as_dict()])


@cli.command()
@click.argument("table")
@click.option("--query", "queries", multiple=True, metavar="SELECT", help="A query; may be repeated.")
@click.option("--facts/--no-facts", default=True, show_default=True, help="Try facts on 8 to 12 data files.")
@_session_options
def advise(
    table: str,
    queries: tuple[str, ...],
    facts: bool,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Advise on sort order, facts and columns of TABLE for queries, which are not executed.

    Without --query, for the scans that the server of --remote planned.
    """
    if not queries and address_of({REMOTE: remote}) is None:
        raise InvalidArgumentError(
            f"Cannot advise on '{table}' without queries: a new session has planned none. "
            "Give --query, or --remote of a server that runs queries."
        )
    result = advice.advise(_start(settings, remote, iceberg), table, queries or None, facts=facts)
    rows = result.as_dicts() if output == "json" else result.summaries()
    output_of(output, always_list=True).rows("advice", rows)


@cli.command()
@click.argument("table", required=False)
@click.option("--query", metavar="SELECT", help="Check this query instead of queries on TABLE.")
@click.option("--max-files", type=click.IntRange(0), default=8, show_default=True, help="Pruned files to read a scan.")
@_session_options
def verify(
    table: str | None,
    query: str | None,
    max_files: int,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Check that the index of TABLE changes no result; the exit code is 1 if a check finds a difference."""
    if (table is None) == (query is None):
        raise InvalidArgumentError("Cannot verify nothing, or two things at once: give either TABLE or --query.")
    spark = _start(settings, remote, iceberg)
    if query is not None:
        result = diagnosis.verify_query(query, spark=spark, max_files=max_files)
    else:
        result = diagnosis.verify(spark, str(table), max_files=max_files)
    output_of(output, always_list=True).rows("verdicts", result.as_dicts())
    if not result.is_right:
        sys.exit(1)


@cli.command()
@click.option("--table", required=True, help="The table (catalog.namespace.table).")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True, help="The page."
)
@click.option(
    "--columns", multiple=True, metavar="COLUMN", help="Show how far files overlap in this column; may be repeated."
)
@click.option("--query", "queries", multiple=True, metavar="SELECT", help="Explain this query; may be repeated.")
@_session_options
def report(
    table: str,
    out: Path,
    columns: tuple[str, ...],
    queries: tuple[str, ...],
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Write one page about a table: layout, coverage and lag, what queries pruned, advice, cost of the index.

    The history of queries is that of the driver: give the Spark Connect server that runs them with --remote. Queries
    given with --query are planned, not executed.
    """
    file = reports.checked_path(out)
    extras.require("write a report", extras.PLOTS, "zonemap[plots]")
    made = reports.report(_start(settings, remote, iceberg), table, columns=columns or None, queries=queries)
    made.save(file)
    output_of(output).rows("report", [{"table": table, "out": str(file), "verdict": made.status.verdict}])


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
    spark = _start(settings, remote, iceberg)
    following.follow(spark, tables, every_seconds=every, stop=_interruption(), report=_line(output))


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
    spark = _start(settings, remote, iceberg)
    ingest.commit_loop(spark, tables, every_seconds=every, stop=_interruption(), report=_line(output))


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


cli.add_command(demos.demo)
cli.add_command(demos.demo_ingest)


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


def _start(settings: tuple[str, ...], remote: str | None, iceberg: str | None) -> SparkSession:
    """Starts a session with the extension and the confs of the command line."""
    options = _options(settings, remote)
    server = server_of(options)
    if server is not None:
        require_server(server)
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra of this package
    except ImportError as error:
        raise ZonemapError(
            "Cannot start Spark: PySpark is not installed. Install it: pip install 'zonemap[spark]'."
        ) from error
    if server is None:
        require_spark(options, "start Spark")
    builder = SparkSession.builder.appName("zonemap")
    for key, value in options.items():
        builder = builder.config(key, value)
    return configure(builder, iceberg=iceberg).getOrCreate()


def _options(settings: tuple[str, ...], remote: str | None) -> dict[str, str]:
    """Returns the confs of the command line; --remote beats the conf that it stands for, as in spark-submit."""
    options: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            shown = without_secrets(setting)
            raise InvalidArgumentError(f"Cannot read --conf '{shown}': it has no '='. Write --conf key=value.")
        options[key.strip()] = value
    return options if remote is None else options | {REMOTE: remote}


def main() -> None:
    """Runs the command line; an error of the user and a warning are printed as one line without a stack trace."""
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning
        try:
            cli()
        except ZonemapError as error:
            click.echo(f"zonemap: {error}", err=True)
        except Exception as error:
            # Errors of Spark have a Java trace; any other error is a defect and keeps its stack trace.
            if not failures.is_of_spark(error):
                raise
            no_java = failures.condition(error) == "JAVA_GATEWAY_EXITED"
            hint = " Run 'zonemap doctor' to check Java and the installation." if no_java else ""
            click.echo(f"zonemap: {failures.sentence(error)}{hint}", err=True)
        else:
            return
    sys.exit(2)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"zonemap: {message}", err=True)
