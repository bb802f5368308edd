# SPDX-License-Identifier: Apache-2.0
"""The commands of the ingest queue of a table: one for each of the functions of ``zonemap.ingest``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from zonemap import ingest
from zonemap.commands import sessions
from zonemap.commands.output_format import output_of
from zonemap.common.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The rows of a result, whether they are always a list, and whether all is as the user wants it.
_Result = tuple[list[dict[str, Any]], bool, bool]

_LANE = click.option("--lane", required=True, help="Name of the producer, as ingest-quarantined shows it.")
_SEQ = click.option("--seq", type=int, required=True, help="Number of the append in its lane.")


def _timeout(seconds: int) -> Any:
    return click.option(
        "--timeout",
        "timeout_seconds",
        type=click.IntRange(0),
        default=seconds,
        show_default=True,
        help="Longest time in seconds; what is not committed by then stays in the queue.",
    )


def _command(name: str, *options: Callable[..., Any]) -> Callable[[Callable[..., _Result]], click.Command]:
    """Makes the command of a function, which gets a session, the table and the given options."""

    def of(work: Callable[..., _Result]) -> click.Command:
        def run(
            table: str, settings: tuple[str, ...], remote: str | None, iceberg: str | None, output: str, **given: Any
        ) -> None:
            rows, is_list, is_well = work(sessions.start(settings, remote, iceberg, ingest=True), table, **given)
            output_of(output, always_list=is_list).rows(name.replace("-", " "), rows)
            if not is_well:
                sys.exit(1)

        command: Callable[..., Any] = sessions.options_of_session(run)
        for option in reversed(options):
            command = option(command)
        return click.command(name, help=work.__doc__)(click.argument("table")(command))

    return of


@_command("ingest-status")
def status(spark: SparkSession, table: str) -> _Result:
    """Show the ingest queue of TABLE and its committers."""
    return [ingest.status(spark, table).as_dict()], False, True


@_command("ingest-commit", _timeout(600))
def commit(spark: SparkSession, table: str, timeout_seconds: int) -> _Result:
    """Commit the appends in the queue of TABLE until none is left that can be committed.

    The exit code is 1 if a branch is paused or stopped, or if another committer or the catalog prevents its commit.
    """
    found = ingest.commit(spark, table, timeout_seconds=timeout_seconds)
    return [row.as_dict() for row in found], True, all(row.outcome in {"committed", "idle"} for row in found)


@_command("ingest-pause", click.option("--reason", default="no reason given", help="Text that ingest-status shows."))
def pause(spark: SparkSession, table: str, reason: str) -> _Result:
    """Let every committer of TABLE, in every process, stop before its next commit; writers go on."""
    ingest.pause(spark, table, reason=reason)
    return [{"table": table, "paused": reason}], False, True


@_command("ingest-resume")
def resume(spark: SparkSession, table: str) -> _Result:
    """End the pause of the committers of TABLE."""
    return [{"table": table, "was_paused": ingest.resume(spark, table)}], False, True


@_command(
    "ingest-wait",
    click.option("--lane", help="Name of the producer of one append; by default all appends in the queue."),
    click.option("--seq", type=int, help="Number of the append in its lane; required with --lane."),
    _timeout(60),
)
def wait(spark: SparkSession, table: str, lane: str | None, seq: int | None, timeout_seconds: int) -> _Result:
    """Wait until the appends to TABLE are visible; the exit code is 1 if one of them is not."""
    found = ingest.wait(spark, table, lane=lane, seq=seq, timeout_seconds=timeout_seconds)
    return [row.as_dict() for row in found], True, all(row.state == "visible" for row in found)


@_command("ingest-quarantined")
def quarantined(spark: SparkSession, table: str) -> _Result:
    """List the appends to TABLE that cannot be committed, with the reason."""
    return [row.as_dict() for row in ingest.quarantined(spark, table)], True, True


@_command("ingest-requeue", _LANE, _SEQ)
def requeue(spark: SparkSession, table: str, lane: str, seq: int) -> _Result:
    """Append a quarantined record of TABLE to the queue again, after its reason is removed."""
    return [row.as_dict() for row in ingest.requeue(spark, table, lane=lane, seq=seq)], True, True


@_command("ingest-discard", _LANE, _SEQ)
def discard(spark: SparkSession, table: str, lane: str, seq: int) -> _Result:
    """Delete a quarantined record of TABLE for good, so that its rows never become visible."""
    return [row.as_dict() for row in ingest.discard(spark, table, lane=lane, seq=seq)], True, True


@_command(
    "ingest-reset",
    click.option("--branch", default="main", show_default=True, help="Branch that has lost its state."),
    click.option(
        "--watermark", "watermarks", multiple=True, metavar="LANE=SEQ", help="Newest append of a lane; may be repeated."
    ),
    click.option("--forget-known", is_flag=True, help="Forget the watermarks that the table has."),
    click.option("--take-over", is_flag=True, help="Take the queue over from another catalog entry."),
)
def reset(
    spark: SparkSession, table: str, branch: str, watermarks: tuple[str, ...], forget_known: bool, take_over: bool
) -> _Result:
    """Start the ingestion of TABLE anew after it has lost its state; a wrong watermark loses or doubles rows."""
    pointer = ingest.reset(
        spark,
        table,
        branch=branch,
        watermarks=_watermarks(watermarks) or None,
        forget_known=forget_known,
        take_over=take_over,
    )
    return [{"table": table, "pointer": pointer}], False, True


@_command(
    "ingest-collect-garbage",
    click.option("--delete", is_flag=True, help="Delete the files; without this option they are only listed."),
    click.option("--older-than-hours", type=click.IntRange(0), default=72, show_default=True, help="Least age."),
)
def collect_garbage(spark: SparkSession, table: str, delete: bool, older_than_hours: int) -> _Result:
    """List the files of TABLE that neither it nor a record names, or delete them."""
    found = ingest.collect_garbage(spark, table, dry_run=not delete, older_than_hours=older_than_hours)
    return [row.as_dict() for row in found], True, True


COMMANDS = (status, commit, pause, resume, wait, quarantined, requeue, discard, reset, collect_garbage)


def _watermarks(given: tuple[str, ...]) -> Mapping[str, int]:
    """Returns the numbers by lane; a lane may contain '='."""
    found: dict[str, int] = {}
    for text in given:
        lane, equals, seq = text.rpartition("=")
        if not equals or not lane or not seq.isdecimal():
            raise InvalidArgumentError(f"Cannot read --watermark '{text}': write --watermark LANE=SEQ with a number.")
        if lane in found:
            raise InvalidArgumentError(f"Cannot read --watermark '{text}': the lane has another one. Give one of them.")
        found[lane] = int(seq)
    return found
