# SPDX-License-Identifier: Apache-2.0
"""A Spark Connect server in a process of its own, with the extension: the command line and the Python package."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import guide, session
from support.session import ROOT, STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PROGRAM = """
import traceback, warnings
from pyspark.sql import SparkSession
import zonemap

warnings.simplefilter("error", zonemap.ZonemapWarning)
spark = zonemap.configure(SparkSession.builder.remote({url!r}), iceberg="1.11.0").getOrCreate()
spark.sql("CREATE TABLE lake.db.t AS SELECT id FROM range(10)")
print("built", zonemap.Index(spark, "lake.db.t").build(facts=["bloom(id)"], progress=True).data_files)
frame = spark.table("lake.db.t").where("id = 3")
print("explained", zonemap.explain(spark, frame).text.splitlines()[0])
print("why", ",".join(sorted({{row.part for row in zonemap.why_not(spark, frame).rows}})))
print("verdicts", ",".join(verdict.verdict for verdict in zonemap.verify(spark, frame).verdicts))
print("advice", zonemap.Index(spark, "lake.db.t").advise([frame]).rows[0].advice)
print("depth", zonemap.Index(spark, "lake.db.t").clustering(["id"]).average_depth)
try:
    zonemap.Index(spark, "lake.db.nope").build()
except zonemap.ProcedureError as error:
    print("error", str(error))
    print("trace", "\\tat " in (error.java_trace or ""))
    print("printed", "\\tat " in traceback.format_exc())
"""


def snippet(url: str) -> str:
    """The Python of the page on installation for clients of a Connect server, with another server's URL."""
    page = (ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    (block,) = (found for found in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if ".remote(" in found)
    assert '"sc://host:15002"' in block
    return block.replace("sc://host:15002", url)


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    dropped = ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_HOME")
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return kept | python | {"SPARK_LOCAL_IP": "127.0.0.1"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Iterator[str]:
    """A server that is configured as the page on installation describes."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    iceberg = session.jar(f"{session.RUNTIME}-{session.BUILT_AGAINST}")
    confs = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,"
        "zonemap.spark.ZoneMapExtension",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "warehouse"),
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": session.JVM_FLAGS,
        **session.quick_files(),
    }
    settings = [word for key, value in confs.items() for word in ("--conf", f"{key}={value}")]
    jars = f"{zonemap.jar_path()},{iceberg}"
    submit, *main = guide.server_command("SparkConnectServer")
    assert main[-1] == "spark-internal"
    options = ["--master", "local[2]", "--driver-memory", "1g", "--jars", jars, *settings]
    command = [str(Path(sys.executable).with_name(submit)), *main[:-1], *options, main[-1]]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 120
            while not answers(port):
                assert server.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()[-6000:]
                time.sleep(0.5)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_doctor_checks_client_and_server(url: str, environment: dict[str, str]) -> None:
    done = run(environment, "-m", "zonemap", "doctor", "--remote", url, "--output", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert list(checks) == ["Python", "Spark Connect client", "Spark of the server", "extension"]
    assert {check["state"] for check in checks.values()} == {"ok"}
    assert checks["extension"]["found"].startswith("active, ")
    assert "zonemap:" not in done.stderr


def test_a_server_that_is_configured_right_gives_no_warning_and_errors_are_sentences(
    url: str, environment: dict[str, str]
) -> None:
    done = run(environment, "-c", f"{PROGRAM.format(url=url)}\nprint('page ', end='')\n{snippet(url)}")
    assert done.returncode == 0, done.stderr
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert int(told["built"]) >= 1
    assert (told["why"], told["depth"], told["advice"]) == ("condition,scan", "1.0", "no help")
    assert told["verdicts"] == "equal,equal,equal"
    assert told["explained"].startswith("table lake.db.t snapshot ")
    assert told["error"].startswith("Cannot build the index of 'lake.db.nope': ")
    assert told["error"].endswith("Name an existing Iceberg table as catalog.namespace.table.")
    assert (told["trace"], told["printed"]) == ("True", "False")
    assert told["page"] == "1 table" and "lake.db.t" in done.stdout


def test_a_mistake_on_the_command_line_is_one_line(url: str, environment: dict[str, str]) -> None:
    done = run(environment, "-m", "zonemap", "index-status", "lake.db.nope", "--remote", url)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("zonemap:")]
    assert len(lines) == 1 and "Cannot show the status of 'lake.db.nope': " in lines[0], done.stderr
    assert "\tat " not in done.stderr


@pytest.mark.parametrize("source", ["--remote", "--conf", "SPARK_REMOTE"])
def test_status_of_the_tables_that_the_server_knows(url: str, environment: dict[str, str], source: str) -> None:
    given = {"--remote": ["--remote", url], "--conf": ["--conf", f"spark.remote={url}"]}.get(source, [])
    around = environment if given else environment | {source: url}
    done = run(around, "-m", "zonemap", "index-status", "--output", "json", *given)
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), list)


def test_a_port_without_a_server_fails_within_15_seconds(environment: dict[str, str]) -> None:
    started = time.monotonic()
    done = run(environment, "-m", "zonemap", "doctor", "--remote", f"sc://127.0.0.1:{free_port()}", "--output", "json")
    assert time.monotonic() - started < 15
    assert done.returncode == 1
    failed = [check for check in json.loads(done.stdout) if check["state"] == "failed"]
    assert [check["name"] for check in failed] == ["session"]
    assert "no Spark Connect server answered within 8 s" in failed[0]["found"]
    assert failed[0]["advice"] == "Check the host and the port, and that the server runs."
