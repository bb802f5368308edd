"""What needs the driver's JVM through py4j: classic sessions only; no other module touches it.

Nothing here decides anything about a query: it reads counters, versions and metrics.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext

from zonemap.errors import ZonemapError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


def running_confs() -> dict[str, str] | None:
    """``spark.*`` confs of the JVM this process is bound to; None if none runs yet."""
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())


def has_class(name: str) -> bool:
    """Whether the running JVM can load this class from its application class path."""
    jvm: Any = SparkContext._jvm
    try:
        jvm.java.lang.Class.forName(name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    except Py4JError:
        return False
    return True


def planned_scans(spark: SparkSession) -> int:
    """How many scans this JVM has planned from an index since it started.

    Raises:
        ZonemapError: the session is a Connect one, or its JVM does not have the extension's jar.
    """
    try:
        return int(_classic(spark)._jvm.zonemap.spark.PlanningCounters.plannedScans())
    except (Py4JError, TypeError) as error:
        raise ZonemapError(
            "Cannot read the planning counters: the driver does not have the zonemap jar. "
            "Start the session with zonemap.configure(SparkSession.builder)."
        ) from error


def versions(spark: SparkSession) -> dict[str, str | None]:
    """Versions that the driver really runs: of Spark, Scala, Java and Iceberg (None if it is not there)."""
    jvm = _classic(spark)._jvm
    try:
        iceberg: str | None = str(jvm.org.apache.iceberg.IcebergBuild.version())
    except (Py4JError, TypeError):
        iceberg = None
    return {
        "spark": spark.version,
        "scala": str(jvm.scala.util.Properties.versionNumberString()),
        "java": str(jvm.java.lang.System.getProperty("java.version")),
        "iceberg": iceberg,
    }


def plan(frame: DataFrame) -> None:
    """Has Spark plan the query down to the physical plan, file planning included, without running it."""
    query: Any = frame
    query._jdf.queryExecution().executedPlan()


def scan_metric(frame: DataFrame, name: str, table: str = "") -> int:
    """Sum of a metric, such as ``resultDataFiles``, over the scans (of one table) of a query that has run."""
    metrics = (scan.metrics().get(name) for scan in scans(frame) if str(scan.table().name()).startswith(table))
    return sum(int(metric.get().value()) for metric in metrics if metric.isDefined())


def scans(frame: DataFrame) -> Iterator[Any]:
    """The scans of tables in a query's physical plan."""
    query: Any = frame
    for node in _nodes(query._jdf.queryExecution().executedPlan()):
        if node.getClass().getSimpleName() == "BatchScanExec":
            yield node


def _nodes(node: Any) -> Iterator[Any]:
    """The physical plan's nodes, into the final plan of adaptive execution."""
    yield node
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from _nodes(node.executedPlan())
    elif name.endswith("QueryStageExec"):
        yield from _nodes(node.plan())
    children = node.children()
    for position in range(children.size()):
        yield from _nodes(children.apply(position))


def _classic(spark: SparkSession) -> Any:
    """The session, if it has a JVM in reach."""
    if getattr(spark, "_jvm", None) is None:
        raise ZonemapError(
            "Cannot reach the driver's JVM: this is a Spark Connect session. Use SQL and the procedures instead."
        )
    return spark
