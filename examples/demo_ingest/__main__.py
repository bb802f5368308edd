# SPDX-License-Identifier: Apache-2.0
"""``python -m demo_ingest``, the command of ``make demo-ingest``."""

from __future__ import annotations

from pathlib import Path

import click

from demo import command
from demo_ingest.main import run


@click.command()
@command.folder("build/demo-ingest", "Folder of the lake; everything in it is deleted.")
@command.iceberg
@click.option(
    "--sqlite",
    metavar="VERSION|JAR",
    default="3.50.3.0",
    show_default=True,
    help="The JDBC driver of SQLite: a version to download, or a jar.",
)
def demo_ingest(folder: Path, iceberg: str, sqlite: str) -> None:
    """Append real flights from eight processes through a queue, kill two of them, and count what the table holds."""
    command.end_with(lambda: run(folder, iceberg=iceberg, sqlite=sqlite))


if __name__ == "__main__":
    demo_ingest()
