# SPDX-License-Identifier: Apache-2.0
"""Uses the product through its public interface: confs, CALL, counters and the files of its store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Row, SparkSession

from support.session import STOCK

PREFIX = "spark.sql.zonemap."


@contextlib.contextmanager
def conf(spark: SparkSession, **values: str) -> Iterator[None]:
    """Sets `spark.sql.zonemap.*` confs by their names in KEYS, and restores the previous values at the end."""
    with raw_conf(spark, {KEYS[k]: v for k, v in values.items()}):
        yield


KEYS = {
    "enabled": PREFIX + "enabled",
    "shadow": PREFIX + "shadow.enabled",
    "upkeep": PREFIX + "upkeep.mode",
    "cover_on_read": PREFIX + "coverOnRead",
    "store_location": PREFIX + "store.location",
    "max_unknown_entries": PREFIX + "plan.maxUnknownEntries",
}


@contextlib.contextmanager
def raw_conf(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def off(spark: SparkSession):
    return conf(spark, enabled="false")


def on(spark: SparkSession):
    return conf(spark, enabled="true")


@dataclass(frozen=True)
class Counters:
    planned_scans: int
    fallbacks: int
    shadow_mismatches: int

    def __sub__(self, other: Counters) -> Counters:
        return Counters(
            self.planned_scans - other.planned_scans,
            self.fallbacks - other.fallbacks,
            self.shadow_mismatches - other.shadow_mismatches,
        )


def counters(spark: SparkSession) -> Counters:
    if STOCK:
        return Counters(0, 0, 0)
    java = spark._jvm.zonemap.spark.PlanningCounters
    return Counters(java.plannedScans(), java.fallbacks(), java.shadowMismatches())


def build(spark: SparkSession, table: str) -> Row | None:
    return None if STOCK else call(spark, "build_index", table)[0]


def refresh(spark: SparkSession, table: str) -> Row | None:
    return None if STOCK else call(spark, "refresh_index", table)[0]


def status(spark: SparkSession, table: str) -> Row | None:
    return None if STOCK else call(spark, "index_status", table)[0]


def drop(spark: SparkSession, table: str, dry_run: bool = False) -> list[str]:
    if STOCK:
        return []
    return [row[0] for row in call(spark, "drop_index", table, f", dry_run => {str(dry_run).lower()}")]


def call(spark: SparkSession, procedure: str, table: str, more: str = "") -> list[Row]:
    return spark.sql(f"CALL zonemap.system.{procedure}(table => '{table}'{more})").collect()


def store_folder(location: str) -> Path:
    return Path(location.removeprefix("file:")) / "_zonemaps_v2"


def store_files(location: str, pattern: str = "*") -> list[Path]:
    """Returns the files of the store under a table location: versions, segments and the hint."""
    return sorted(p for p in store_folder(location).rglob(pattern) if p.is_file() and not p.name.endswith(".crc"))
