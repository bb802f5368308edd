# SPDX-License-Identifier: Apache-2.0
"""The processes of a soak, and the faults that are done to them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self


class Processes:
    """Processes by name; one that ends by itself with an error is a violation. Not thread-safe."""

    def __init__(self) -> None:
        self._starts: dict[str, Callable[[], subprocess.Popen[bytes]]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        #: Wakes a process that is stopped, by its name: the time.
        self._stopped: dict[str, float] = {}

    def start(self, name: str, how: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._starts[name] = how
        self._running[name] = how()

    def kill(self, name: str) -> None:
        """Kills (-9) the process and all that it started, also while it is stopped, and starts it again."""
        self.end(name)
        self._running[name] = self._starts[name]()

    def end(self, name: str) -> None:
        process = self._running.pop(name)
        self._stopped.pop(name, None)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str, seconds: float) -> None:
        """Stops the process for a while (SIGSTOP); `wake` lets it go on."""
        os.killpg(self._running[name].pid, signal.SIGSTOP)
        self._stopped[name] = time.monotonic() + seconds

    def wake(self, *, everybody: bool = False) -> None:
        for name, until in list(self._stopped.items()):
            if everybody or time.monotonic() >= until:
                os.killpg(self._running[name].pid, signal.SIGCONT)
                del self._stopped[name]

    def join(self, names: Iterable[str], seconds: float) -> None:
        """Waits until the processes end."""
        for name in names:
            self._running.pop(name).wait(seconds)

    def ended(self) -> list[str]:
        """The processes that have ended by themselves."""
        return [
            f"{name} ended with {process.returncode}"
            for name, process in self._running.items()
            if process.poll() is not None
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, process in list(self._running.items()):
            if process.poll() is None:
                self.end(name)


def chaos(
    processes: Processes,
    chooser: random.Random,
    committers: list[str],
    writers: list[str],
    seconds: float,
    expire: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Kills and stops processes at random, and ends the time of their keys; returns the number of each fault.

    One committer is killed in each call, since its JVM needs seconds to start again; stops are frequent.
    """
    done = {"committer killed": 0, "writer killed": 0, "committer stopped": 0, "writer stopped": 0, "keys expired": 0}
    end = time.monotonic() + seconds
    kill_at = time.monotonic() + chooser.uniform(0.1, 0.9) * seconds
    while not done["committer killed"] or time.monotonic() < end:
        time.sleep(chooser.uniform(0.05, 0.5))
        processes.wake()
        if time.monotonic() >= kill_at and not done["committer killed"]:
            processes.kill(chooser.choice(committers))
            done["committer killed"] += 1
        fault = chooser.random()
        if fault < 0.25:
            processes.kill(chooser.choice(writers))
            done["writer killed"] += 1
        elif fault < 0.4:
            processes.stop(chooser.choice(writers), chooser.uniform(0.1, 3))
            done["writer stopped"] += 1
        elif fault < 0.5:
            processes.stop(chooser.choice(committers), chooser.uniform(0.1, 2))
            done["committer stopped"] += 1
        elif fault < 0.7 and expire is not None:
            expire()
            done["keys expired"] += 1
    processes.wake(everybody=True)
    return done
