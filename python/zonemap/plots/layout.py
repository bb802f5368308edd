"""Plots of the layout of a table."""

from __future__ import annotations

from typing import Any

from zonemap import arguments
from zonemap.diagnosis import ClusteringResult
from zonemap.errors import InvalidArgumentError
from zonemap.palette import Palette
from zonemap.plots.plot import Plot, altair, data


def clustering_depth(result: ClusteringResult) -> Plot:
    """Returns the number of data files by depth: by how many files may hold the same value.

    Args:
        result: The result of ``zonemap.clustering_information``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
    """
    if not isinstance(result, ClusteringResult):
        raise InvalidArgumentError(
            f"Cannot plot {arguments.shown(result)} as a clustering depth: "
            "give the result of zonemap.clustering_information."
        )
    found = sorted(result.partition_depth_histogram.items())
    rows = [{"depth": f"{int(depth):,}", "files": files} for depth, files in found if files]
    averaged = sum(row["files"] for row in rows)  # type: ignore[misc]
    left_out = result.total_partition_count - averaged
    note = "1 is best: a value is in one file. From 17 on, a bar holds the depths up to its number."
    if left_out:
        note += f" {left_out:,} files without bounds are left out."

    def draw(palette: Palette) -> Any:
        alt = altair()
        base = alt.Chart(data(rows), width=440, height=240).encode(
            x=alt.X(
                "depth:N", sort=None, title="depth: files that may hold the same value", axis=alt.Axis(labelAngle=0)
            ),
            y=alt.Y("files:Q", title="data files", axis=alt.Axis(tickMinStep=1)),
        )
        bars = base.mark_bar(color=palette.good, cornerRadiusEnd=2, size=min(48, 400 // max(1, len(rows))))
        return bars + base.mark_text(dy=-7, color=palette.ink).encode(text=alt.Text("files:Q", format=","))

    keys = result.cluster_by_keys.removeprefix("LINEAR(").removesuffix(")")
    return Plot(f"Values of {keys}: average depth {result.average_depth:,.1f}", note, draw)
