"""`zonemap commit-loop` as a process of its own, which is killed, while a writer without a JVM goes on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
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
def committer(name: str, sqlite: Path, warehouse: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the command until the block ends."""
    process = lake.start_committer([name], sqlite, warehouse, log, report_seconds=0.2)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def jvm_of(process: subprocess.Popen[bytes]) -> int:
    """Returns the JVM that the command has started."""
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


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
            # The JVM alone dies, as when memory is short: the command ends too, so that a supervisor starts it again.
            os.kill(jvm_of(process), signal.SIGKILL)
            late += write(5)
            assert process.wait(120) == 2, (tmp_path / "first.log").read_text()
        assert "the Spark driver of this process has ended" in (tmp_path / "first.log").read_text()
        with committer(name, sqlite, warehouse, tmp_path / "second.log") as process:
            assert all(receipt.wait(120).visible for receipt in late)
            os.kill(process.pid, signal.SIGTERM)
            assert process.wait(60) == 0, (tmp_path / "second.log").read_text()
    catalog.close()
    assert f"{name}: 40 records committed, 40 rows; 0 pending" in (tmp_path / "second.log").read_text()
    spark.sql(f"REFRESH TABLE {name}")
    with product.off(spark):
        assert sorted(row.id for row in spark.table(name).collect()) == list(range(40))
