# SPDX-License-Identifier: Apache-2.0
"""Servers of Java as processes of their own, each a source file of this folder."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from support import session

STARTUP_SECONDS = 90


@contextmanager
def java_server(folder: Path, source: str, jars: Sequence[str], arguments: Sequence[str]) -> Iterator[str]:
    """Runs a server with these jars and Spark's; yields the port that it prints, and ends its stdin at the end.

    The error stream of the server is the file `stderr` in `folder`. A folder that another server has left keeps its
    files.
    """
    folder.mkdir(exist_ok=True)
    paths = [session.JARS / name for name in jars]
    missing = [str(path) for path in paths if not path.exists()]
    assert not missing, f"Cannot start {source} without {missing}. Run 'make jars'."
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else "java"
    class_path = os.pathsep.join([*map(str, paths), str(Path(pyspark.__file__).parent / "jars" / "*")])
    command = [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-cp", class_path]
    command += [str(Path(__file__).with_name(source)), *arguments]
    with (folder / "stderr").open("w") as errors:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
    timer = threading.Timer(STARTUP_SECONDS, server.kill)
    timer.start()
    try:
        port = server.stdout.readline().strip()
        timer.cancel()
        assert port, f"{source} did not start:\n{(folder / 'stderr').read_text()[-3000:]}"
        yield port
    finally:
        timer.cancel()
        server.stdin.close()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
