"""zonemap: plans Apache Iceberg scans in Spark from a zonemap index.

Thin bindings over the Spark extension whose jar this package contains. The package has no pruning logic: it
sets confs on a session builder and calls SQL procedures, so all of it works through Spark Connect too.

    import zonemap
    from pyspark.sql import SparkSession

    spark = zonemap.configure(SparkSession.builder, iceberg="1.11.0").getOrCreate()
    zonemap.build(spark, "lake.db.events")

Importing this package imports neither PySpark nor py4j.
"""

from zonemap.advice import AdviceResult, AdviceRow, advise
from zonemap.config import DualIndex, MergePolicy, Upkeep
from zonemap.diagnosis import (
    ClusteringResult,
    Verdict,
    VerifyResult,
    WhyNotResult,
    WhyNotRow,
    clustering_information,
    verify,
    verify_query,
    why_not,
)
from zonemap.errors import (
    InvalidArgumentError,
    JarNotFoundError,
    ProcedureError,
    UnsupportedSparkError,
    ZonemapError,
    ZonemapWarning,
)
from zonemap.explanation import Explanation, explain
from zonemap.jar import jar_path
from zonemap.planned import HistoryResult, PlannedScan, PlanStage, history
from zonemap.procedures import build, drop, gc, merge, prewarm, refresh, status
from zonemap.reports import Report, report
from zonemap.results import (
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
from zonemap.session import configure
from zonemap.version import __version__

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
