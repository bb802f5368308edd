# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from zonemap import DualIndex, InvalidArgumentError, MergePolicy, Upkeep

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            DualIndex(),
            {
                "hot.window": "6h",
                "hot.maxBytes": "512m",
                "cold.cacheMaxBytes": "256m",
                "cold.cacheDiskMaxBytes": "4g",
            },
        ),
        (
            Upkeep(),
            {
                "upkeep.mode": "auto",
                "upkeep.maxCpuShare": "0.0005",
                "upkeep.flushInterval": "30s",
                "upkeep.flushManifests": "64",
                "upkeep.maintainFacts.enabled": "false",
            },
        ),
        (
            MergePolicy(),
            {
                "merge.policy": "probabilistic",
                "merge.limit": "1000",
                "merge.forcedEvery": "100",
                "merge.hardCap": "32",
            },
        ),
    ],
)
def test_defaults_are_those_of_the_extension(settings: DualIndex, expected: dict[str, str]) -> None:
    assert settings.confs() == {f"spark.sql.zonemap.{key}": value for key, value in expected.items()}
    reference = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    for key, value in settings.confs().items():
        assert f"| `{key}` | `{value}` |" in reference


def test_numbers_are_bytes() -> None:
    assert DualIndex(hot_max_bytes=1024).confs()["spark.sql.zonemap.hot.maxBytes"] == "1024"


@pytest.mark.parametrize("folder", ["/cache", Path("/cache")])
def test_a_cache_folder_is_a_conf_only_if_it_is_named(folder: str | Path) -> None:
    key = "spark.sql.zonemap.cold.cacheDir"
    assert key not in DualIndex().confs()
    assert DualIndex(cold_cache_dir=folder).confs()[key] == "/cache"


def test_it_prints_the_confs_it_sets() -> None:
    assert repr(DualIndex(hot_window="30m")).startswith("DualIndex sets\n  spark.sql.zonemap.hot.window=30m\n")
    assert "spark.sql.zonemap.merge.policy=off" in repr(MergePolicy(policy="off"))
    assert "spark.sql.zonemap.upkeep.flushInterval=5m" in repr(Upkeep(flush_interval="5m"))


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        DualIndex().hot_window = "1h"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value", "key"),
    [
        ("hot_window", "", "hot.window"),
        ("hot_window", "6", "hot.window"),
        ("hot_window", "0h", "hot.window"),
        ("hot_window", "-6h", "hot.window"),
        ("hot_window", "six hours", "hot.window"),
        ("hot_window", 6, "hot.window"),
        ("hot_max_bytes", "half", "hot.maxBytes"),
        ("hot_max_bytes", "-1", "hot.maxBytes"),
        ("hot_max_bytes", -1, "hot.maxBytes"),
        ("hot_max_bytes", 1.5, "hot.maxBytes"),
        ("hot_max_bytes", True, "hot.maxBytes"),
        ("cold_cache_max_bytes", "some", "cold.cacheMaxBytes"),
        ("cold_cache_disk_max_bytes", -4, "cold.cacheDiskMaxBytes"),
    ],
)
def test_a_malformed_value_is_refused_by_key(field: str, value: Any, key: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^Cannot set spark\.sql\.zonemap\.{key} to '{value}': .*Give "):
        DualIndex(**{field: value})


@pytest.mark.parametrize(
    ("kind", "field", "value", "key"),
    [
        (Upkeep, "mode", "on", "upkeep.mode"),
        (Upkeep, "max_cpu_share", 0, "upkeep.maxCpuShare"),
        (Upkeep, "max_cpu_share", 1.5, "upkeep.maxCpuShare"),
        (Upkeep, "max_cpu_share", True, "upkeep.maxCpuShare"),
        (Upkeep, "max_cpu_share", "low", "upkeep.maxCpuShare"),
        (Upkeep, "flush_interval", "soon", "upkeep.flushInterval"),
        (Upkeep, "flush_manifests", 0, "upkeep.flushManifests"),
        (Upkeep, "flush_manifests", "64", "upkeep.flushManifests"),
        (Upkeep, "maintain_facts", "true", "upkeep.maintainFacts.enabled"),
        (MergePolicy, "policy", "sometimes", "merge.policy"),
        (MergePolicy, "limit", 0, "merge.limit"),
        (MergePolicy, "forced_every", True, "merge.forcedEvery"),
        (MergePolicy, "hard_cap", 1, "merge.hardCap"),
    ],
)
def test_upkeep_and_merge_policy_refuse_by_key(kind: Any, field: str, value: Any, key: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^Cannot set spark\.sql\.zonemap\.{key} to '{value}': .*Give "):
        kind(**{field: value})


@pytest.mark.parametrize("window", ["500ms", "30s", "5m", "5min", "6h", "1d"])
@pytest.mark.parametrize("size", ["0", "1024", "512m", "512MB", "4g", "1t", "8k"])
def test_the_units_of_spark_are_taken(window: str, size: str) -> None:
    assert DualIndex(hot_window=window, hot_max_bytes=size).confs()["spark.sql.zonemap.hot.maxBytes"] == size
