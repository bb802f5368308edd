# SPDX-License-Identifier: Apache-2.0
"""The ``zonemap`` command."""

from __future__ import annotations

import sys
import warnings

import click

from zonemap.commands import diagnose, index, loops, queue, serve, sessions
from zonemap.commands import doctor as checks
from zonemap.commands.output_format import output_of
from zonemap.common.errors import ZonemapError
from zonemap.common.version import SPARK_MINORS, __version__
from zonemap.session import spark_errors
from zonemap.session.jar import jar_path
from zonemap.session.remote import address_of, server_of

#: Names of before, each with the name of today.
RENAMED = {
    "build": "build-index",
    "refresh": "refresh-index",
    "status": "index-status",
    "prewarm": "prewarm-index",
    "merge": "compact-index",
    "gc": "collect-garbage",
    "drop": "drop-index",
    "history": "planned-scans",
    "ingest-gc": "ingest-collect-garbage",
}


class _Commands(click.Group):
    """The commands; a name of before is refused with the name of today."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in RENAMED:
            ctx.fail(f"No such command '{args[0]}': its name is '{RENAMED[args[0]]}'.")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="zonemap")
def cli() -> None:
    """Zonemap index for Apache Iceberg tables in Spark."""


@cli.command("jar-path")
@click.option("--ingest", is_flag=True, help="Print the path of the jar of append ingestion.")
@click.option(
    "--spark",
    type=click.Choice(SPARK_MINORS),
    help="The minor version of Spark that the jar is for; by default that of the installed Spark.",
)
def jar_path_command(ingest: bool, spark: str | None) -> None:
    """Print the path of the Spark extension's jar, for --jars or spark.jars."""
    click.echo(jar_path(ingest=ingest, spark=spark))


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


for command in (*index.COMMANDS, *diagnose.COMMANDS, *loops.COMMANDS, *queue.COMMANDS, *serve.COMMANDS):
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
