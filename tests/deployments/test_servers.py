# SPDX-License-Identifier: Apache-2.0
"""The documented confs in programs that people start: the Thrift server with a JDBC client, spark-sql, spark-shell.

The explain provider need not be named; a conf that names it works too.
"""

from __future__ import annotations

import csv
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import guide, session
from support.session import STOCK
from test_deployments import ICEBERG_EXTENSION, OUR_EXTENSION, confs, iceberg, ours

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PROVIDER = "spark.sql.extendedExplainProviders"
NAMED = {PROVIDER: "zonemap.spark.ZoneMapExplain"}
STATEMENTS = [
    "CREATE TABLE lake.db.t (id BIGINT) USING iceberg",
    "INSERT INTO lake.db.t SELECT id FROM RANGE(0, 10, 1, 1)",
    "INSERT INTO lake.db.t SELECT id FROM RANGE(10, 20, 1, 1)",
    "CALL zonemap.system.build_index(table => 'lake.db.t')",
    "USE lake",
    "CALL zonemap.system.index_status(table => 'lake.db.t')",
    "SHOW PROCEDURES IN zonemap.system",
    "SELECT concat('sum=', sum(id)) FROM lake.db.t WHERE id >= 15",
    "EXPLAIN SELECT * FROM lake.db.t WHERE id >= 15",
]


def program(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def environment() -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_HOME")}
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return inherited | {"SPARK_LOCAL_IP": "127.0.0.1"} | python


def arguments(folder: Path, provider: dict[str, str]) -> list[str]:
    """The README's way: both jars by --jars, the rest by confs. These programs have Hive support by default."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(session.LOG4J.format(log=folder / "zonemap.log"))
    settings = {k: v for k, v in confs(folder).items() if k not in (PROVIDER, "spark.sql.catalogImplementation")}
    settings |= {"spark.sql.extensions": f"{ICEBERG_EXTENSION},{OUR_EXTENSION}", **provider}
    return ["--jars", f"{ours()},{iceberg()}", *(x for k, v in settings.items() for x in ("--conf", f"{k}={v}"))]


def check(told: str) -> None:
    assert "sum=85" in told, told
    section = told.partition("(Zonemap)")[2]
    assert "mode EXACT" in section, told
    assert "files considered: 2" in section
    assert "kept after zones: 1" in section


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def thrift_server(folder: Path, provider: dict[str, str]) -> Iterator[int]:
    """A Thrift server on a port of the loopback interface; its process has ended afterwards."""
    port = free_port()
    hive = {"hive.server2.thrift.port": str(port), "hive.server2.thrift.bind.host": "127.0.0.1"}
    submit, *main = guide.server_command("HiveThriftServer2")
    (place,) = (i for i, word in enumerate(main) if word == "spark-internal")
    start = [program(submit), *main[:place], *arguments(folder, provider), *main[place:]]
    start += [x for k, v in hive.items() for x in ("--hiveconf", f"{k}={v}")]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(start, cwd=folder, env=environment(), stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(port, server, folder / "server.log")
            yield port
        finally:
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(30)


def wait_for(port: int, server: subprocess.Popen, log: Path, seconds: int = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()[-6000:]
        with socket.socket() as client:
            client.settimeout(2)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    pytest.fail(f"the server did not listen within {seconds} s\n{log.read_text()[-6000:]}")


def documented_sinks() -> dict[str, str]:
    """The confs of sinks that the guide prints."""
    page = (session.ROOT / "docs/guide/operating.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^(spark\.metrics\.conf\S+) +(\S+)$", page, re.M))


def sinks(folder: Path, ui_port: int) -> dict[str, str]:
    """The confs of the guide with which Spark's UI and CSV files show the metrics of the driver."""
    return {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(ui_port),
        **documented_sinks(),
        "spark.metrics.conf.*.sink.csv.period": "1",
        "spark.metrics.conf.*.sink.csv.directory": str(folder),
    }


def check_prometheus(ui_port: int) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{ui_port}/metrics/prometheus/", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    found = dict(re.findall(r"_driver_zonemap_(\w+)\{[^}]*\} ([-0-9.E]+)$", "\n".join(lines), re.M))
    assert float(found["plans_exact_Count"]) == 1, "EXPLAIN does not run its query"
    assert 1 <= float(found["files_planned_Count"]) < float(found["files_considered_Count"])
    assert float(found["planningMicros_Count"]) == 1 and float(found["planningMicros_Max"]) > 0
    assert float(found["index_tables_Value"]) == 1 and float(found["index_residentBytes_Value"]) > 0
    assert {f"plans_stock_{code}_Count" for code in ("STORE_DAMAGED", "PLANNER_FAILED")} <= set(found)


def check_csv(folder: Path, seconds: int = 30) -> None:
    end = time.monotonic() + seconds
    rows: list[dict[str, str]] = []
    while time.monotonic() < end and not (rows and int(rows[-1]["count"]) >= 1):
        for path in folder.glob("*.driver.zonemap.plans.exact.csv"):
            rows = list(csv.DictReader(path.read_text().splitlines()))
        time.sleep(0.5)
    assert rows and int(rows[-1]["count"]) == 1, sorted(p.name for p in folder.iterdir())
    names = {path.name.partition(".driver.zonemap.")[2] for path in folder.iterdir()}
    assert {"planningMicros.csv", "upkeep.waiting.csv", "plans.stock.NOT_COVERED.csv"} <= names


def beeline(folder: Path, port: int) -> str:
    """Runs the statements in a JDBC session; returns what it printed."""
    url = f"jdbc:hive2://127.0.0.1:{port}/default"
    client = [program("beeline"), "-u", url, "-n", "tester", "--silent=true", "--outputformat=tsv2"]
    client += [x for statement in STATEMENTS for x in ("-e", statement)]
    done = subprocess.run(
        client, cwd=folder, env=environment(), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stdout


def test_a_jdbc_session_of_the_thrift_server(tmp_path: Path) -> None:
    with thrift_server(tmp_path / "server", NAMED) as port:
        check(beeline(tmp_path, port))


def test_a_thrift_server_without_the_provider_and_its_metrics_in_prometheus_and_csv(tmp_path: Path) -> None:
    (tmp_path / "csv").mkdir()
    ui_port = free_port()
    with thrift_server(tmp_path / "server", sinks(tmp_path / "csv", ui_port)) as port:
        check(beeline(tmp_path, port))
        check_prometheus(ui_port)
        check_csv(tmp_path / "csv")


@pytest.mark.parametrize("provider", [{}, NAMED], ids=["unnamed", "named"])
def test_spark_sql(tmp_path: Path, provider: dict[str, str]) -> None:
    command = [program("spark-sql"), *arguments(tmp_path / "run", provider), "-e", ";\n".join(STATEMENTS)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-6000:]
    check(done.stdout)


def test_spark_shell(tmp_path: Path) -> None:
    lines = "".join(f'spark.sql("""{statement}""").collect().foreach(println)\n' for statement in STATEMENTS)
    done = subprocess.run(
        [program("spark-shell"), *arguments(tmp_path / "run", {})],
        cwd=tmp_path,
        env=environment(),
        input=lines + ":quit\n",
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    check(done.stdout)
