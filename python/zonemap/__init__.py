# SPDX-License-Identifier: Apache-2.0
"""zonemap: plans Apache Iceberg scans in Spark from a zonemap index.

Thin bindings over the Spark extension whose jar this package contains. The package has no pruning logic: it
sets confs on a session builder and calls SQL procedures, so all of it works through Spark Connect too::

    import zonemap
    from pyspark.sql import SparkSession

    spark = zonemap.configure(SparkSession.builder, iceberg="1.11.0").getOrCreate()
    zonemap.Index(spark, "lake.db.events").build()

Importing this package imports neither PySpark nor py4j.
"""

from zonemap.common.errors import (
    InvalidArgumentError,
    JarNotFoundError,
    ProcedureError,
    UnsupportedSparkError,
    ZonemapError,
    ZonemapWarning,
)
from zonemap.common.version import __version__
from zonemap.diagnosis import explain, verify, why_not
from zonemap.index.index import Index
from zonemap.index.namespace import Namespace, index_status, planned_scans
from zonemap.session.configuration import configure
from zonemap.session.jar import jar_path
from zonemap.session.settings import DualIndex, MergePolicy, Upkeep

__all__ = [
    "DualIndex",
    "Index",
    "InvalidArgumentError",
    "JarNotFoundError",
    "MergePolicy",
    "Namespace",
    "ProcedureError",
    "UnsupportedSparkError",
    "Upkeep",
    "ZonemapError",
    "ZonemapWarning",
    "__version__",
    "configure",
    "explain",
    "index_status",
    "jar_path",
    "planned_scans",
    "verify",
    "why_not",
]
