# SPDX-License-Identifier: Apache-2.0
"""The Spark session of the tests: one JVM at a time, which can be restarted and logs the product's lines to a file."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

#: True: the suites run with Iceberg alone, to check the tests themselves, and assert nothing about the product.
STOCK = os.environ.get("ZONEMAP_TEST_STOCK") == "1"
ROOT = Path(__file__).resolve().parents[2]
#: (major, minor) of Spark.
SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
#: The binary version of Scala that PySpark has.
SCALA = "2.13" if SPARK >= (4, 0) else "2.12"
RUNTIME = "iceberg-spark-runtime-{}.{}_{}".format(*SPARK, SCALA)
#: Versions of Iceberg's runtime in dev/jars.txt: first the version that the build uses, then newer versions.
BUILT_AGAINST, *NEWER = re.findall(
    rf"^org\.apache\.iceberg:{RUNTIME}:(.+)$", (ROOT / "dev" / "jars.txt").read_text(), re.M
)
ICEBERG = os.environ.get("ZONEMAP_TEST_ICEBERG", BUILT_AGAINST)
JARS = Path(os.environ.get("ZONEMAP_TEST_JARS", ROOT / "build" / "jars"))
#: ReservedCodeCacheSize: with one compiler, the JVM reserves 48 MB for compiled code. A session fills them within
#: minutes, and from then on the JVM interprets all new code.
#: VFORK: Hadoop runs processes for local files where QUICK_FILES is missing, and for links and owners.
PLAIN_JVM_FLAGS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=256m -Duser.timezone=UTC "
    "-Djdk.lang.Process.launchMechanism=VFORK"
)
#: For JVMs of 1 GB or more: a query leaves tens of MB of garbage and keeps little, and from its defaults the JVM collects
#: several times a second.
YOUNG = "-Xms1g -Xmn500m"
#: Hadoop's local file system without its processes (support/java), and its settings without those of YARN and MapReduce
#: (support/hadoop), which `make test` compiles. Without it, tests run too.
QUICK_FILES = ROOT / "build" / "quick-files.jar"
#: Suppresses Java's warning that an archive does not fit the class path, which some deployments change.
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
#: The class archive that `make test` writes (support/archive.py), so that JVMs do not parse Spark's classes again.
ARCHIVE = ROOT / "build" / "spark-classes.jsa"
SHARED_CLASSES = f"-XX:SharedArchiveFile={ARCHIVE} -Xshare:auto {QUIET}" if ARCHIVE.exists() else ""
JVM_FLAGS = f"{PLAIN_JVM_FLAGS} {SHARED_CLASSES}".strip()

LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
appender.product.type = File
appender.product.name = product
appender.product.fileName = {log}
appender.product.append = true
appender.product.layout.type = PatternLayout
appender.product.layout.pattern = %p %c: %m%n
logger.product.name = zonemap
logger.product.level = info
logger.product.additivity = false
logger.product.appenderRef.product.ref = product
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
"""

_active: SparkSession | None = None
_base: Path | None = None


def use_directory(base: Path) -> None:
    """Sets the folder of the warehouse and the log. The folder remains when the JVM restarts."""
    global _base
    _base = base
    (base / "warehouse").mkdir(parents=True, exist_ok=True)


def directory() -> Path:
    assert _base is not None, "use_directory was not called"
    return _base


def jar(name_starts: str) -> str:
    """Returns the jar with this start of its file name. Fails with the searched folder if there is none."""
    found = sorted(JARS.glob(f"{name_starts}*.jar"))
    assert found, f"Cannot find a jar '{name_starts}*.jar' in '{JARS}'. Run 'make jars' or set ZONEMAP_TEST_JARS."
    return str(found[-1])


def iceberg_jar() -> str:
    return jar(f"{RUNTIME}-{ICEBERG}")


def lake_confs(name: str = "lake") -> dict[str, str]:
    return {
        f"spark.sql.catalog.{name}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{name}.type": "hadoop",
        f"spark.sql.catalog.{name}.warehouse": str(directory() / "warehouse"),
    }


def quick_files() -> dict[str, str]:
    """Returns the confs of QUICK_FILES. Only a class path that begins with its jar fits the class archive."""
    if not QUICK_FILES.exists():
        return {}
    return {
        "spark.driver.extraClassPath": str(QUICK_FILES),
        "spark.executor.extraClassPath": str(QUICK_FILES),
        "spark.hadoop.fs.file.impl": "zonemap.testing.QuickLocalFileSystem",
    }


def base_confs(options: str = "") -> dict[str, str]:
    """Returns the confs of every test session, with `options` appended to the options of the JVM."""
    log4j = directory() / "log4j2.properties"
    log4j.write_text(LOG4J.format(log=log_file()))
    return {
        **quick_files(),
        "spark.driver.extraJavaOptions": f"{JVM_FLAGS} {YOUNG} -Dlog4j2.configurationFile=file:{log4j} {options}".strip(),
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "false",
        "spark.sql.warehouse.dir": str(directory() / "spark-warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


#: With these confs plans do not depend on the progress of background threads, so tests can compare them.
PRODUCT_CONFS = {"spark.sql.zonemap.coverOnRead": "wait", "spark.sql.zonemap.upkeep.followCommits.enabled": "false"}


def start(confs: dict[str, str] | None = None, *, ingest: bool = False) -> SparkSession:
    """Starts a session in a new JVM and configures the product with `zonemap.configure`, with `ingest` or without."""
    global _active
    assert _active is None, "a session is running"
    builder = SparkSession.Builder().master("local[2]").appName("zonemap-tests")
    merged = {**base_confs(), **lake_confs(), "spark.jars": iceberg_jar()}
    merged["spark.sql.extensions"] = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    merged.update({} if STOCK else PRODUCT_CONFS)
    merged.update(confs or {})
    for key, value in merged.items():
        builder = builder.config(key, value)
    if not STOCK:
        import zonemap

        builder = zonemap.configure(builder, ingest=ingest)
    _active = builder.getOrCreate()
    return _active


def get(confs: dict[str, str] | None = None) -> SparkSession:
    """Returns the running session; starts one with these confs if none is running."""
    return _active if _active is not None else start(confs)


def stop(seconds: int = 60) -> None:
    """Ends the session and waits for its JVM to end, `seconds` at most."""
    global _active
    if _active is None:
        return
    gateway = SparkContext._gateway
    _active.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(seconds)
    SparkContext._gateway = None
    SparkContext._jvm = None
    _active = None


def restart(confs: dict[str, str] | None = None, *, ingest: bool = False) -> SparkSession:
    """Starts a new JVM with empty memory; tables and stores on disk remain."""
    stop()
    return start(confs, ingest=ingest)


def log_file() -> Path:
    return directory() / "zonemap.log"


def log_lines() -> list[str]:
    return log_file().read_text().splitlines() if log_file().exists() else []


def warnings_since(mark: int) -> list[str]:
    return [line for line in log_lines()[mark:] if re.match(r"(WARN|ERROR) ", line)]


def clean(path: str | Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
