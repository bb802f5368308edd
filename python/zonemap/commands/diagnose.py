# SPDX-License-Identifier: Apache-2.0
"""Commands that explain plans and layouts, advise, and check: they change neither a table nor its index."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from zonemap import diagnosis, reports
from zonemap.commands import sessions
from zonemap.commands.output_format import output_of
from zonemap.common import optional_packages
from zonemap.common.errors import InvalidArgumentError
from zonemap.index.index import Index
from zonemap.index.namespace import planned_scans
from zonemap.session.remote import server_of


@click.command("why-not")
@click.argument("query")
@sessions.options_of_session
def why_not_command(
    query: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str
) -> None:
    """Explain why QUERY, the text of a SELECT, reads the files that it reads. The query is not executed."""
    result = diagnosis.why_not(sessions.start(settings, remote, iceberg), query)
    output_of(output, always_list=True).result(result, result.as_dicts())


@click.command("clustering")
@click.argument("table")
@click.option("--columns", multiple=True, metavar="COLUMN", help="A column of the sort order; may be repeated.")
@sessions.options_of_session
def clustering_command(
    table: str,
    columns: tuple[str, ...],
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Show how far the data files of TABLE overlap in the values of columns; by default, of its sort order."""
    result = Index(sessions.start(settings, remote, iceberg), table).clustering(columns or None)
    output_of(output).rows("clustering", [result.as_dict()])


@click.command()
@click.argument("table")
@click.option("--query", "queries", multiple=True, metavar="SELECT", help="A query; may be repeated.")
@click.option("--facts/--no-facts", default=True, show_default=True, help="Try facts on 8 to 12 data files.")
@sessions.options_of_session
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
    if not queries and server_of(sessions.confs(settings, remote)) is None:
        raise InvalidArgumentError(
            f"Cannot advise on '{table}' without queries: a new session has planned none. "
            "Give --query, or --remote of a server that runs queries."
        )
    result = Index(sessions.start(settings, remote, iceberg), table).advise(queries or None, facts=facts)
    output_of(output, always_list=True).result(result, result.as_dicts())


@click.command("planned-scans")
@click.argument("table", required=False)
@click.option("--max-scans", type=click.IntRange(0), default=100, show_default=True, help="The most scans to show.")
@sessions.options_of_session
def planned_scans_command(
    table: str | None,
    max_scans: int,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """Show the newest scans that the server of --remote planned, of TABLE or of all tables.

    Each has its files before and after, or why Iceberg planned it.
    """
    if server_of(sessions.confs(settings, remote)) is None:
        raise InvalidArgumentError(
            "Cannot show the planned scans of a session that has just started: it has planned none. "
            "Give --remote of a server that runs queries."
        )
    spark = sessions.start(settings, remote, iceberg)
    if table is None:
        result = planned_scans(spark, max_scans=max_scans)
    else:
        result = Index(spark, table).planned_scans(max_scans=max_scans)
    output_of(output, always_list=True).result(result, result.as_dicts())


@click.command()
@click.argument("table", required=False)
@click.option("--query", metavar="SELECT", help="Check this query instead of queries on TABLE.")
@click.option("--max-files", type=click.IntRange(0), default=8, show_default=True, help="Pruned files to read a scan.")
@sessions.options_of_session
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
    spark = sessions.start(settings, remote, iceberg)
    if query is not None:
        result = diagnosis.verify(spark, query, max_files=max_files)
    else:
        result = Index(spark, str(table)).verify(max_files=max_files)
    output_of(output, always_list=True).rows("verdicts", result.as_dicts())
    if result.has_difference:
        sys.exit(1)


@click.command()
@click.option("--table", required=True, help="The table (catalog.namespace.table).")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("report.html"), show_default=True, help="The page."
)
@click.option(
    "--columns", multiple=True, metavar="COLUMN", help="Show how far files overlap in this column; may be repeated."
)
@click.option("--query", "queries", multiple=True, metavar="SELECT", help="Explain this query; may be repeated.")
@sessions.options_of_session
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

    The planned scans are those of the driver: give the Spark Connect server that runs them with --remote. Queries
    given with --query are planned, not executed.
    """
    file = reports.checked_path(out)
    optional_packages.require("write a report", optional_packages.PLOTS, optional_packages.command("plots"))
    made = Index(sessions.start(settings, remote, iceberg), table).report(columns=columns or None, queries=queries)
    made.save(file)
    output_of(output).rows("report", [{"table": table, "out": str(file), "verdict": made.status.verdict}])


COMMANDS = (why_not_command, clustering_command, advise, planned_scans_command, verify, report)
