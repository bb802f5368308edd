# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ingest import producers
from ingest.support import body_of, data_of

TESTS = Path(__file__).resolve().parents[1]


def run(*arguments: str) -> Any:
    """Runs producers and returns their report."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"}
    command = [sys.executable, "-m", "ingest.producers", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else None


def check_lane(records: list[dict[str, Any]], lane: str, count: int) -> None:
    """Each number has one record with its rows, and each record names the one before."""
    records = sorted(records, key=lambda record: record["seq"])
    assert [(record["seq"], record["prev-seq"]) for record in records] == [(seq, seq - 1) for seq in range(count)]
    for record in records:
        assert data_of(record).to_pylist() == producers.rows(lane, record["seq"]).to_pylist()


def test_death_at_each_step_of_a_write(tmp_path: Path) -> None:
    points = run("crash-points", str(tmp_path))
    for point in points:
        spool = tmp_path / "warehouse" / "db" / "_zonemap_ingest" / point["table"]
        names = [path.name for path in spool.glob("*/pending/a/*")]
        assert {name for name in names if not name.startswith(".")} == {name for name in names if name.endswith(".rec")}
        check_lane([body_of(path) for path in spool.glob("*/pending/a/*.rec")], "a", 2)
    # The write dies before and after its record is durable, and leaves a temporary file at least once.
    killed = [point for point in points if point["killed"]]
    assert {point["stored"] for point in killed} == {0, 1}
    assert len(killed) == len(points) - 1 > 10
    assert list(tmp_path.glob("warehouse/db/_zonemap_ingest/*/*/pending/a/.*.tmp"))


@pytest.mark.parametrize("seed", [1, 2])
def test_producer_that_is_killed_again_and_again(tmp_path: Path, seed: int) -> None:
    assert run("kills", str(tmp_path), str(seed))["killed"] > 1
    records = [body_of(path) for path in tmp_path.glob("warehouse/db/_zonemap_ingest/*/pending/a/*.rec")]
    check_lane(records, "a", producers.RECORDS)


def test_eight_processes_at_the_same_time(tmp_path: Path) -> None:
    run("together", str(tmp_path))
    lanes = defaultdict(list)
    for path in tmp_path.glob("warehouse/db/_zonemap_ingest/*/pending/*/*.rec"):
        lanes[path.parent.name].append(body_of(path))
    assert len(lanes) == producers.PRODUCERS
    for lane, records in lanes.items():
        check_lane(records, lane, producers.RECORDS)
    assert len({record["queue-id"] for records in lanes.values() for record in records}) == 1
    paths = [file["content-file"]["file-path"] for records in lanes.values() for r in records for file in r["files"]]
    assert len(paths) == len(set(paths)) == producers.PRODUCERS * producers.RECORDS
