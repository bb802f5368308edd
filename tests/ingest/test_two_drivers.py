# SPDX-License-Identifier: Apache-2.0
"""Two drivers run one streaming query on one checkpoint, as after a failover: one stops, the other goes on, one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from ingest import lake
from support import product, tables
from support.session import STOCK

from zonemap.ingest import listing
from zonemap.ingest.storage import LocalStorage
from zonemap.ingest.wire import IngestRecord

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

NAME = "lake.ingest.two_drivers"
ROWS = 5


def wait_for(what: str, holds: Callable[[], bool], logs: list[Path], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what}: not within {seconds} s; {ends_of(logs)}"
        time.sleep(0.05)


def ends_of(logs: list[Path]) -> str:
    return "\n".join(f"{log.name}: {log.read_text()[-3000:]}" for log in logs if log.exists())


def records_in(root: Path) -> list[IngestRecord]:
    found = [LocalStorage().read(str(path)) for path in listing.matching(root, "pending/*/*.rec")]
    return [IngestRecord.from_bytes(data) for data in found if data is not None]


def files_in(root: Path) -> int:
    """Counts the source files whose rows are in a queue. A driver that goes on for another may read two in one epoch."""
    return sum({record.seq: record.rows for record in records_in(root)}.values()) // ROWS


def writers_in(root: Path) -> Counter[str]:
    """Counts the records in a queue of each process that appended to it."""
    return Counter(record.writer for record in records_in(root))


def send(process: subprocess.Popen[bytes], number: int) -> None:
    """Sends a signal to the driver and its JVM."""
    if process.poll() is None:
        os.killpg(process.pid, number)


def test_a_driver_that_wakes_up_behind_its_successor_loses_and_doubles_nothing(
    spark, sqlite: Path, base: Path, tmp_path: Path
) -> None:
    tables.create(spark, NAME, "id BIGINT")
    (tmp_path / "in").mkdir()
    logs = [tmp_path / f"driver-{n}.log" for n in range(3)]
    root = Path(product.call(spark, "ingest_status", NAME)[0].root.removeprefix("file:"))
    files = 0

    def add(count: int) -> None:
        nonlocal files
        for _ in range(count):
            rows = "".join(f'{{"id": {files * ROWS + n}}}\n' for n in range(ROWS))
            (tmp_path / f"{files}.tmp").write_text(rows)
            (tmp_path / f"{files}.tmp").rename(tmp_path / "in" / f"{files:05}.json")
            files += 1

    def queued() -> int:
        return files_in(root)

    def start() -> subprocess.Popen[bytes]:
        driver = ["ingest.stream_driver", NAME, str(tmp_path), str(sqlite), f"file:{base / 'ingest'}"]
        return lake.start_python(driver, logs[len(drivers)])

    drivers: list[subprocess.Popen[bytes]] = []
    try:
        drivers.append(start())
        add(6)
        wait_for("the first driver appends", lambda: queued() >= 3, logs)
        send(drivers[0], signal.SIGSTOP)
        at_stop, ((first, records),) = queued(), writers_in(root).items()
        add(6)
        drivers.append(start())
        wait_for("the second driver goes on", lambda: queued() >= at_stop + 3, logs)
        send(drivers[0], signal.SIGCONT)
        add(6)
        before = queued()
        wait_for("one of both goes on", lambda: queued() >= min(files, before + 2), logs)
        wait_for(
            "the first driver ends, appends, or has an append dropped that its successor made",
            lambda: (
                drivers[0].poll() is not None
                or writers_in(root)[first] > records
                or "was appended before" in logs[0].read_text()
            ),
            logs,
        )
        # Spark may have ended one of both, which it found out of step with the checkpoint
        running = [driver for driver in drivers if driver.poll() is None]
        assert running, ends_of(logs)
        for driver in running:
            send(driver, signal.SIGKILL)
        add(3)
        drivers.append(start())
        wait_for("the third driver reads the rest", lambda: queued() >= files, logs)
    finally:
        (tmp_path / "stop").touch()
        for driver in drivers:
            send(driver, signal.SIGCONT)
            try:
                driver.wait(60)
            except subprocess.TimeoutExpired:
                send(driver, signal.SIGKILL)
    outcomes = [row.outcome for row in product.call(spark, "ingest_commit", NAME)]
    assert "committed" in outcomes, outcomes
    with product.off(spark):
        found = sorted(row.id for row in spark.table(NAME).collect())
    assert found == list(range(files * ROWS))
    (state,) = product.call(spark, "ingest_status", NAME)
    assert (state.pending_records, state.quarantined) == (0, 0), state
