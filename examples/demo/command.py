# SPDX-License-Identifier: Apache-2.0
"""What the commands of both demos share: their options, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from zonemap import ZonemapError

#: The option of Iceberg's runtime.
iceberg = click.option(
    "--iceberg",
    metavar="VERSION|JAR",
    default="1.11.0",
    show_default=True,
    help="Iceberg's runtime: a version to download, or a jar.",
)


def folder(default: str, help_text: str) -> Callable[[Any], Any]:
    """Returns the option of the folder of a demo."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--dir", "folder", type=kind, default=Path(default), show_default=True, help=help_text)


def end_with(run: Callable[[], int]) -> NoReturn:
    """Runs a demo and ends the process with its exit code, or with the sentence of its error and 1."""
    try:
        if os.environ.get("SPARK_REMOTE"):
            raise ZonemapError(
                "Cannot run the demo with SPARK_REMOTE: it starts a session of its own. Unset SPARK_REMOTE."
            )
        sys.exit(run())
    except ZonemapError as error:
        sys.exit(f"zonemap: {error}")
