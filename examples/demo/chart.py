# SPDX-License-Identifier: Apache-2.0
"""The first picture of the demo's page: the seconds of each query with the index off and on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from demo.compare import Comparison, gain, query_ms
from zonemap.plots.plot import Plot, altair, data
from zonemap.show.palette import Palette

_OFF, _ON = "Iceberg alone", "with zonemap"


def seconds(found: Sequence[Comparison]) -> Plot:
    """Returns two bars for each query, in the order of ``found``."""
    rows = [
        {
            "query": entry.query.title,
            "of": of,
            "seconds": query_ms(runs) / 1000,
            "text": f"{query_ms(runs) / 1000:,.2f} s" + (f" ({gain(entry):,.1f}x)" if of == _ON else ""),
        }
        for entry in found
        for of, runs in ((_OFF, entry.off), (_ON, entry.on))
    ]
    off, on = (sum(query_ms(runs) for runs in side) / 1000 for side in _sides(found))
    longest = max((query_ms(runs) / 1000 for side in _sides(found) for runs in side), default=1.0)

    def draw(palette: Palette) -> Any:
        alt = altair()
        colours = alt.Scale(domain=[_OFF, _ON], range=[palette.plain, palette.good])
        base = alt.Chart(data(rows), width=620, height=alt.Step(15)).encode(
            y=alt.Y("query:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.35)),
            yOffset=alt.YOffset("of:N", sort=[_OFF, _ON]),
            x=alt.X(
                "seconds:Q", title="seconds", axis=alt.Axis(tickCount=6), scale=alt.Scale(domain=[0, longest * 1.18])
            ),
        )
        bars = base.mark_bar(cornerRadiusEnd=2).encode(color=alt.Color("of:N", scale=colours))
        return bars + base.mark_text(align="left", dx=5, color=palette.ink).encode(text="text:N")

    note = "The same SQL. In parentheses: the factor by which the index makes the query faster."
    return Plot(f"{len(found)} queries: {off:,.1f} s with Iceberg alone, {on:,.1f} s with zonemap", note, draw)


def _sides(found: Sequence[Comparison]) -> tuple[list[Any], list[Any]]:
    return [entry.off for entry in found], [entry.on for entry in found]
