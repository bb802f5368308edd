# SPDX-License-Identifier: Apache-2.0
"""Determines the files that a query will read, from its plan."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from support.probe import probe_of

_FILE = re.compile(r"\bfile=(.*?\.(?:parquet|orc|avro)), (?:partition_data|offset)=")
#: Spark's node of a scan, and the product's node with more metrics.
SCAN_NODES = ("BatchScanExec", "PrunedScanExec")


#: Java methods of scans by JVM, class and name; None if the class has no such method. A search takes hundreds of calls.
_methods: dict[tuple[object, str, str], object] = {}


def _method(spark: SparkSession, target, name: str):
    """Returns a method without parameters; it need not be public, because Iceberg's scans are package-private."""
    java_class = target.getClass()
    key = spark._jvm, java_class.getName(), name
    if key not in _methods:
        _methods[key] = _declared(java_class, name)
    return _methods[key]


def _declared(java_class, name: str):
    while java_class is not None:
        for candidate in java_class.getDeclaredMethods():
            if candidate.getName() == name and candidate.getParameterCount() == 0:
                candidate.setAccessible(True)
                return candidate
        java_class = java_class.getSuperclass()
    return None


def _invoke(spark: SparkSession, target, name: str):
    method = _method(spark, target, name)
    if method is None:
        raise AttributeError(f"{target.getClass().getName()} has no method {name}()")
    nothing = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, 0)
    return method.invoke(target, nothing)


def _scan_files(spark: SparkSession, scan) -> list[str]:
    """Returns the path of each task of an Iceberg scan, before Iceberg splits the tasks."""
    if scan.getClass().getSimpleName() in ("KeyFilteredScan", "RemainingFilesScan"):
        scan = scan.inner()
    if _method(spark, scan, "tasks") is not None:
        return _FILE.findall(_invoke(spark, scan, "tasks").toString())
    partitions = _invoke(spark, _invoke(spark, scan, "toBatch"), "planInputPartitions")
    return [
        f for p in partitions for f in _FILE.findall(_invoke(spark, _invoke(spark, p, "taskGroup"), "tasks").toString())
    ]


def _leaves(plan) -> list:
    leaves = plan.collectLeaves()
    out = []
    for i in range(leaves.size()):
        leaf = leaves.apply(i)
        name = leaf.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            out += _leaves(leaf.executedPlan())
        elif name.endswith("QueryStageExec"):
            out += _leaves(leaf.plan())
        elif name == "InMemoryTableScanExec":
            out += _leaves(leaf.relation().cachedPlan())
        else:
            out.append(leaf)
    return out


def scans(df: DataFrame) -> list:
    """Returns the BatchScanExec nodes of the plan, left to right."""
    leaves = _leaves(df._jdf.queryExecution().executedPlan())
    return [leaf for leaf in leaves if leaf.getClass().getSimpleName() in SCAN_NODES]


def planned_files(df: DataFrame) -> set[str]:
    """Returns the data files that the plan will read before runtime filters, without running the query."""
    spark = df.sparkSession
    return {path for node in scans(df) for path in _scan_files(spark, node.scan())}


def planned_tasks(df: DataFrame) -> list[str]:
    """Like planned_files, but the list contains a file once for each scan that reads it."""
    spark = df.sparkSession
    return [path for node in scans(df) for path in _scan_files(spark, node.scan())]


def planned_files_of(spark: SparkSession, relation: str, predicates: list[str]) -> list[set[str]]:
    """Returns the data files planned for each predicate, by one query with a UNION ALL branch for each predicate."""
    queries = [f"SELECT _pos, {i} AS branch FROM {relation} WHERE {p}" for i, p in enumerate(predicates)]
    return probe_of(spark).files_of(queries)


@dataclass(frozen=True)
class Executed:
    """One run of a query: its rows, and the metrics and files of its scans."""

    rows: list
    metrics: list[dict[str, int]]
    files: set[str]
    plan: str


def execute(df: DataFrame) -> Executed:
    """Runs the query and then inspects its plan, to which Spark has applied runtime filters."""
    rows = df.collect()
    spark = df.sparkSession
    nodes = scans(df)
    metrics = []
    for node in nodes:
        values = {}
        iterator = node.metrics().iterator()
        while iterator.hasNext():
            entry = iterator.next()
            values[entry._1()] = entry._2().value()
        metrics.append(values)
    files = {path for node in nodes for path in _scan_files(spark, node.scan())}
    return Executed(rows, metrics, files, df._jdf.queryExecution().executedPlan().toString())


def scan_names(df: DataFrame) -> list[str]:
    """Returns the names by which Spark and Iceberg compare the scans; a rule that changes a scan adds a digest."""
    return [str(_invoke(df.sparkSession, node.scan(), "table").name()) for node in scans(df)]


def plan_text(df: DataFrame) -> str:
    return df._jdf.queryExecution().executedPlan().toString()


def estimated_bytes(df: DataFrame) -> int:
    return int(str(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
