# SPDX-License-Identifier: Apache-2.0
"""Reads plans, metrics and counters of a classic session's driver through py4j, and runs Java in the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from zonemap import ZonemapError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def planned_scans(spark: SparkSession) -> int:
    """Returns the number of scans that this JVM has planned from an index since it started.

    Raises:
        ZonemapError: the JVM of the session does not have the extension's jar.
    """
    jvm: Any = spark._jvm
    try:
        return int(jvm.zonemap.spark.PlanningCounters.plannedScans())
    except (Py4JError, TypeError) as error:
        raise ZonemapError(
            "Cannot read the planning counters: the driver does not have the zonemap jar. "
            "Start the session with zonemap.configure(SparkSession.builder)."
        ) from error


def plan(frame: DataFrame) -> None:
    """Plans the query down to the physical plan, file planning included, without running it."""
    query: Any = frame
    query._jdf.queryExecution().executedPlan()


def scan_metric(frame: DataFrame, name: str, table: str = "") -> int:
    """Returns the sum of a metric, such as ``resultDataFiles``, over the scans (of one table) of a completed query."""
    return _sum_of_metric(scans(frame), name, table)


def command_metric(frame: DataFrame, name: str, table: str) -> int:
    """Returns the sum of a metric over the scans of a command, such as MERGE, including those of its subqueries."""
    query: Any = frame
    plan = query._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "CommandResultExec":
        plan = plan.commandPhysicalPlan()
    return _sum_of_metric(_scans(_nodes(plan, subqueries=True)), name, table)


def planned_files(frame: DataFrame) -> list[str]:
    """Returns the paths of the data files that the scans of a query read; the query is planned, not executed."""
    found = set()
    for scan in scans(frame):
        partitions = scan.inputPartitions()
        for position in range(partitions.size()):
            tasks = partitions.apply(position).taskGroup().tasks().iterator()
            while tasks.hasNext():
                found.add(str(tasks.next().file().location()))
    return sorted(found)


def run_java(spark: SparkSession, table: str, body: str, **numbers: int) -> None:
    """Compiles the body of a Java method with Spark's own compiler and runs it on the driver.

    Args:
        spark: The session.
        table: The Iceberg table that ``body`` knows as ``table``.
        body: The statements.
        numbers: Parameters of type Integer, by name.
    """
    jvm: Any = spark._jvm
    gateway: Any = SparkContext._gateway
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    types = [jvm.java.lang.Class.forName("org.apache.iceberg.Table", True, loader)]
    types += [jvm.java.lang.Class.forName("java.lang.Integer")] * len(numbers)
    names, classes, values = (
        gateway.new_array(kind, len(types))
        for kind in (jvm.java.lang.String, jvm.java.lang.Class, jvm.java.lang.Object)
    )
    for position, (name, kind, value) in enumerate(
        zip(("table", *numbers), types, (loaded, *numbers.values()), strict=True)
    ):
        names[position], classes[position], values[position] = name, kind, value
    compiler = jvm.org.codehaus.janino.ScriptEvaluator()
    compiler.setParentClassLoader(loader)
    compiler.setParameters(names, classes)
    compiler.cook(body)
    compiler.evaluate(values)


def scans(frame: DataFrame) -> Iterator[Any]:
    """Returns the scans of tables in a query's physical plan."""
    query: Any = frame
    return _scans(_nodes(query._jdf.queryExecution().executedPlan()))


def _sum_of_metric(found: Iterator[Any], name: str, table: str) -> int:
    metrics = (scan.metrics().get(name) for scan in found if str(scan.table().name()).startswith(table))
    return sum(int(metric.get().value()) for metric in metrics if metric.isDefined())


def _scans(nodes: Iterator[Any]) -> Iterator[Any]:
    return (node for node in nodes if node.getClass().getSimpleName() in ("BatchScanExec", "PrunedScanExec"))


def _nodes(node: Any, subqueries: bool = False) -> Iterator[Any]:
    """Yields the physical plan's nodes, with the final plan of adaptive execution and subqueries not reused."""
    yield node
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        yield from _nodes(node.executedPlan(), subqueries)
    elif name.endswith("QueryStageExec"):
        yield from _nodes(node.plan(), subqueries)
    below = [node.children()]
    if subqueries and name != "AdaptiveSparkPlanExec":
        below.append(node.subqueries())
    for plans in below:
        for position in range(plans.size()):
            if plans.apply(position).getClass().getSimpleName() != "ReusedSubqueryExec":
                yield from _nodes(plans.apply(position), subqueries)
