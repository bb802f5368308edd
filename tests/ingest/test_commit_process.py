# SPDX-License-Identifier: Apache-2.0
"""`zonemap commit-loop` as a process of its own, which is killed, while a writer without a JVM goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from ingest import lake
from support import product, tables
from support.session import STOCK

import zonemap
from zonemap.ingest import Writer

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


@contextmanager
def committer(
    name: str,
    sqlite: Path,
    warehouse: str,
    log: Path,
    confs: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the command until the block ends."""
    catalog = lake.catalog_confs(sqlite, warehouse)
    process = lake.start_committer([name, *arguments], catalog, log, report_seconds=0.2, more=confs or {})
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def resident_bytes(process: subprocess.Popen[bytes]) -> int:
    """Returns the memory of the process; the JVM has taken its place."""
    assert Path(f"/proc/{process.pid}/comm").read_text() == "java\n"
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def test_process_is_killed_and_started_again(spark, sqlite: Path, base: Path, tmp_path: Path) -> None:
    name = tables.create(spark, "lake.ingest.python_process", "id BIGINT")
    warehouse = f"file:{base / 'ingest'}"
    catalog = lake.python_catalog(sqlite, warehouse)
    numbers = iter(range(1_000_000))
    with Writer(name, catalog=catalog, lane="gateway") as writer:

        def write(count: int) -> list[zonemap.ingest.Receipt]:
            return [writer.write(pa.table({"id": [next(numbers)]})) for _ in range(count)]

        with committer(name, sqlite, warehouse, tmp_path / "first.log") as process:
            assert write(5)[-1].wait(120).visible
            late = write(30)
            os.kill(process.pid, signal.SIGKILL)
            late += write(5)
            assert process.wait(120) == -signal.SIGKILL
        with committer(name, sqlite, warehouse, tmp_path / "second.log") as process:
            assert all(receipt.wait(120).visible for receipt in late)
            assert resident_bytes(process) < 600 * 1024**2
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(60) == 0, (tmp_path / "second.log").read_text()
    catalog.close()
    assert f"{name}: 40 records committed, 40 rows; 0 pending" in (tmp_path / "second.log").read_text()
    spark.sql(f"REFRESH TABLE {name}")
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) == list(range(40))


def test_prometheus_page_and_lines_of_json(spark, sqlite: Path, base: Path, tmp_path: Path) -> None:
    name = tables.create(spark, "lake.ingest.python_process_metrics", "id BIGINT")
    warehouse = f"file:{base / 'ingest'}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.metrics.conf.*.sink.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        "spark.metrics.conf.*.sink.prometheusServlet.path": "/metrics/prometheus",
    }
    log = tmp_path / "metrics.log"
    arguments = ("--output", "json")
    with committer(name, sqlite, warehouse, log, more, arguments) as process:
        with Writer(name, catalog=lake.python_catalog(sqlite, warehouse)) as writer:
            assert writer.write(pa.table({"id": [1]})).wait(120).visible
        found = ""
        counted = re.compile(r"^metrics_zonemap_commit_loop_driver_zonemap_ingest_commits_Value\S* 1$", re.MULTILINE)
        end = time.monotonic() + 30
        # an append is visible before its commit is counted
        while not counted.search(found) and time.monotonic() < end:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics/prometheus/") as page:
                found = page.read().decode()
            time.sleep(0.2)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
    assert counted.search(found), found
    events = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert events[-1]["event"].startswith(f"{name}: 1 records committed, 1 rows; 0 pending, 0 quarantined")
    assert abs(events[-1]["at"] - time.time()) < 120


def test_a_mistake_ends_the_process_with_one_sentence(sqlite: Path, base: Path, tmp_path: Path) -> None:
    log = tmp_path / "mistake.log"
    with committer("other.db.t", sqlite, f"file:{base / 'ingest'}", log) as process:
        assert process.wait(120) == 2
    assert "zonemap: Cannot commit to 'other.db.t': no conf describes the catalog." in log.read_text()
    assert "Exception" not in log.read_text()
