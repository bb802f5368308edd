# SPDX-License-Identifier: Apache-2.0
"""What a driver holds, a sample at a time, and whether it grows."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

#: Fewer samples do not show whether something grows.
ENOUGH = 12


@dataclass(frozen=True)
class Sample:
    """What the JVM of the driver holds after a garbage collection."""

    heap_mb: float
    threads: int
    handles: int
    own_threads: int


#: For each figure: the growth that is allowed, as a factor and as an amount. The pools of Spark follow the load of the
#: machine by a hundred threads up and down; those of the product are bounded.
LIMITS = {"heap_mb": (1.25, 48.0), "threads": (1.1, 48.0), "handles": (1.1, 40.0), "own_threads": (1.0, 8.0)}
OWN = "zonemap"


def sample(spark: SparkSession) -> Sample:
    jvm: Any = spark._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    for _ in range(2):  # what is finalized after the first one goes with the second
        jvm.java.lang.System.gc()
    heap = (runtime.totalMemory() - runtime.freeMemory()) / 2**20
    threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean().getThreadCount()
    pid = jvm.java.lang.ProcessHandle.current().pid()
    own = sum(thread.getName().startswith(OWN) for thread in jvm.java.lang.Thread.getAllStackTraces().keySet())
    return Sample(round(heap, 1), threads, len(list(Path(f"/proc/{pid}/fd").iterdir())), own)


def threads_by_name(spark: SparkSession) -> dict[str, int]:
    """The number of threads of each name without its numbers, the most frequent ones first."""
    names = spark._jvm.java.lang.Thread.getAllStackTraces().keySet()
    counts = Counter(re.sub(r"[0-9]+", "#", thread.getName()) for thread in names)
    return dict(counts.most_common(12))


def growth(samples: list[Sample]) -> list[str]:
    """The figures that are higher in the last third of the samples than in the middle third, beyond their limits."""
    if len(samples) < ENOUGH:
        return []
    third = len(samples) // 3
    found = []
    for name, (factor, amount) in LIMITS.items():
        values = [getattr(one, name) for one in samples]
        before, after = statistics.median(values[third : 2 * third]), statistics.median(values[-third:])
        if after > before * factor + amount:
            found.append(f"{name} grows from {before:g} to {after:g}")
    return found
