# SPDX-License-Identifier: Apache-2.0
"""Runs `zonemap serve` before the Hadoop catalog of a folder."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zonemap import ZonemapError


@dataclass(frozen=True)
class Running:
    """A running server.

    Attributes:
        url: Its URL.
        pid: Its process, which has the CPU time of all its plans.
    """

    url: str
    pid: int


@contextmanager
def running(warehouse: Path, iceberg: str, *options: str, log: Path | None = None) -> Iterator[Running]:
    """Runs a server at a free port until the block ends.

    Args:
        warehouse: The folder of the catalog.
        iceberg: Iceberg's runtime, as a version or as a jar.
        options: More options of `zonemap serve`.
        log: A file for the log of the server; without one it is the standard error of this process.

    Raises:
        ZonemapError: the server did not start.
    """
    properties = ("--catalog-property", "type=hadoop", "--catalog-property", f"warehouse={warehouse}")
    command = [sys.executable, "-m", "zonemap", "serve", "--port", "0", "--iceberg", iceberg, *properties, *options]
    lines = log.open("wb") if log else None
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=lines, text=True)
    finally:
        if lines:
            lines.close()
    try:
        assert process.stdout is not None
        found = re.search(r"https?://\S+", process.stdout.readline())
        if found is None:
            where = f"in {log}" if log else "above"
            raise ZonemapError(f"Cannot serve plans of {warehouse}: the server did not start. Its output is {where}.")
        yield Running(found[0], process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
