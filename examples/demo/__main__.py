# SPDX-License-Identifier: Apache-2.0
"""``python -m demo``, the command of ``make demo``."""

from __future__ import annotations

from pathlib import Path

import click

from demo import command
from demo.main import run


@click.command()
@command.folder("build/demo", "Folder of the lake and the report; files of an earlier demo in it are replaced.")
@command.iceberg
@click.option("--commits", type=click.IntRange(1, 64), default=18, show_default=True, help="Commits to each table.")
def demo(folder: Path, iceberg: str, commits: int) -> None:
    """Write a small lake of real flights, index it, and compare queries with the index off and on."""
    command.end_with(lambda: run(folder, iceberg=iceberg, commits=commits))


if __name__ == "__main__":
    demo()
