# SPDX-License-Identifier: Apache-2.0
"""The processes of the demo, each a group of its own, so that a process and its JVM are killed together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import TracebackType
from typing import Self

from demo_ingest.lake import TABLE, WRITERS, Lake
from zonemap import ZonemapError

#: How each writer appends; the others are plain Python.
SPARK_WRITERS = {0: "stream", 1: "batch"}
COMMITTER = "committer"


class Processes:
    """Starts, kills and starts again; all are killed at the end of the block. Thread-safe."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()

    def start_committer(self) -> None:
        """Starts ``zonemap commit-loop``."""
        lake = self._lake
        settings = [part for key, value in lake.confs().items() for part in ("--conf", f"{key}={value}")]
        command = ["zonemap", "commit-loop", TABLE, "--every", "0.5", "--iceberg", lake.iceberg, *settings]
        self._start(COMMITTER, command)

    def start_writer(self, number: int) -> None:
        """Starts a writer; it goes on behind the last append of its journal."""
        lake = self._lake
        if number in SPARK_WRITERS:
            arguments = [str(lake.folder), lake.iceberg, lake.sqlite, str(number), SPARK_WRITERS[number]]
            self._start(f"writer-{number}", ["demo_ingest.spark_writer", *arguments])
        else:
            self._start(f"writer-{number}", ["demo_ingest.writer", str(lake.folder), str(number)])

    def crash(self, name: str) -> int:
        """Kills a process (kill -9) and starts it again; returns the id of the killed one."""
        with self._lock:
            killed = self._kill(name)
            if name == COMMITTER:
                self.start_committer()
            else:
                self.start_writer(int(name.removeprefix("writer-")))
        return killed

    def check(self) -> bool:
        """Returns True while a writer runs.

        Raises:
            ZonemapError: a process has ended with an error.
        """
        with self._lock:
            running = dict(self._running)
        for name, process in running.items():
            if process.poll() not in (None, 0) or (name == COMMITTER and process.poll() is not None):
                log = self._lake.log(name)
                raise ZonemapError(
                    f"Cannot go on with the demo: '{name}' ended with {process.returncode}. Its output is in '{log}':\n"
                    + "\n".join(log.read_text(errors="replace").splitlines()[-5:])
                )
        return any(running[f"writer-{number}"].poll() is None for number in range(WRITERS))

    def _kill(self, name: str) -> int:
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return process.pid

    def _start(self, name: str, module: list[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with self._lake.log(name).open("ab") as output:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", *module],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._running):
            if self._running[name].poll() is None:
                self._kill(name)
