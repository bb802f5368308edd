# SPDX-License-Identifier: Apache-2.0
"""Typed settings that turn into ``spark.sql.zonemap.*`` confs."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from zonemap.common.argument_checks import shown
from zonemap.common.errors import InvalidArgumentError
from zonemap.session import confs

_DURATION = re.compile(r"[1-9][0-9]*(ms|s|m|min|h|d)")
_SIZE = re.compile(r"[0-9]+(b|k|kb|m|mb|g|gb|t|tb)?", re.IGNORECASE)


class _Settings(ABC):
    """A group of confs; its ``repr`` lists them."""

    @abstractmethod
    def confs(self) -> dict[str, str]:
        """Returns the keys of the confs with their values."""

    def __repr__(self) -> str:
        settings = "\n".join(f"  {key}={value}" for key, value in self.confs().items())
        return f"{type(self).__name__} sets\n{settings}"


@dataclass(frozen=True, repr=False)
class DualIndex(_Settings):
    """The part of the index in the memory of the driver (hot); the rest is loaded from the store when needed (cold).

    Attributes:
        hot_window: Age up to which segments belong to the hot tier: above ``hot_max_bytes``, older segments are evicted
            first. A whole number and a unit of ``ms``, ``s``, ``m`` (or ``min``), ``h``, ``d``, such as ``"6h"``.
        hot_max_bytes: Largest size of the index on the driver, in bytes or with a unit of ``k``, ``m``, ``g``, ``t``
            (powers of 1,024), such as ``"512m"``.
        cold_cache_max_bytes: Largest size of the in-memory cache of index files from stores that are not local.
        cold_cache_dir: Local folder that caches index files for later drivers; segments that do not fit in memory are
            spilled to it too. None: no cache on disk; segments are spilled to the JVM's folder for temporary files.
        cold_cache_disk_max_bytes: Largest size of the files in that folder.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and the allowed values.
    """

    hot_window: str = "6h"
    hot_max_bytes: int | str = "512m"
    cold_cache_max_bytes: int | str = "256m"
    cold_cache_dir: str | os.PathLike[str] | None = None
    cold_cache_disk_max_bytes: int | str = "4g"

    def __post_init__(self) -> None:
        _check_duration(confs.HOT_WINDOW, self.hot_window, "6h, 30m or 1d")
        _check_size(confs.HOT_MAX_BYTES, self.hot_max_bytes)
        _check_size(confs.COLD_CACHE_MAX_BYTES, self.cold_cache_max_bytes)
        _check_size(confs.COLD_CACHE_DISK_MAX_BYTES, self.cold_cache_disk_max_bytes)
        if self.cold_cache_dir is not None and not isinstance(self.cold_cache_dir, str | os.PathLike):
            raise _malformed(confs.COLD_CACHE_DIR, self.cold_cache_dir, "a folder, as text or as a pathlib.Path")

    def confs(self) -> dict[str, str]:
        """Returns the confs that this object sets, by key, with values as Spark reads them."""
        folder = {} if self.cold_cache_dir is None else {confs.COLD_CACHE_DIR: os.fspath(self.cold_cache_dir)}
        return {
            confs.HOT_WINDOW: self.hot_window,
            confs.HOT_MAX_BYTES: str(self.hot_max_bytes),
            confs.COLD_CACHE_MAX_BYTES: str(self.cold_cache_max_bytes),
            confs.COLD_CACHE_DISK_MAX_BYTES: str(self.cold_cache_disk_max_bytes),
        } | folder


@dataclass(frozen=True, repr=False)
class Upkeep(_Settings):
    """Where the index is extended when the table grows, and when it is written to the table's store.

    Attributes:
        mode: ``off``: only procedures extend the index; ``memory``: in memory, without writing the store;
            ``persist``: in memory and in the table's store; ``auto``: persist if the table has a store, else memory.
        max_cpu_share: Largest average share of one CPU core used to index new commits of one table, above 0 and at
            most 1. Frequent commits are indexed together, at most one minute later.
        flush_interval: Longest time that newly indexed manifests stay in memory before they are written to the store;
            units as of ``DualIndex.hot_window``.
        flush_manifests: Number of newly indexed manifests in memory that are written before the interval ends.
        maintain_facts: True builds the facts of the table for new data files, by Spark jobs in the background.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and the allowed values.
    """

    mode: str = "auto"
    max_cpu_share: float = 0.0005
    flush_interval: str = "30s"
    flush_manifests: int = 64
    maintain_facts: bool = False

    def __post_init__(self) -> None:
        check_choice(confs.UPKEEP, self.mode, confs.UPKEEP_VALUES)
        _check_share(confs.MAX_CPU_SHARE, self.max_cpu_share)
        _check_duration(confs.FLUSH_INTERVAL, self.flush_interval, "30s or 5m")
        _check_count(confs.FLUSH_MANIFESTS, self.flush_manifests, 1)
        if not isinstance(self.maintain_facts, bool):
            raise _malformed(confs.MAINTAIN_FACTS, self.maintain_facts, "True or False")

    def confs(self) -> dict[str, str]:
        """Returns the confs that this object sets, by key, with values as Spark reads them."""
        return {
            confs.UPKEEP: self.mode,
            confs.MAX_CPU_SHARE: str(self.max_cpu_share),
            confs.FLUSH_INTERVAL: self.flush_interval,
            confs.FLUSH_MANIFESTS: str(self.flush_manifests),
            confs.MAINTAIN_FACTS: str(self.maintain_facts).lower(),
        }


@dataclass(frozen=True, repr=False)
class MergePolicy(_Settings):
    """When runs (segments of single commits) are merged into segments of hours and days, always in the background.

    Attributes:
        policy: ``probabilistic``: at each commit with p = min(1, runs / limit), and at every ``forced_every``-th;
            ``deterministic``: at a fixed number of runs; ``off``: at the hard cap only.
        limit: Number of runs at which the probabilistic policy merges with certainty.
        forced_every: Number of commits after which the probabilistic policy merges, whatever the draw.
        hard_cap: Number of runs at which every policy merges; it limits the number of segments that a plan opens.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and the allowed values.
    """

    policy: str = "probabilistic"
    limit: int = 1000
    forced_every: int = 100
    hard_cap: int = 32

    def __post_init__(self) -> None:
        check_choice(confs.MERGE_POLICY, self.policy, confs.MERGE_POLICY_VALUES)
        _check_count(confs.MERGE_LIMIT, self.limit, 1)
        _check_count(confs.MERGE_FORCED_EVERY, self.forced_every, 1)
        _check_count(confs.MERGE_HARD_CAP, self.hard_cap, 2)

    def confs(self) -> dict[str, str]:
        """Returns the confs that this object sets, by key, with values as Spark reads them."""
        return {
            confs.MERGE_POLICY: self.policy,
            confs.MERGE_LIMIT: str(self.limit),
            confs.MERGE_FORCED_EVERY: str(self.forced_every),
            confs.MERGE_HARD_CAP: str(self.hard_cap),
        }


def check_choice(key: str, value: str, allowed: tuple[str, ...]) -> str:
    """Returns ``value`` if it is one of ``allowed``; else raises an InvalidArgumentError that names key and values."""
    if not isinstance(value, str) or value not in allowed:
        raise _malformed(key, value, "one of " + ", ".join(allowed))
    return value


def check_sample(key: str, value: float) -> str:
    """Returns ``value`` as the text of a conf if it is from 0 to 1; else raises an InvalidArgumentError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _malformed(key, value, "a number from 0 to 1", "0.01")
    return str(float(value))


def _check_duration(key: str, value: object, example: str) -> None:
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise _malformed(key, value, "a duration", example)


def _check_size(key: str, value: object) -> None:
    if isinstance(value, bool) or not _SIZE.fullmatch(str(value)):
        raise _malformed(key, value, "a size in bytes", "512m, 4g or 1073741824")


def _check_count(key: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _malformed(key, value, f"a whole number, {least} or more")


def _check_share(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise _malformed(key, value, "a number above 0 and at most 1", "0.001")


def _malformed(key: str, value: object, kind: str, example: str | None = None) -> InvalidArgumentError:
    hint = f", such as {example}" if example else ""
    text = value if isinstance(value, str) else shown(value)
    return InvalidArgumentError(f"Cannot set {key} to '{text}': it is not {kind}. Give {kind}{hint}.")
