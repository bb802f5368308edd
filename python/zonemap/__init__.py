# SPDX-License-Identifier: Apache-2.0
"""zonemap: plans Apache Iceberg scans in Spark from a zonemap index.

Thin bindings over the Spark extension whose jar this package contains. The package has no pruning logic: it
sets confs on a session builder and calls SQL procedures, so all of it works through Spark Connect too.

    import zonemap
    from pyspark.sql import SparkSession

    spark = zonemap.configure(SparkSession.builder, iceberg="1.11.0").getOrCreate()
    zonemap.build(spark, "lake.db.events")

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
from zonemap.diagnosis.advice import AdviceResult, AdviceRow, advise
from zonemap.diagnosis.clustering import ClusteringResult, clustering_information
from zonemap.diagnosis.explanation import Explanation, explain
from zonemap.diagnosis.planned_scans import HistoryResult, PlannedScan, PlanStage, history
from zonemap.diagnosis.verification import Verdict, VerifyResult, verify, verify_query
from zonemap.diagnosis.why_not import WhyNotResult, WhyNotRow, why_not
from zonemap.index.procedures import build, drop, gc, merge, prewarm, refresh, status
from zonemap.index.results import (
    BuildResult,
    BuildResults,
    BuiltFact,
    DropResult,
    GarbageFile,
    GcResult,
    MergedLevel,
    MergeResult,
    PrewarmResult,
    StatusResult,
    StatusResults,
)
from zonemap.reports import Report, report
from zonemap.session.configuration import configure
from zonemap.session.jar import jar_path
from zonemap.session.settings import DualIndex, MergePolicy, Upkeep

__all__ = [
    "AdviceResult",
    "AdviceRow",
    "BuildResult",
    "BuildResults",
    "BuiltFact",
    "ClusteringResult",
    "DropResult",
    "DualIndex",
    "Explanation",
    "GarbageFile",
    "GcResult",
    "HistoryResult",
    "InvalidArgumentError",
    "JarNotFoundError",
    "MergePolicy",
    "MergeResult",
    "MergedLevel",
    "PlanStage",
    "PlannedScan",
    "PrewarmResult",
    "ProcedureError",
    "Report",
    "StatusResult",
    "StatusResults",
    "UnsupportedSparkError",
    "Upkeep",
    "Verdict",
    "VerifyResult",
    "WhyNotResult",
    "WhyNotRow",
    "ZonemapError",
    "ZonemapWarning",
    "__version__",
    "advise",
    "build",
    "clustering_information",
    "configure",
    "drop",
    "explain",
    "gc",
    "history",
    "jar_path",
    "merge",
    "prewarm",
    "refresh",
    "report",
    "status",
    "verify",
    "verify_query",
    "why_not",
]
