"""Plots of the queries that a driver planned."""

from __future__ import annotations

from typing import Any

from zonemap import arguments
from zonemap.diagnosis import HistoryResult
from zonemap.errors import InvalidArgumentError, ZonemapError
from zonemap.palette import Palette
from zonemap.plots.plot import Plot, altair, data


def files_kept(result: HistoryResult) -> Plot:
    """Returns the files of each scan over time: those of the snapshot, and those that the plan kept.

    Args:
        result: The result of ``zonemap.history``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
        ZonemapError: The index planned none of the scans, so there are no counts.
    """
    if not isinstance(result, HistoryResult):
        raise InvalidArgumentError(
            f"Cannot plot {arguments.shown(result)} as files kept: give the result of zonemap.history."
        )
    planned = [scan for scan in result.scans if scan.files_considered >= 0]
    if not planned:
        raise ZonemapError(
            "Cannot plot the files kept: the index planned no scan of this history. Run a query on an indexed table."
        )
    rows = [
        {"at": scan.planned_at.isoformat(), "of": what, "files": files}
        for scan in planned
        for what, files in (("in the table", scan.files_considered), ("kept by the plan", scan.files_kept))
    ]
    spans = [
        {"at": scan.planned_at.isoformat(), "kept": scan.files_kept, "all": scan.files_considered} for scan in planned
    ]
    kept, considered = sum(scan.files_kept for scan in planned), sum(scan.files_considered for scan in planned)
    note = f"A pair of points is a scan; the scale is logarithmic from 1 on. {_stock(len(result.scans) - len(planned))}"

    def draw(palette: Palette) -> Any:
        alt = altair()
        time = alt.X(
            "at:T", title="planned at", axis=alt.Axis(format="%H:%M:%S", labelOverlap=True, tickCount=8, grid=False)
        )
        scale = alt.Scale(type="symlog", constant=1, domainMin=0)
        ticks = alt.Axis(values=[0, *(10**power for power in range(9))], format=",d")
        lines = (
            alt.Chart(data(spans), width=620, height=260)
            .mark_rule(color=palette.line, strokeWidth=2)
            .encode(x=time, y=alt.Y("kept:Q", scale=scale, title="data files", axis=ticks), y2="all:Q")
        )
        colours = alt.Scale(domain=["in the table", "kept by the plan"], range=[palette.plain, palette.good])
        points = (
            alt.Chart(data(rows))
            .mark_circle(size=55, opacity=1)
            .encode(x=time, y=alt.Y("files:Q", scale=scale), color=alt.Color("of:N", scale=colours))
        )
        return lines + points

    title = f"{len(planned):,} scans kept {kept:,} of {considered:,} files"
    return Plot(title, note.strip(), draw)


def _stock(scans: int) -> str:
    return f"{scans:,} scans that Iceberg planned have no counts." if scans else ""
