# SPDX-License-Identifier: Apache-2.0
"""Producers in processes of their own, which are killed. Each process is a fork of one that has imported everything.

python -m ingest.producers crash-points FOLDER
python -m ingest.producers kills FOLDER SEED
python -m ingest.producers together FOLDER
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from zonemap.ingest import Writer

SCHEMA = Schema(
    NestedField(1, "seq", LongType()), NestedField(2, "row", LongType()), NestedField(3, "lane", StringType())
)
CRASHES = {"open", "os.link", "os.mkdir", "os.remove", "os.scandir", "os.rename"}
MOST_POINTS = 200
RECORDS = 40
PRODUCERS = 8


def catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db?timeout=60", warehouse=f"file://{folder}/warehouse")


def rows(lane: str, seq: int) -> pa.Table:
    """The rows of one record: a function of lane and number, so that a repeated record has the same rows."""
    count = seq % 7 + 1
    return pa.table({"seq": [seq] * count, "row": range(count), "lane": [lane] * count})


def fork(work: Callable[[], None]) -> int:
    """Starts a process that does the work; it ends with 0, or with 1 after an error."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def crash_points(folder: Path) -> None:
    """Kills a writer at each system call of a write, one after another, and starts it again."""
    completed = None
    points = []
    for point in range(MOST_POINTS):
        name = f"t{point}"
        assert code_of(fork(lambda name=name: create(folder, name))) == 0
        code = code_of(fork(lambda name=name, point=point: write_and_die(folder, name, point)))
        assert code in (0, -signal.SIGKILL), code
        stored = len(list(folder.glob(f"warehouse/db/_zonemap_ingest/{name}/*/pending/a/*.rec")))
        assert code_of(fork(lambda name=name: write_again(folder, name))) == 0
        points.append({"table": name, "stored": stored, "killed": code != 0})
        if code == 0:
            completed = point
            break
    assert completed is not None
    print(json.dumps(points))


def create(folder: Path, name: str) -> None:
    found = catalog(folder)
    found.create_namespace_if_not_exists("db")
    found.create_table(f"db.{name}", SCHEMA)


def write_and_die(folder: Path, name: str, point: int) -> None:
    with writer_of(folder, name) as writer:
        left = point

        def step() -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        sync = os.fsync

        def fsync(descriptor: Any) -> None:
            step()
            sync(descriptor)
            step()

        os.fsync = fsync
        armed = True
        sys.addaudithook(lambda event, _: step() if armed and event in CRASHES else None)
        writer.write(rows("a", 0), seq=0)
        armed = False
        os.fsync = sync


def write_again(folder: Path, name: str) -> None:
    with writer_of(folder, name) as writer:
        for seq in (0, 1):
            writer.write(rows("a", seq), seq=seq)


def writer_of(folder: Path, name: str) -> Writer:
    root = folder / "warehouse" / "db" / "_zonemap_ingest" / name
    return Writer(f"lake.db.{name}", catalog=catalog(folder), root=root, lane="a")


def kills(folder: Path, seed: int) -> None:
    """Kills a producer soon after each of a few records, and lets it write the others. Returns with all written.

    The kills follow the records that are stored, so that a fast machine does not finish before them.
    """
    chooser = random.Random(seed)
    assert code_of(fork(lambda: create(folder, "events"))) == 0
    killed = 0
    for record in range(RECORDS // 2):
        pid = fork(lambda: produce(folder, "a"))
        wait_for(record, folder, pid)
        time.sleep(chooser.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        code = code_of(pid)
        assert code in (0, -signal.SIGKILL), code
        killed += code != 0
    assert code_of(fork(lambda: produce(folder, "a"))) == 0
    print(json.dumps({"killed": killed}))


def wait_for(records: int, folder: Path, pid: int) -> None:
    """Waits until so many records are stored, or the process has ended. Its exit code stays to be asked for."""
    deadline = time.monotonic() + 60
    while len(list(folder.glob("warehouse/db/_zonemap_ingest/*/pending/a/*.rec"))) < records:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        assert time.monotonic() < deadline, f"fewer than {records} records after 60 s"
        time.sleep(0.001)


def together(folder: Path) -> None:
    """Runs eight producers at the same time, of which each has a lane."""
    assert code_of(fork(lambda: create(folder, "events"))) == 0
    pids = [fork(lambda lane=f"p{number}": produce(folder, lane)) for number in range(PRODUCERS)]
    assert [code_of(pid) for pid in pids] == [0] * PRODUCERS


def produce(folder: Path, lane: str) -> None:
    """Writes the records of a lane; starts from the beginning, as a producer that has lost its memory."""
    with Writer("lake.db.events", catalog=catalog(folder), lane=lane) as writer:
        for seq in range(RECORDS):
            writer.write(rows(lane, seq), seq=seq)


if __name__ == "__main__":
    place = Path(sys.argv[2])
    match sys.argv[1]:
        case "crash-points":
            crash_points(place)
        case "kills":
            kills(place, int(sys.argv[3]))
        case "together":
            together(place)
