# SPDX-License-Identifier: Apache-2.0
"""Reads confs and versions of the driver's JVM through py4j; works with classic sessions only.

No other module of ``zonemap`` uses py4j, and no function here changes a query.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext

from zonemap.common.errors import ZonemapError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def running_confs() -> dict[str, str] | None:
    """Returns the ``spark.*`` confs of the JVM of this process, or None if no JVM runs yet."""
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()
    return dict(SparkConf(_jvm=SparkContext._jvm).getAll())


def has_class(name: str) -> bool:
    """Returns True if the running JVM can load this class from its application class path."""
    jvm: Any = SparkContext._jvm
    try:
        jvm.java.lang.Class.forName(name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    except Py4JError:
        return False
    return True


def versions(spark: SparkSession) -> dict[str, str | None]:
    """Returns the versions of Spark, Scala, Java and Iceberg on the driver, by name; a missing Iceberg is None."""
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


def _classic(spark: SparkSession) -> Any:
    """Returns the session if this process can reach its JVM; raises a ZonemapError otherwise."""
    if getattr(spark, "_jvm", None) is None:
        raise ZonemapError(
            "Cannot reach the driver's JVM: this is a Spark Connect session. Use SQL and the procedures instead."
        )
    return spark
