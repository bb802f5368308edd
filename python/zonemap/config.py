"""Typed settings that turn into ``spark.sql.zonemap.*`` confs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from zonemap import confs
from zonemap.errors import InvalidArgumentError

_DURATION = re.compile(r"[1-9][0-9]*(ms|s|m|min|h|d)")
_SIZE = re.compile(r"[0-9]+(b|k|kb|m|mb|g|gb|t|tb)?", re.IGNORECASE)


class _Settings:
    """Something that sets confs; printing it shows them."""

    def confs(self) -> dict[str, str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        settings = "\n".join(f"  {key}={value}" for key, value in self.confs().items())
        return f"{type(self).__name__} sets\n{settings}"


@dataclass(frozen=True, repr=False)
class DualIndex(_Settings):
    """What of the index stays in the memory of the driver (hot); the rest is read from the store when needed (cold).

    Attributes:
        hot_window: How far back from now the hot tier reaches: over the cap, older segments give way first. A whole
            number and a unit of ``ms``, ``s``, ``m`` (or ``min``), ``h``, ``d``, such as ``"6h"``.
        hot_max_bytes: Cap of the index's memory on the driver; bytes, or with a unit of ``k``, ``m``, ``g``, ``t``
            (powers of 1,024), such as ``"512m"``.
        cold_cache_max_bytes: Cap of what is kept in memory of index files fetched from stores that are not local.
        cold_cache_dir: Local folder that keeps what is fetched for later drivers, and takes segments that memory has no
            room for; None: nothing is kept on disk, and such segments go to the JVM's folder for temporary files.
        cold_cache_disk_max_bytes: Cap of the files there.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and what it may be.
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

    def confs(self) -> dict[str, str]:
        """The confs this object sets, keys and values as Spark takes them."""
        folder = {} if self.cold_cache_dir is None else {confs.COLD_CACHE_DIR: os.fspath(self.cold_cache_dir)}
        return {
            confs.HOT_WINDOW: self.hot_window,
            confs.HOT_MAX_BYTES: str(self.hot_max_bytes),
            confs.COLD_CACHE_MAX_BYTES: str(self.cold_cache_max_bytes),
            confs.COLD_CACHE_DISK_MAX_BYTES: str(self.cold_cache_disk_max_bytes),
        } | folder


@dataclass(frozen=True, repr=False)
class Upkeep(_Settings):
    """Who extends the index when the table grows, and when that is written to the table's store.

    Attributes:
        mode: ``off`` (procedures only), ``memory`` (never writes), ``persist``, or ``auto``: persist where the table
            has a store already, else memory.
        max_cpu_share: What following the commits to one table may take of one core on average, above 0 and at most 1;
            commits that come sooner than that allows are indexed together, a minute later at most.
        flush_interval: How long what is indexed may wait in memory for the store; units as of ``DualIndex.hot_window``.
        flush_manifests: So many manifests in memory are written before the interval is over.
        maintain_facts: Whether new data files get the facts that their table has, by Spark jobs in the background.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and what it may be.
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
        """The confs this object sets, keys and values as Spark takes them."""
        return {
            confs.UPKEEP: self.mode,
            confs.MAX_CPU_SHARE: str(self.max_cpu_share),
            confs.FLUSH_INTERVAL: self.flush_interval,
            confs.FLUSH_MANIFESTS: str(self.flush_manifests),
            confs.MAINTAIN_FACTS: str(self.maintain_facts).lower(),
        }


@dataclass(frozen=True, repr=False)
class MergePolicy(_Settings):
    """When the small segments of recent commits (runs) are merged into hours and days; always in the background.

    Attributes:
        policy: ``probabilistic``: at each commit with p = min(1, runs / limit), and at every ``forced_every``-th;
            ``deterministic``: at a fixed number of runs; ``off``: at the hard cap only.
        limit: Runs at which the probabilistic policy is certain to merge.
        forced_every: Commits after which the probabilistic policy merges whatever the draw.
        hard_cap: So many runs are merged under every policy; bounds what a plan opens.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and what it may be.
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
        """The confs this object sets, keys and values as Spark takes them."""
        return {
            confs.MERGE_POLICY: self.policy,
            confs.MERGE_LIMIT: str(self.limit),
            confs.MERGE_FORCED_EVERY: str(self.forced_every),
            confs.MERGE_HARD_CAP: str(self.hard_cap),
        }


def check_choice(key: str, value: str, allowed: tuple[str, ...]) -> str:
    """Returns ``value`` if it is one of ``allowed``; else raises the InvalidArgumentError that names all three."""
    if value not in allowed:
        raise _malformed(key, value, "one of " + ", ".join(allowed))
    return value


def check_sample(key: str, value: float) -> str:
    """Returns ``value`` as a conf has it if it is a share from 0 to 1; else raises the InvalidArgumentError."""
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
    return InvalidArgumentError(f"Cannot set {key} to '{value}': it is not {kind}. Give {kind}{hint}.")
