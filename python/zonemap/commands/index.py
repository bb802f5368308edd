# SPDX-License-Identifier: Apache-2.0
"""Commands that build, show, compact, clean and delete the index of a table."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from zonemap.commands import sessions
from zonemap.commands.output_format import output_of
from zonemap.common.errors import InvalidArgumentError
from zonemap.index.index import Index
from zonemap.index.namespace import Namespace, index_status
from zonemap.results import BuildResult
from zonemap.session.remote import server_of


@click.command("build-index")
@click.argument("table", required=False)
@click.option("--namespace", metavar="CATALOG.NAMESPACE", help="Index all tables of this namespace instead.")
@click.option(
    "--facts",
    multiple=True,
    metavar="KIND(COLUMN)",
    help="Build facts from the data files: values(a), bloom(b), ngrams(c), bounds(d), ranges(e), keys(f) or "
    "values(tags['k']); 'none' drops all facts. May be repeated.",
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
    spark = sessions.start(settings, remote, iceberg)
    of = Namespace(spark, namespace) if namespace is not None else Index(spark, str(table))
    found = of.build(
        facts=facts,
        columns=columns or None,
        estimate=estimate,
        max_fact_share=max_fact_share,
        progress=output == "table" and sys.stderr.isatty(),
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


@click.command("refresh-index")
@click.argument("table")
@sessions.options_of_session
def refresh(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Extend the index of TABLE to its current snapshot; `zonemap follow` does it again and again."""
    result = Index(sessions.start(settings, remote, iceberg), table).refresh()
    output_of(output).rows("refreshed", [result.as_dict()])


@click.command("prewarm-index")
@click.argument("table")
@sessions.options_of_session
def prewarm(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Load the segments of recent commits of TABLE into the driver of the server of --remote."""
    if server_of(sessions.confs(settings, remote)) is None:
        raise InvalidArgumentError(
            "Cannot prewarm the index for a driver that ends with this command. "
            "Give --remote of a server that runs queries."
        )
    result = Index(sessions.start(settings, remote, iceberg), table).prewarm()
    output_of(output).rows("prewarmed", [result.as_dict()])


@click.command("index-status")
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
        one = Index(spark, table).status()
        output_of(output).result(one, [one.as_dict()])
    else:
        found = index_status(spark) if namespace is None else Namespace(spark, namespace).status()
        output_of(output, always_list=True).result(found, [result.as_dict() for result in found])


@click.command("compact-index")
@click.argument("table")
@sessions.options_of_session
def compact(table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str) -> None:
    """Merge the segments of the index of TABLE into larger ones."""
    result = Index(sessions.start(settings, remote, iceberg), table).compact()
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        output_of(output).rows("compacted", [asdict(level) for level in result.levels])


@click.command("collect-garbage")
@click.argument("table")
@click.option("--delete", is_flag=True, help="Delete the files; without this option they are only listed.")
@click.option(
    "--older-than-hours", type=click.IntRange(0), default=24, show_default=True, help="Retain all younger files."
)
@sessions.options_of_session
def collect_garbage(
    table: str,
    delete: bool,
    older_than_hours: int,
    settings: tuple[str, ...],
    remote: str | None,
    iceberg: str | None,
    output: str,
) -> None:
    """List the index files of TABLE that no retained snapshot needs, or delete them."""
    index = Index(sessions.start(settings, remote, iceberg), table)
    result = index.collect_garbage(dry_run=not delete, older_than_hours=older_than_hours)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = f"{'deleted' if delete else 'would delete'} {len(result.files)} files, {result.bytes:,} bytes"
        output_of(output).rows(title, [asdict(file) for file in result.files])


@click.command("drop-index")
@click.argument("table")
@click.option("--delete", is_flag=True, help="Delete the index; without this option its files are only listed.")
@sessions.options_of_session
def drop(
    table: str, delete: bool, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str
) -> None:
    """List the files of the index of TABLE, or delete the index. The table itself does not change."""
    result = Index(sessions.start(settings, remote, iceberg), table).drop(dry_run=not delete)
    if output == "json":
        output_of(output).rows("", [result.as_dict()])
    else:
        title = "deleted" if delete else "would delete"
        output_of(output).rows(f"{title} {len(result.paths)} files", [{"path": path} for path in result.paths])


COMMANDS = (build, refresh, status, prewarm, compact, collect_garbage, drop)
