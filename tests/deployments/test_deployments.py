# SPDX-License-Identifier: Apache-2.0
"""Every supported arrangement of the jars and extensions, each in a separate process.

Rows must be correct, the index must plan the scan and prune files; without Iceberg the extension does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support import session
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

DRIVER = Path(__file__).with_name("driver.py")
ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
OUR_EXTENSION = "zonemap.spark.ZoneMapExtension"
JVM_FLAGS = f"{session.JVM_FLAGS} {session.YOUNG}"
#: Manifests of 8, 1, 1, 1, 1 and 1 files, at two files a segment: one segment for the first manifest, two pairs and a
#: single file for the others, and one segment for the deletes.
SEGMENTS = 1 + 3 + 1


def ours() -> str:
    import zonemap

    return str(zonemap.jar_path())


def ingest() -> str:
    import zonemap

    return str(zonemap.jar_path(ingest=True))


def iceberg(version: str = session.BUILT_AGAINST) -> str:
    return session.jar(f"{session.RUNTIME}-{version}")


def confs(folder: Path, **more: str) -> dict[str, str]:
    """Returns the confs that all deployments share: catalog, explain provider, and planning without background work."""
    return {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(folder / "warehouse"),
        "spark.sql.extensions": f"{ICEBERG_EXTENSION},{OUR_EXTENSION}",
        "spark.sql.extendedExplainProviders": "zonemap.spark.ZoneMapExplain",
        "spark.sql.zonemap.upkeep.mode": "memory",
        "spark.sql.zonemap.upkeep.followCommits.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.codegen.wholeStage": "false",
        "spark.driver.extraJavaOptions": f"{JVM_FLAGS} -Dlog4j2.configurationFile=file:{folder / 'log4j2.properties'}",
        "spark.executor.extraJavaOptions": JVM_FLAGS,
        **session.quick_files(),
        **more,
    }


@dataclass
class Deployment:
    """The configuration of a session.

    `submit`: the arguments of spark-submit; None: the driver starts with plain Python.
    """

    name: str
    confs: dict[str, str]
    steps: list[str] = field(default_factory=lambda: ["whole"])
    submit: list[str] | None = None
    remote: str | None = None
    configure: dict[str, str] | None = None


class Told:
    """The events that a run has written."""

    def __init__(self, events: list[dict], log: list[str]):
        self.events, self.log = {e["event"]: e for e in events}, log

    def __getitem__(self, name: str) -> dict:
        assert name in self.events, f"no '{name}' among {list(self.events)}"
        return self.events[name]


def run(deployment: Deployment, folder: Path) -> Told:
    """Runs the deployment's driver; if the driver fails, the error shows its stderr."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "zonemap.log"
    (folder / "log4j2.properties").write_text(session.LOG4J.format(log=log))
    orders = folder / "orders.json"
    orders.write_text(
        json.dumps(
            {
                "confs": {} if deployment.submit else deployment.confs,
                "steps": deployment.steps,
                "remote": deployment.remote,
                "configure": deployment.configure,
                "folder": str(folder),
            }
        )
    )
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE", "SPARK_HOME")
    }
    environment |= {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, str(DRIVER), str(orders)]
    if deployment.submit is not None:
        arguments = deployment.submit + [x for k, v in deployment.confs.items() for x in ("--conf", f"{k}={v}")]
        command = [str(Path(sys.executable).with_name("spark-submit")), *arguments, str(DRIVER), str(orders)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event"')]
    if not events or events[-1]["event"] != "end":
        told = events[-1].get("text", events[-1]) if events else done.stderr[-6000:]
        pytest.fail(
            f"deployment {deployment.name} ended with {done.returncode} after {[e['event'] for e in events]}\n{told}"
        )
    assert done.returncode == 0, done.stderr[-6000:]
    return Told(events, log.read_text().splitlines() if log.exists() else [])


def expected(*ids: int) -> list[list]:
    return [[i, f"k{i}"] for i in ids]


def check_query(told: dict, rows: list[list], *, mode: str, considered: int, kept: int) -> None:
    """Rows equal the written rows with the index off and on; EXPLAIN and the query used the index and pruned files."""
    assert told["off"] == rows
    assert told["on"] == rows
    assert told["fallbacks"] == 0, told["explain"]
    assert told["planned"] == 2, told["explain"]
    section = told["explain"].partition("Zonemap")[2]
    assert section, told["explain"]
    assert f"mode {mode}" in section
    assert f"files considered: {considered}" in section
    assert f"kept after zones: {kept}" in section


def check_whole(told: Told) -> None:
    """Checks the results of step `whole`, which are the same in every deployment with Iceberg."""
    assert told["build"]["rows"][0]["data_files"] == 8
    assert told["build"]["rows"][0]["segments"] == 1
    check_query(told["exact"], expected(*range(250, 261)), mode="EXACT", considered=8, kept=1)
    ids = [i for i in range(250, 261) if i != 255] + [850]
    check_query(told["hybrid"], expected(*ids), mode="HYBRID", considered=9, kept=2)
    assert told["refresh"]["rows"][0] | {"bytes": 0, "seconds": 0} == told["refresh"]["rows"][0] | {
        "data_files": 9,
        "delete_files": 1,
        "bytes": 0,
        "seconds": 0,
    }
    status = told["status"]["rows"][0]
    assert status["covered"] is True
    assert (status["lag_snapshots"], status["data_files"], status["delete_files"]) == (0, 9, 1)
    assert len(told["drop"]["rows"]) >= 4  # at least a hint, two versions, a segment
    assert len(told["inputs"]["files"]) == 9
    warnings = [line for line in told.log if line.startswith(("WARN", "ERROR")) and not is_of_the_catalog(line)]
    assert warnings == []


def is_of_the_catalog(line: str) -> bool:
    """Whether a line is the warning of a committer that only one process may write to tables of a Hadoop catalog."""
    return line.startswith("WARN zonemap.ingest: 'lake.db.t' is a table of a Hadoop catalog")


def check_ingest(told: Told) -> None:
    """Checks the results of step `ingest`: two appends, visible after one commit."""
    commit = told["ingest_commit"]["rows"]
    assert [(row["outcome"], row["records"], row["rows"]) for row in commit] == [("committed", 2, 20)]
    assert told["ingest"]["before"] == [[0]]
    assert told["ingest"]["rows"] == expected(*range(10000, 10020))


def jars(*paths: str) -> dict[str, str]:
    return {"spark.jars": ",".join(paths)}


def on_class_path(jar: str) -> dict[str, str]:
    """Returns the confs that put a jar on Spark's own class path, behind the jars that tests put there."""
    quick = session.quick_files()
    keys = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
    return {key: os.pathsep.join(filter(None, (quick.get(key), jar))) for key in keys}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_both_in_spark_jars(folder: Path) -> None:
    """Iceberg's extension comes first; the catalog of procedures is configured."""
    catalog = {"spark.sql.catalog.zonemap": "zonemap.spark.ZoneMapCatalog"}
    confs_of_a = confs(folder, **jars(iceberg(), ours(), ingest()), **catalog)
    deployment = Deployment("A", confs_of_a, steps=["whole", "ingest", "catalog"])
    told = run(deployment, folder)
    check_whole(told)
    check_ingest(told)
    assert {row[-1] for row in told["procedures"]["rows"]} >= {
        "build_index",
        "refresh_index",
        "index_status",
        "drop_index",
    }


def test_submitted_with_our_extension_first(folder: Path) -> None:
    """spark-submit --jars, with the product's jar and extension before Iceberg's."""
    order = {"spark.sql.extensions": f"{OUR_EXTENSION},{ICEBERG_EXTENSION}"}
    deployment = Deployment("A reversed", confs(folder, **order), submit=["--jars", f"{ours()},{iceberg()}"])
    check_whole(run(deployment, folder))


def test_our_extension_alone(folder: Path) -> None:
    """The product works without Iceberg's SQL extension."""
    alone = {"spark.sql.extensions": OUR_EXTENSION}
    check_whole(run(Deployment("A alone", confs(folder, **jars(iceberg(), ours()), **alone)), folder))


def test_iceberg_below_us(folder: Path) -> None:
    """Iceberg is on Spark's own class path, and the product's jar is added: two class loaders."""
    check_whole(run(Deployment("B", confs(folder, **jars(ours()), **on_class_path(iceberg()))), folder))


def test_iceberg_above_us(folder: Path) -> None:
    """The product is on Spark's own class path, and Iceberg and append ingestion are added: a second class loader loads
    the product's classes again, and builds stay local."""
    added = jars(iceberg(), ingest())
    more = {"spark.sql.catalog.zonemap": "zonemap.spark.ZoneMapCatalog", **added, **on_class_path(ours())}
    deployment = Deployment("C", confs(folder, **more), steps=["whole", "segments", "ingest"])
    told = run(deployment, folder)
    check_whole(told)
    check_ingest(told)
    assert told["build_job"]["rows"][0]["segments"] == SEGMENTS
    check_query(
        told["after_job"], expected(*(i for i in range(250, 261) if i != 255), 950), mode="EXACT", considered=13, kept=2
    )


def test_without_iceberg(folder: Path) -> None:
    """The session works, and the extension logs once why it is inactive."""
    alone = {"spark.sql.extensions": OUR_EXTENSION, "spark.sql.catalog.zonemap": "zonemap.spark.ZoneMapCatalog"}
    plain = {
        k: v for k, v in confs(folder, **jars(ours()), **alone).items() if not k.startswith("spark.sql.catalog.lake")
    }
    told = run(Deployment("D", plain, steps=["without_iceberg"]), folder)
    assert told["plain"]["rows"] == [[50, sum(range(50, 100))]]
    assert told["plain"]["counter"] == 0
    assert "inactive: Iceberg's Spark runtime is not on the class path" in told["plain"]["explain"]
    assert "Iceberg's Spark runtime is not on the class path" in told["call"]["cause"]
    assert len(told.log) == 1
    assert told.log[0].startswith("WARN")
    assert "is inactive: Iceberg's Spark runtime is not on the class path; add it to spark.jars" in told.log[0]


@pytest.mark.parametrize("serializer", ["JavaSerializer", "KryoSerializer"])
def test_executors_of_their_own(folder: Path, serializer: str) -> None:
    """A local cluster: merge-on-read deletes reach the executors, and the executors build several segments."""
    cluster = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.serializer": f"org.apache.spark.serializer.{serializer}",
    }
    own = jars(iceberg(), ours(), ingest())
    deployment = Deployment(serializer, confs(folder, **own, **cluster), steps=["whole", "job", "ingest"])
    told = run(deployment, folder)
    check_whole(told)
    check_ingest(told)
    assert told["build_job"]["rows"][0]["segments"] == SEGMENTS
    assert told["build_job"]["rows"][0]["data_files"] == 13
    assert told["job"]["tasks"] == SEGMENTS - 1
    assert f"{SEGMENTS - 1} segments" in told["job"]["description"]
    assert set(told["job"]["executors"]) <= {"0", "1"}
    check_query(
        told["after_job"], expected(*(i for i in range(250, 261) if i != 255), 950), mode="EXACT", considered=13, kept=2
    )


def test_spark_connect(folder: Path) -> None:
    """The server and a client from SparkSession.builder.remote; the client sends only SQL."""
    server = {k: v for k, v in confs(folder, **jars(iceberg())).items() if k != "spark.master"}
    server["spark.sql.extensions"] = ICEBERG_EXTENSION
    del server["spark.sql.extendedExplainProviders"]
    deployment = Deployment(
        "G", server, remote="local[2]", configure={"ingest": True}, steps=["whole", "python_package", "ingest"]
    )
    told = run(deployment, folder)
    check_ingest(told)
    assert told["session"]["kind"].startswith("pyspark.sql.connect.")
    check_whole(told)
    assert told["python"]["built"] == 9
    assert told["python"]["covered"] is True


def test_the_newer_iceberg(folder: Path) -> None:
    """The same product jar with the newer Iceberg of dev/jars.txt."""
    check_whole(run(Deployment("H", confs(folder, **jars(iceberg(session.NEWER[0]), ours()))), folder))
