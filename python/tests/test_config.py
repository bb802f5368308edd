from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from zonemap import DualIndex, InvalidArgumentError


def test_defaults_are_those_of_the_extension() -> None:
    assert DualIndex().confs() == {
        "spark.sql.zonemap.hot.window": "6h",
        "spark.sql.zonemap.hot.max-bytes": "512m",
        "spark.sql.zonemap.cold.cache-max-bytes": "256m",
        "spark.sql.zonemap.cold.cache-disk-max-bytes": "4g",
    }


def test_a_folder_is_set_only_if_given() -> None:
    assert DualIndex(cold_cache_dir="/cache").confs()["spark.sql.zonemap.cold.cache-dir"] == "/cache"


def test_numbers_are_bytes() -> None:
    assert DualIndex(hot_max_bytes=1024).confs()["spark.sql.zonemap.hot.max-bytes"] == "1024"


def test_it_prints_the_confs_it_sets() -> None:
    shown = repr(DualIndex(hot_window="30m"))
    assert "spark.sql.zonemap.hot.window=30m" in shown
    assert "cold.cache-dir" not in shown


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
        ("hot_max_bytes", "half", "hot.max-bytes"),
        ("hot_max_bytes", "-1", "hot.max-bytes"),
        ("hot_max_bytes", -1, "hot.max-bytes"),
        ("hot_max_bytes", 1.5, "hot.max-bytes"),
        ("hot_max_bytes", True, "hot.max-bytes"),
        ("cold_cache_max_bytes", "256 x", "cold.cache-max-bytes"),
        ("cold_cache_dir", " ", "cold.cache-dir"),
        ("cold_cache_disk_max_bytes", "", "cold.cache-disk-max-bytes"),
    ],
)
def test_a_malformed_value_is_refused_by_key(field: str, value: Any, key: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^Cannot set spark\.sql\.zonemap\.{key} to '{value}': .*Give "):
        DualIndex(**{field: value})


@pytest.mark.parametrize("window", ["500ms", "30s", "5m", "5min", "6h", "1d"])
@pytest.mark.parametrize("size", ["0", "1024", "512m", "512MB", "4g", "1t", "8k"])
def test_the_units_of_spark_are_taken(window: str, size: str) -> None:
    assert DualIndex(hot_window=window, hot_max_bytes=size).confs()["spark.sql.zonemap.hot.max-bytes"] == size
