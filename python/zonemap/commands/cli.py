# SPDX-License-Identifier: Apache-2.0
"""The ``zonemap`` command."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from typing import Any

import click

from zonemap.commands import diagnose, loops, queue, sessions
from zonemap.commands.output_format import output_of
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.common.version import __version__
from zonemap.diagnosis import doctor as checks
from zonemap.index import procedures
from zonemap.index.results import BuildResult, BuildResults
from zonemap.session import spark_errors
from zonemap.session.jar import jar_path
from zonemap.session.remote import address_of, server_of


@click.group()
@click.version_option(__version__, prog_name="zonemap")
def cli() -> None:
    """Zonemap index for Apache Iceberg tables in Spark."""


@cli.command("jar-path")
@click.option("--ingest", is_flag=True, help="Print the path of the jar of append ingestion.")
def jar_path_command(ingest: bool) -> None:
    """Print the path of the Spark extension's jar, for --jars or spark.jars."""
    click.echo(jar_path(ingest=ingest))


@cli.command()
@click.option(
    "--session",
    is_flag=True,
    help="Also start a session and check it; --conf, --remote and the URL of a server in SPARK_REMOTE imply it.",
)
@sessions.options_of_session
def doctor(session: bool, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Check the requirements of zonemap; the exit code is 1 if a check fails.

    With a Spark Connect server, check this machine as a client, and the server.
    """
    options = sessions.confs(settings, remote)
    server = server_of(options)
    found = checks.client_checks() if server else checks.installation_checks()
    if (session or options or server) and all(check.state != "failed" for check in found):
        # A small session, where nothing names another; a remote address leaves no place for a master.
        master = () if address_of(options) else ("spark.master=local[1]",)
        # Spark logs a missing class with a Java trace, as a warning; the checks name what is missing.
        small = () if server else (*master, "spark.ui.enabled=false", "spark.log.level=ERROR")
        found += checks.session_checks(lambda: sessions.start((*small, *settings), remote, iceberg))
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
@sessions.options_of_session
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
        sessions.start(settings, remote, iceberg),
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
@sessions.options_of_session
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
    if table is None and namespace is None and server_of(sessions.confs(settings, remote)) is None:
        raise InvalidArgumentError(
            "Cannot show the tables of a driver that has just started: it knows none. "
            "Give TABLE, --namespace or --remote."
        )
    spark = sessions.start(settings, remote, iceberg)
    if table is not None:
        output_of(output).rows("status", [procedures.status(spark, table).as_dict()])
    else:
        found = procedures.status(spark, namespace=namespace)
        output_of(output, always_list=True).rows("status", [result.as_dict() for result in found])


@cli.command()
@click.argument("table")
@sessions.options_of_session
def merge(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Merge the segments of the index of TABLE into larger ones."""
    result = procedures.merge(sessions.start(settings, remote, iceberg), table)
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
@sessions.options_of_session
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
    spark = sessions.start(settings, remote, iceberg)
    result = procedures.gc(spark, table, dry_run=not delete, older_than_hours=older_than_hours)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = f"{'deleted' if delete else 'would delete'} {len(result.files)} files, {result.bytes:,} bytes"
        output_of(output).rows(title, [asdict(file) for file in result.files])


@cli.command()
@click.argument("table")
@click.option("--dry-run", is_flag=True, help="List the files and delete none.")
@sessions.options_of_session
def drop(
    table: str, dry_run: bool, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str
) -> None:
    """Delete the index of TABLE; the table itself does not change."""
    result = procedures.drop(sessions.start(settings, remote, iceberg), table, dry_run=dry_run)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = "would delete" if dry_run else "deleted"
        output_of(output).rows(f"{title} {len(result.paths)} files", [{"path": path} for path in result.paths])


for command in (*diagnose.COMMANDS, *loops.COMMANDS, *queue.COMMANDS):
    cli.add_command(command)


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
            if not spark_errors.is_of_spark(error):
                raise
            no_java = spark_errors.condition(error) == "JAVA_GATEWAY_EXITED"
            hint = " Run 'zonemap doctor' to check Java and the installation." if no_java else ""
            click.echo(f"zonemap: {spark_errors.sentence(error)}{hint}", err=True)
        else:
            return
    sys.exit(2)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"zonemap: {message}", err=True)
