# SPDX-License-Identifier: Apache-2.0
"""Plots of the index of a table: where its bytes are, and its levels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from zonemap.common import argument_checks, safe_text
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.plots.plot import Plot, altair, data
from zonemap.results import CompactResult, StatusResult
from zonemap.show.palette import Palette
from zonemap.show.sizes import scaled, sized

_TIERS = (
    ("driver memory (hot)", "memory_bytes"),
    ("local files (evicted)", "spilled_bytes"),
    ("cold cache in memory", "cold_memory_bytes"),
    ("cold cache on disk", "cold_disk_bytes"),
    ("store: segments", "bytes"),
    ("store: facts", "fact_bytes"),
)
#: In the order in which segments move from one level to the next.
_LEVELS = ("micro", "hour", "day")


def tiers(result: StatusResult) -> Plot:
    """Returns the bytes of an index in memory, in local files and in the store.

    Args:
        result: The result of ``Index.status``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
    """
    if not isinstance(result, StatusResult):
        raise InvalidArgumentError(
            f"Cannot plot {argument_checks.shown(result)} as tiers: give the result of status() of an Index."
        )
    found = [(name, _known(getattr(result, field))) for name, field in _TIERS]
    unit, size = scaled(max(count for _, count in found))
    largest = max(0.0, *(count / size for _, count in found)) or 1
    rows = [{"tier": name, "size": max(0, count) / size, "text": sized(count)} for name, count in found]

    def draw(palette: Palette) -> Any:
        alt = altair()
        base = alt.Chart(data(rows), width=420, height=alt.Step(30)).encode(
            y=alt.Y("tier:N", sort=None, title=None),
            x=alt.X("size:Q", title=unit, scale=alt.Scale(domain=[0, largest * 1.25]), axis=alt.Axis(tickCount=5)),
        )
        bars = base.mark_bar(color=palette.good, cornerRadiusEnd=2, height=16)
        return bars + base.mark_text(align="left", dx=5, color=palette.ink).encode(text="text:N")

    return Plot(f"Index of {safe_text.line(result.table)}: bytes by tier", "", draw)


def levels(result: StatusResult | CompactResult) -> Plot:
    """Returns the number of segments of each level of an index; for a merge, before and after it.

    Args:
        result: The result of ``Index.status`` or ``Index.compact``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
        ZonemapError: The index has no segments.
    """
    rows = _segments(result)
    if not rows:
        raise ZonemapError(
            f"Cannot plot the levels of '{result.table}': its index has no segments. Call build() of its Index first."
        )
    most = max(int(row["segments"]) for row in rows)
    rows = [row | {"text": f"{row['segments']:,}"} for row in rows]
    whens = list(dict.fromkeys(str(row["when"]) for row in rows))

    def draw(palette: Palette) -> Any:
        alt = altair()
        colours = alt.Scale(domain=whens, range=[palette.plain, palette.good][-len(whens) :])
        ticks = alt.Axis(format=",d", tickCount=max(1, min(6, most)))
        base = alt.Chart(data(rows), width=320, height=220).encode(
            x=alt.X("level:N", sort=list(_LEVELS), title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("segments:Q", title="segments", axis=ticks),
            xOffset=alt.XOffset("when:N", sort=whens),
        )
        legend = alt.Legend() if len(whens) > 1 else None
        bars = base.mark_bar(cornerRadiusEnd=2, **({} if len(whens) > 1 else {"size": 48})).encode(
            color=alt.Color("when:N", scale=colours, legend=legend)
        )
        return bars + base.mark_text(dy=-7, color=palette.ink).encode(text="text:N")

    return Plot(f"Index of {safe_text.line(result.table)}: segments by level", "", draw)


def _segments(result: StatusResult | CompactResult) -> Sequence[dict[str, Any]]:
    """Returns the number of segments by level and time."""
    if isinstance(result, CompactResult):
        return [
            {"level": level.level, "when": when, "segments": count}
            for level in result.levels
            for when, count in (("before", level.segments_before), ("after", level.segments_after))
        ]
    if isinstance(result, StatusResult):
        pairs = re.findall(r"(\S+)=(\d+)", result.levels or "")
        return [{"level": level, "when": "now", "segments": int(count)} for level, count in pairs]
    raise InvalidArgumentError(
        f"Cannot plot {argument_checks.shown(result)} as levels: give the result of status() or compact() of an Index."
    )


def _known(value: object) -> int:
    """Returns a number of bytes; -1 for one that is unknown."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else -1
