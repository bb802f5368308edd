# SPDX-License-Identifier: Apache-2.0
"""Reads an event log as Spark's history server does, in a JVM that has no class of the product.

Run as a script: ``python history.py EVENT_LOG``. It prints, as JSON, for each execution of the log its plan as text,
and the names and shown values of its metrics.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.java_gateway import launch_gateway

#: A class of the product, which the JVM of this script must not find.
OURS = "zonemap.spark.ZoneMapExtension"


def read(log: Path) -> dict[str, Any]:
    gateway = launch_gateway()
    try:
        jvm = gateway.jvm
        try:
            jvm.java.lang.Class.forName(OURS)
            raise AssertionError(f"the JVM finds {OURS}")
        except Py4JError as e:
            assert "ClassNotFoundException" in str(e), e
        spark = jvm.org.apache.spark
        conf = spark.SparkConf(False)
        kept = jvm.org.apache.spark.util.kvstore.InMemoryStore()
        store = spark.status.ElementTrackingStore(kept, conf)
        nothing = getattr(jvm.scala, "None$")
        listener = spark.sql.execution.ui.SQLAppStatusListener(conf, store, False)
        bus = spark.scheduler.ReplayListenerBus()
        bus.addListener(listener)
        stream = jvm.java.io.FileInputStream(str(log))
        every = getattr(getattr(spark.scheduler, "ReplayListenerBus$"), "MODULE$").SELECT_ALL_FILTER()
        bus.replay(stream, str(log), False, every)
        found = spark.sql.execution.ui.SQLAppStatusStore(kept, getattr(nothing, "MODULE$"))
        executions = found.executionsList()
        return {"executions": [_execution(found, executions.apply(i)) for i in range(executions.size())]}
    finally:
        gateway.shutdown()


def _execution(store: Any, execution: Any) -> dict[str, Any]:
    values = store.executionMetrics(execution.executionId())
    metrics = execution.metrics()
    shown = []
    for i in range(metrics.size()):
        metric = metrics.apply(i)
        value = values.get(metric.accumulatorId())
        if value.isDefined():
            shown.append([metric.name(), metric.metricType(), value.get()])
    return {"plan": execution.physicalPlanDescription(), "metrics": shown}


if __name__ == "__main__":
    print(json.dumps(read(Path(sys.argv[1]))))
