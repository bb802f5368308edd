#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches off each guard of dev/guards in turn and runs the test that must then fail (`make guards`).

The exit code is 0 if each guard that ran was killed, or survived and is listed as redundant.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import report
from catalogue import ROOT, Guard, chosen, load, number
from scratch import Scratch

WORK = ROOT / "build" / "guards"
SECONDS = 900.0
#: The first rule of SOUNDNESS.md about snapshots, stores, memory and failures.
FIRST_OF_STORE = 126


class Turn:
    """A turn on a machine that several builds share: an exclusive lock of a file, held for a few guards in a row."""

    def __init__(self, lock: Path | None, seconds: float):
        self._file = lock.open("a") if lock is not None else None
        self._seconds = seconds
        self._until: float | None = None

    def take(self) -> None:
        """Waits for the lock unless this turn still has it."""
        if self._until is not None:
            return
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._until = time.monotonic() + self._seconds

    def pass_on(self) -> None:
        """Releases the lock if the turn is over, so that another build can take it."""
        if self._file is not None and self._until is not None and time.monotonic() > self._until:
            fcntl.flock(self._file, fcntl.LOCK_UN)
            self._until = None
            time.sleep(1.5)


def work(
    scratch: Scratch,
    waiting: queue.SimpleQueue[Guard],
    baseline: list[Guard],
    options: argparse.Namespace,
    writing: threading.Lock,
) -> bool:
    """Runs guards of the queue in one copy of the sources until none is left; True if no verdict is unexpected.

    The suites of the guards in `baseline` are run first, without a change.
    """
    expected = True
    turn = Turn(options.lock, options.turn)
    try:
        while not waiting.empty():
            try:
                guard = waiting.get_nowait()
            except queue.Empty:
                break
            turn.take()
            scratch.refresh()
            if baseline:
                failed, baseline = scratch.failing(baseline, options.seconds), []
                print("\n".join(f"!! fails with all guards on: {case}" for case in failed), flush=True)
                expected = expected and not failed
            verdict = scratch.judge(guard, options.seconds)
            turn.pass_on()
            wrong = report.unexpected(guard, verdict.verdict)
            expected = expected and not wrong
            with writing:
                report.keep(guard, verdict, load())
                mark = "!!" if wrong else "  "
                print(f"{mark} {verdict.verdict:9} {verdict.seconds:4} s  {guard.id}: {verdict.by}", flush=True)
    finally:
        scratch.close()
    return expected


def main(arguments: list[str]) -> int:
    """Runs the chosen guards and writes results.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="ids, beginnings of ids, rules, names of source files or tests")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the sources that work in parallel")
    parser.add_argument("--pending", action="store_true", help="only guards without the expected verdict")
    parser.add_argument("--table", action="store_true", help="print the guards with the stored results and run nothing")
    parser.add_argument("--baseline", action="store_true", help="first run the chosen Scala suites without a change")
    parser.add_argument("--list", action="store_true", help="print the chosen guards and run nothing")
    parser.add_argument("--jars", type=Path, default=ROOT / "build" / "jars", help="the jars of Python tests")
    parser.add_argument("--lock", type=Path, help="a file to lock while guards run, for builds that share the machine")
    parser.add_argument("--turn", type=float, default=240.0, help="the seconds after which the lock is passed on")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the longest time of one test")
    options = parser.parse_args(arguments)

    guards = load()
    results = report.read()
    todo = [g for g in chosen(guards, options.only) if not (options.pending and report.is_settled(g, results))]
    if options.list:
        print("\n".join(f"{guard.id} ({', '.join(guard.rules)}): {guard.test} {guard.case or ''}" for guard in todo))
        return 0
    if options.table:
        print(report.table(todo, results))
        return 0
    os.nice(10)
    # Rules about rows come before rules about the store, and slow tests last. Guards of one module run in a row.
    waiting: queue.SimpleQueue[Guard] = queue.SimpleQueue()
    for guard in sorted(todo, key=lambda g: (g.is_python, number(g.rules[0]) >= FIRST_OF_STORE, g.module, g.file)):
        waiting.put(guard)
    writing = threading.Lock()
    verdicts: list[bool] = []
    scratches = [Scratch(WORK / f"tree-{n}", options.jars) for n in range(1, options.jobs + 1)]
    first = todo if options.baseline else []

    def run(scratch: Scratch) -> None:
        verdicts.append(work(scratch, waiting, first if scratch is scratches[0] else [], options, writing))

    threads = [threading.Thread(target=run, args=(scratch,), daemon=True) for scratch in scratches]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for scratch in scratches:
            scratch.close()
    return 0 if len(verdicts) == len(threads) and all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
