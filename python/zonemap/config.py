"""Typed settings that turn into ``spark.sql.zonemap.*`` confs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zonemap import confs
from zonemap.errors import InvalidArgumentError

_DURATION = re.compile(r"[1-9][0-9]*(ms|s|m|min|h|d)")
_SIZE = re.compile(r"[0-9]+(b|k|kb|m|mb|g|gb|t|tb)?", re.IGNORECASE)


@dataclass(frozen=True)
class DualIndex:
    """Sizes of the two tiers of the index: what stays in memory (hot) and how the rest is cached (cold).

    Every cap is a hard one: above it the index is read from its store instead, never wrong and never larger.

    Attributes:
        hot_window: How far back from the newest data the hot tier reaches; a whole number and a unit of
            ``ms``, ``s``, ``m`` (or ``min``), ``h``, ``d``, such as ``"6h"``.
        hot_max_bytes: Cap of the hot tier's memory on the driver; bytes, or with a unit of ``k``, ``m``,
            ``g``, ``t`` (powers of 1,024), such as ``"512m"``.
        cold_cache_max_bytes: Cap of the cold tier's memory on the driver; same units.
        cold_cache_dir: Folder of the driver's machine for copies of cold segments; None leaves the
            extension's default.
        cold_cache_disk_max_bytes: Cap of that folder; same units as the other sizes.

    Raises:
        InvalidArgumentError: a value is malformed; the message names the conf and what it may be.
    """

    hot_window: str = "6h"
    hot_max_bytes: int | str = "512m"
    cold_cache_max_bytes: int | str = "256m"
    cold_cache_dir: str | None = None
    cold_cache_disk_max_bytes: int | str = "4g"

    def __post_init__(self) -> None:
        if not isinstance(self.hot_window, str) or not _DURATION.fullmatch(self.hot_window):
            raise _malformed(confs.HOT_WINDOW, self.hot_window, "a duration", "6h, 30m or 1d")
        for key, value in (
            (confs.HOT_MAX_BYTES, self.hot_max_bytes),
            (confs.COLD_CACHE_MAX_BYTES, self.cold_cache_max_bytes),
            (confs.COLD_CACHE_DISK_MAX_BYTES, self.cold_cache_disk_max_bytes),
        ):
            if isinstance(value, bool) or not _SIZE.fullmatch(str(value)):
                raise _malformed(key, value, "a size in bytes", "512m, 4g or 1073741824")
        if self.cold_cache_dir is not None and not str(self.cold_cache_dir).strip():
            raise _malformed(confs.COLD_CACHE_DIR, self.cold_cache_dir, "a folder", "/var/cache/zonemap")

    def confs(self) -> dict[str, str]:
        """The confs this object sets, keys and values as Spark takes them."""
        values = {
            confs.HOT_WINDOW: self.hot_window,
            confs.HOT_MAX_BYTES: str(self.hot_max_bytes),
            confs.COLD_CACHE_MAX_BYTES: str(self.cold_cache_max_bytes),
            confs.COLD_CACHE_DISK_MAX_BYTES: str(self.cold_cache_disk_max_bytes),
        }
        if self.cold_cache_dir is not None:
            values[confs.COLD_CACHE_DIR] = str(self.cold_cache_dir)
        return values

    def __repr__(self) -> str:
        settings = "\n".join(f"  {key}={value}" for key, value in self.confs().items())
        return f"DualIndex sets\n{settings}"


def check_choice(key: str, value: str, allowed: tuple[str, ...]) -> str:
    """Returns ``value`` if it is one of ``allowed``; else raises the InvalidArgumentError that names all three."""
    if value not in allowed:
        raise _malformed(key, value, "one of " + ", ".join(allowed))
    return value


def _malformed(key: str, value: object, kind: str, example: str | None = None) -> InvalidArgumentError:
    hint = f", such as {example}" if example else ""
    return InvalidArgumentError(f"Cannot set {key} to '{value}': it is not {kind}. Give {kind}{hint}.")
