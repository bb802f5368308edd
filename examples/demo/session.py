# SPDX-License-Identifier: Apache-2.0
"""The session of the demos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import zonemap
from zonemap import ZonemapError
from zonemap.session import driver_jvm

# C1 alone: on two cores a short run would share them with C2. VFORK: Hadoop runs two chmod processes for each local
# file it writes, half of what a small file costs.
_JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djdk.lang.Process.launchMechanism=VFORK"


def start(warehouse: Path, iceberg: str) -> SparkSession:
    """Starts a local session with two cores and one Iceberg catalog, ``lake``, in a folder."""
    log = Path(__file__).with_name("log4j2.properties")
    builder = SparkSession.builder.master("local[2]").appName("zonemap demo")
    settings = {
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": warehouse.as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.driver.memory": "2g",
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": f"{_JVM_FLAGS} -Dlog4j2.configurationFile={log.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = zonemap.configure(builder, iceberg=iceberg, upkeep="off").getOrCreate()
    if driver_jvm.versions(spark)["iceberg"] is None:
        spark.stop()
        raise ZonemapError(
            f"Cannot start the demo with Iceberg '{iceberg}': it is not on the class path. "
            "Give --iceberg a version or a Spark runtime jar."
        )
    return spark


def iceberg_jar(spark: SparkSession) -> str:
    """Returns the jar of Iceberg's runtime that the session has loaded."""
    jvm: Any = spark._jvm
    table = jvm.java.lang.Class.forName(
        "org.apache.iceberg.Table", True, jvm.java.lang.Thread.currentThread().getContextClassLoader()
    )
    return str(table.getProtectionDomain().getCodeSource().getLocation().getPath())
