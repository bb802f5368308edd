# SPDX-License-Identifier: Apache-2.0
"""``python -m demo_serve``, the command of ``make demo-serve``."""

from __future__ import annotations

from pathlib import Path

import click

from demo import command
from demo_serve.main import run


@click.command()
@command.folder("build/demo-serve", "Folder of the lake; files of an earlier demo in it are replaced.")
@command.iceberg
def demo_serve(folder: Path, iceberg: str) -> None:
    """Index a small lake, and compare the plans of two clients with those that a server makes for them."""
    command.end_with(lambda: run(folder, iceberg=iceberg))


if __name__ == "__main__":
    demo_serve()
