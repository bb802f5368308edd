"""The documented confs in programs that people start: the Thrift server with a JDBC client, spark-sql, spark-shell.

The explain provider need not be named; a conf that names it works too.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import session
from support.session import STOCK
from test_layouts import ICEBERG_EXTENSION, OUR_EXTENSION, confs, iceberg, ours

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PROVIDER = "spark.sql.extendedExplainProviders"
NAMED = {PROVIDER: "zonemap.spark.ZoneMapExplain"}
SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
STATEMENTS = [
    "CREATE TABLE lake.db.t (id BIGINT) USING iceberg",
    "INSERT INTO lake.db.t SELECT id FROM RANGE(0, 10, 1, 1)",
    "INSERT INTO lake.db.t SELECT id FROM RANGE(10, 20, 1, 1)",
    "CALL zonemap.system.build(table => 'lake.db.t')",
    "USE lake",
    "CALL zonemap.system.status(table => 'lake.db.t')",
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
    start = [program("spark-submit"), *arguments(folder, provider), "--class", SERVER, "spark-internal"]
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


@pytest.mark.parametrize("provider", [{}, NAMED], ids=["unnamed", "named"])
def test_a_jdbc_session_of_the_thrift_server(tmp_path: Path, provider: dict[str, str]) -> None:
    with thrift_server(tmp_path / "server", provider) as port:
        url = f"jdbc:hive2://127.0.0.1:{port}/default"
        client = [program("beeline"), "-u", url, "-n", "tester", "--silent=true", "--outputformat=tsv2"]
        client += [x for statement in STATEMENTS for x in ("-e", statement)]
        done = subprocess.run(
            client, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=180, check=False
        )
        assert done.returncode == 0, done.stderr[-6000:]
        check(done.stdout)


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
