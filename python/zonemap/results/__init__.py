# SPDX-License-Identifier: Apache-2.0
"""Results of the methods of ``zonemap.Index`` and of the functions of ``zonemap``: frozen objects.

``print``, ``rich.print`` and notebooks show each as a table; ``as_dict`` and ``as_dicts`` return values for JSON.
"""

from zonemap.results.index import (
    BuildResult,
    BuildResults,
    BuiltFact,
    CompactedLevel,
    CompactResult,
    DropResult,
    GarbageFile,
    GarbageResult,
    PrewarmResult,
    StatusResult,
    StatusResults,
)
from zonemap.results.layout import AdviceResult, AdviceRow, ClusteringResult
from zonemap.results.queries import (
    Explanation,
    PlannedScan,
    PlannedScans,
    PlanStep,
    Verdict,
    VerifyResult,
    WhyNotResult,
    WhyNotRow,
)

__all__ = [
    "AdviceResult",
    "AdviceRow",
    "BuildResult",
    "BuildResults",
    "BuiltFact",
    "ClusteringResult",
    "CompactResult",
    "CompactedLevel",
    "DropResult",
    "Explanation",
    "GarbageFile",
    "GarbageResult",
    "PlanStep",
    "PlannedScan",
    "PlannedScans",
    "PrewarmResult",
    "StatusResult",
    "StatusResults",
    "Verdict",
    "VerifyResult",
    "WhyNotResult",
    "WhyNotRow",
]
