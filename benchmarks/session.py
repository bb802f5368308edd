# SPDX-License-Identifier: Apache-2.0
"""The Spark session of the suites that run queries: two cores, one Iceberg catalog `lake`, and the extension."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import provenance
from pyspark.sql import SparkSession

import zonemap
from zonemap.session import driver_jvm

_CONFS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.driver.extraJavaOptions": "-Djdk.lang.Process.launchMechanism=VFORK",
}


def start(suite: str, warehouse: Path, iceberg: str, memory: str) -> SparkSession:
    """Starts a session for one suite.

    Args:
        suite: the name of the suite.
        warehouse: the folder of the catalog.
        iceberg: the path of Iceberg's runtime jar.
        memory: the driver's memory, such as "4g".
    """
    builder = SparkSession.Builder().appName(f"zonemap-{suite}").config("spark.driver.memory", memory)
    for key, value in _CONFS.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.catalog.lake.warehouse", str(warehouse.resolve()))
    return zonemap.configure(builder, iceberg=iceberg).getOrCreate()


def versions(spark: SparkSession) -> dict[str, str | None]:
    """Returns the versions of the software that the figures were measured with."""
    return driver_jvm.versions(spark) | {"zonemap": zonemap.__version__, "python": platform.python_version()}


def cpu_millis(spark: SparkSession) -> float:
    """Returns the CPU milliseconds that the driver's process has used."""
    jvm: Any = spark._jvm
    pid = jvm.java.lang.ProcessHandle.current().pid()
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def keep(document: dict[str, Any], result: Path) -> None:
    """Writes the figures of a suite, with the machine and the commit, to a JSON file."""
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(document | provenance.of(), indent=2) + "\n")
    print(f"written: {result}")
