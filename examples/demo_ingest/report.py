# SPDX-License-Identifier: Apache-2.0
"""Prints the figures of the demo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from demo_ingest.counting import Counted
from demo_ingest.direct import Direct
from demo_ingest.lake import WRITERS
from demo_ingest.queries import Fresh


@dataclass(frozen=True)
class Crash:
    """A process that was killed.

    Attributes:
        at: The time, in seconds since 1970.
        seconds: The time since the first append.
        name: The process.
        process: Its id.
        appends: Appends that were accepted by then.
    """

    at: float
    seconds: float
    name: str
    process: int
    appends: int


def print_tables(
    console: Console, counted: Counted, direct: Direct, crashes: Sequence[Crash], fresh: Fresh | None
) -> None:
    """Prints what happened, the figures of the table, the comparison, and the query.

    Args:
        console: The terminal.
        counted: The figures of the table.
        direct: The appends without a queue.
        crashes: The processes that were killed.
        fresh: The query of the newest rows.
    """
    for crash in crashes:
        console.print(
            f"after {crash.seconds:.0f} s and {crash.appends:,} appends: kill -9 of {crash.name} (process "
            f"{crash.process}), which was started again",
            highlight=False,
            markup=False,
        )
    table = Table(title="counted from the Parquet files of the table, without Spark and zonemap", title_justify="left")
    table.add_column("")
    table.add_column("appends", justify="right")
    table.add_column("rows", justify="right")
    table.add_row("accepted by the spool", f"{counted.accepted_appends:,}", f"{counted.accepted_rows:,}")
    table.add_row("committed", f"{counted.committed_appends:,}", f"{counted.committed_rows:,}")
    table.add_row("quarantined", f"{counted.quarantined:,}", "")
    table.add_row("duplicates", "", f"{counted.duplicates:,}")
    table.add_row("lost", "", f"{counted.lost:,}")
    console.print(table)
    table = Table(title=f"{WRITERS} writers", title_justify="left")
    for name in ("", "appends", "snapshots", "refused commits"):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("commit by themselves", f"{direct.appends:,}", f"{counted.direct_snapshots:,}", f"{direct.refused:,}")
    table.add_row("queue", f"{counted.committed_appends:,}", f"{counted.snapshots:,}", "0")
    console.print(table)
    lines = [
        f"accepted to committed: {counted.median_seconds:.1f} s in the median; {counted.longest_seconds:.1f} s at "
        "most, for appends that waited until the killed committer had started again"
    ]
    if fresh is not None:
        when = "while" if fresh.while_writing else "after"
        lines.append(
            f"a query {when} they wrote, of flights that were accepted {fresh.age_seconds:.1f} s before its result: "
            f"planned from the index, {fresh.run.files:,} of {fresh.files:,} files, {fresh.run.planning_ms:,.0f} ms of "
            "planning, the same rows as with Iceberg's plan"
        )
    for line in lines:
        console.print(line, highlight=False, markup=False)
