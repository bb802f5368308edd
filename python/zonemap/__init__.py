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

import importlib
from typing import Any

from zonemap import results
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

#: Packages for users that are imported when they are first named.
_PACKAGES = ("ingest", "pyiceberg")

#: Names of earlier versions, and what does the same.
_FORMER_NAMES = {
    "advise": "Index(spark, table).advise()",
    "build": "Index(spark, table).build()",
    "clustering_information": "Index(spark, table).clustering()",
    "drop": "Index(spark, table).drop()",
    "gc": "Index(spark, table).collect_garbage()",
    "history": "planned_scans(spark)",
    "merge": "Index(spark, table).compact()",
    "prewarm": "Index(spark, table).prewarm()",
    "refresh": "Index(spark, table).refresh()",
    "report": "Index(spark, table).report()",
    "status": "index_status(spark)",
    "verify_query": "verify(spark, query)",
}


def __getattr__(name: str) -> Any:
    """Imports a package that is named without an import, or names what replaced a name of an earlier version."""
    if name in _PACKAGES:
        return importlib.import_module(f"zonemap.{name}")
    new = f"results.{name}" if name in results.__all__ else _FORMER_NAMES.get(name)
    hint = "" if new is None else f": use zonemap.{new}"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
