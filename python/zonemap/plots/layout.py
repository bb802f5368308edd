# SPDX-License-Identifier: Apache-2.0
"""Plots of the layout of a table."""

from __future__ import annotations

from typing import Any

from zonemap.common import argument_checks, safe_text
from zonemap.common.errors import InvalidArgumentError
from zonemap.plots.plot import Plot, altair, data
from zonemap.results import ClusteringResult
from zonemap.show.palette import Palette

_BUCKETS = "From 17 on, a bar holds the depths up to its number."


def clustering_depth(result: ClusteringResult) -> Plot:
    """Returns the number of data files by depth: by how many files may hold the same value.

    Args:
        result: The result of ``Index.clustering``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
    """
    if not isinstance(result, ClusteringResult):
        raise InvalidArgumentError(
            f"Cannot plot {argument_checks.shown(result)} as a clustering depth: "
            "give the result of clustering() of an Index."
        )
    found = sorted((int(depth), files) for depth, files in result.partition_depth_histogram.items() if files)
    rows = [{"depth": f"depth {depth:,}", "files": files, "text": f"{files:,}"} for depth, files in found]
    note = f"Depth: files that may hold the same value; 1 is best. {_BUCKETS}{_left_out(result)}"
    largest = max((files for _, files in found), default=1)

    def draw(palette: Palette) -> Any:
        alt = altair()
        depth = alt.Y("depth:N", sort=None, title=None)
        ticks = alt.Axis(tickMinStep=1, tickCount=6, labelOverlap=True)
        files = alt.X("files:Q", title="data files", axis=ticks, scale=alt.Scale(domain=[0, largest * 1.18]))
        base = alt.Chart(data(rows), width=440, height=alt.Step(26)).encode(x=files, y=depth)
        bars = base.mark_bar(color=palette.good, cornerRadiusEnd=2, height=16)
        return bars + base.mark_text(align="left", dx=5, color=palette.ink).encode(text="text:N")

    keys = result.cluster_by_keys.removeprefix("LINEAR(").removesuffix(")")
    return Plot(
        f"Values of {safe_text.line(keys)}: average depth {safe_text.decimal(result.average_depth)}", note, draw
    )


def _left_out(result: ClusteringResult) -> str:
    """Returns which files are in no bar."""
    found = ((result.partitions_without_bounds, "without bounds"), (result.partitions_of_nulls, "of nulls alone"))
    named = " and ".join(f"{files:,} files {what}" for files, what in found if files > 0)
    return f" {named} are left out." if named else ""
