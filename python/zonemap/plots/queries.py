# SPDX-License-Identifier: Apache-2.0
"""Plots of the queries that a driver planned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from zonemap.common import argument_checks
from zonemap.common.errors import InvalidArgumentError, ZonemapError
from zonemap.plots.plot import Plot, altair, data
from zonemap.results import PlannedScan, PlannedScans
from zonemap.show.palette import Palette

#: The most scans that a plot has, two points each.
_MOST = 1_000
#: Below so many days, the labels of the axis have hours.
_SHORT_DAYS = 30
_EPOCH = datetime(1970, 1, 1)


def files_kept(result: PlannedScans) -> Plot:
    """Returns the files of each executed scan over time: those of the snapshot, and those that the plan kept.

    Args:
        result: The result of ``Index.planned_scans`` or ``zonemap.planned_scans``.

    Raises:
        InvalidArgumentError: ``result`` is another value.
        ZonemapError: The index planned none of the scans, so there are no counts.
    """
    if not isinstance(result, PlannedScans):
        raise InvalidArgumentError(
            f"Cannot plot {argument_checks.shown(result)} as files kept: give the result of planned_scans()."
        )
    ran = result.ran.scans
    planned = [scan for scan in ran if _is_counted(scan)]
    if not planned:
        raise ZonemapError(
            "Cannot plot the files kept: the index planned no executed scan of this result. Run a query on an indexed "
            "table."
        )
    drawn = sorted(planned, key=_at, reverse=True)[:_MOST]
    rows = [
        {"at": _at(scan), "of": what, "files": files}
        for scan in drawn
        for what, files in (("in the table", scan.files_considered), ("kept by the plan", scan.files_kept))
    ]
    spans = [{"at": _at(scan), "kept": scan.files_kept, "all": scan.files_considered} for scan in drawn]
    kept, considered = sum(scan.files_kept for scan in planned), sum(scan.files_considered for scan in planned)
    notes = ["A pair of points is a scan; the scale is logarithmic from 1 on."]
    if len(planned) > len(drawn):
        notes.append(f"The newest {_MOST:,} scans are drawn.")
    notes += _stock(len(ran) - len(planned))
    largest = max(scan.files_considered for scan in drawn)
    title, shown_as = _time(drawn[-1].planned_at, drawn[0].planned_at)

    def draw(palette: Palette) -> Any:
        alt = altair()
        axis = alt.Axis(format=shown_as, labelOverlap=True, labelBound=True, tickCount=6, grid=False)
        time = alt.X("at:T", title=title, axis=axis, scale=alt.Scale(type="utc", padding=12))
        scale = alt.Scale(type="symlog", constant=1, domainMin=0)
        ticks = alt.Axis(values=[0, *(10**power for power in range(len(str(largest)) + 1))], format=",d")
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

    heading = f"{len(planned):,} {_scans(len(planned))} kept {kept:,} of {considered:,} files"
    return Plot(heading, " ".join(notes), draw)


def _is_counted(scan: PlannedScan) -> bool:
    counts = (scan.files_considered, scan.files_kept)
    return isinstance(scan.planned_at, datetime) and all(isinstance(count, int) and count >= 0 for count in counts)


def _at(scan: PlannedScan) -> float:
    """Returns the time on the clock of the result in milliseconds, which every zone draws alike."""
    return (scan.planned_at.replace(tzinfo=None) - _EPOCH).total_seconds() * 1000


def _time(first: datetime, last: datetime) -> tuple[str, str]:
    """Returns the title of the axis, which has the days, and the format of its labels."""
    if first.date() == last.date():
        return f"planned at, on {first.date()}", "%H:%M:%S"
    short = (last.replace(tzinfo=None) - first.replace(tzinfo=None)).days < _SHORT_DAYS
    return f"planned at, from {first.date()} to {last.date()}", "%m-%d %H:%M" if short else "%Y-%m-%d"


def _stock(scans: int) -> Sequence[str]:
    if scans == 0:
        return ()
    return (f"{scans:,} {_scans(scans)} that Iceberg planned {'has' if scans == 1 else 'have'} no counts.",)


def _scans(count: int) -> str:
    return "scan" if count == 1 else "scans"
