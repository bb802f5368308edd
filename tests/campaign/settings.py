# SPDX-License-Identifier: Apache-2.0
"""Settings of a session that change how Spark or Iceberg reads, converts, compares or plans."""

from __future__ import annotations

import random

ANSI = "spark.sql.ansi.enabled"
ADAPTIVE = "spark.sql.adaptive.enabled"
TIME_ZONE = "spark.sql.session.timeZone"
_SWITCH = ("true", "false")

CHOICES: dict[str, tuple[str, ...]] = {
    ANSI: _SWITCH,
    ADAPTIVE: _SWITCH,
    TIME_ZONE: ("UTC", "Asia/Kolkata", "America/Los_Angeles", "Pacific/Apia", "+13:45"),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY", "EXCEPTION", "CORRECTED"),
    "spark.sql.caseSensitive": _SWITCH,
    "spark.sql.autoBroadcastJoinThreshold": ("-1", "10MB"),
    "spark.sql.constraintPropagation.enabled": _SWITCH,
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": _SWITCH,
    "spark.sql.optimizer.inSetConversionThreshold": ("0", "3", "1000"),
    "spark.sql.optimizer.nestedSchemaPruning.enabled": _SWITCH,
    "spark.sql.sources.v2.bucketing.enabled": _SWITCH,
    "spark.sql.iceberg.aggregate-push-down.enabled": _SWITCH,
    "spark.sql.iceberg.data-planning-mode": ("local", "distributed", "auto"),
    "spark.sql.iceberg.delete-planning-mode": ("local", "distributed", "auto"),
    "spark.sql.iceberg.executor-cache.enabled": _SWITCH,
    "spark.sql.iceberg.locality.enabled": _SWITCH,
    "spark.sql.iceberg.planning.preserve-data-grouping": _SWITCH,
    "spark.sql.iceberg.vectorization.enabled": _SWITCH,
}


def draw(rng: random.Random) -> dict[str, str]:
    """Draws values of two to five settings."""
    keys = rng.sample(sorted(CHOICES), rng.randint(2, 5))
    return {key: rng.choice(CHOICES[key]) for key in keys}
