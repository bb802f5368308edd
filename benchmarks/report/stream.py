# SPDX-License-Identifier: Apache-2.0
"""The page of a stream with an index: the records of each second, its queries, and what each way to index it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from report import pages

SIDES = {"stock": ("Iceberg", pages.STOCK), "index": ("with the index", pages.OURS)}
WIDTHS = {"stock": 5, "index": 1.5}  # equal lines lie on each other
QUERIES = {
    "hotQueryMillis": "query of the last minute, ms",
    "hotPlanMillis": "its planning, ms",
    "coldPlanMillis": "planning a minute of the past, ms",
}
SECONDS_A_POINT = 5
HEAD = """<!-- Generated from benchmarks/strategies/results by `make bench-report`: do not edit. -->

# A stream, and its index

A table of a stream grows by thousands of files an hour, so its queries spend most of their time on planning. An index
must not slow the stream down: that is the promise of this project, and this page measures it.
"""


def plot(document: dict[str, Any], path: Path) -> None:
    """Draws the records a second for each size, and beneath them the queries, stock beside index."""
    sizes = document["sizes"]
    figure = plt.figure(figsize=(10, 5.2), layout="constrained")
    above, beneath = figure.subfigures(2, 1, height_ratios=(1, 1.15))
    rows = above.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for i, (axis, size) in enumerate(zip(rows, sizes, strict=True)):
        for side, (name, color) in SIDES.items():
            rates = _rates(size[side]["recordsOfSeconds"])
            seconds = [i * SECONDS_A_POINT for i in range(len(rates))]
            axis.plot(seconds, [rate / 1000 for rate in rates], color=color, label=name, linewidth=WIDTHS[side])
        axis.set_title(f"{size['files']:,} files before the stream", fontsize=9)
        axis.set_ylim(0, 2 * document["recordsASecond"] / 1000)
        axis.set_xlabel("second of the stream")
        if i == 0:
            axis.set_ylabel("thousand records a second")
            axis.legend(frameon=False, fontsize=8, loc="lower right")
    for axis, (key, label) in zip(beneath.subplots(1, len(QUERIES)), QUERIES.items(), strict=True):
        _bars(axis, sizes, key)
        axis.set_title(label, fontsize=9)
    pages.save(figure, path)


def _bars(axis: Axes, sizes: list[dict[str, Any]], key: str) -> None:
    """Draws a pair of bars for each size, with their milliseconds beside them."""
    rows = list(reversed(sizes))
    for i, size in enumerate(rows):
        for side, shift in (("stock", 0.2), ("index", -0.2)):
            millis = size[side][key]
            axis.barh(i + shift, millis, height=0.36, color=SIDES[side][1])
            at = {"xytext": (3, 0), "textcoords": "offset points"}
            axis.annotate(pages.millis(millis), (millis, i + shift), va="center", size=8, **at)
    axis.set_yticks(range(len(rows)), [f"{size['files']:,}" for size in rows])
    axis.set_xlim(0, 1.2 * max(size[side][key] for size in sizes for side in SIDES))
    axis.xaxis.set_major_locator(plt.MaxNLocator(4))


def page(document: dict[str, Any], strategies: dict[str, Any], image: str) -> str:
    """Returns the page: the stream of `document`, and the ways to index it of `strategies`."""
    parts = [_stream(document, image), pages.measured_on(document), _layouts(strategies), pages.measured_on(strategies)]
    return "\n".join([HEAD, *parts])


def _stream(document: dict[str, Any], image: str) -> str:
    rows = [
        (
            f"{size['files']:,}",
            *(f"{_rate(size[side]):,.0f}" for side in SIDES),
            *(
                f"{pages.millis(size['stock'][key])} -> {pages.millis(size['index'][key])}"
                for key in ("batchMillisP50", "batchMillisP99", *QUERIES)
            ),
        )
        for size in document["sizes"]
    ]
    return "\n".join(
        [
            f"![The records a second, and the milliseconds of queries, with and without the index]({image})\n",
            f"A structured streaming query appends {document['recordsASecond']:,} records a second in batches of one "
            "second, to a table whose past is metadata only; beside it, a reader asks for the last minute and plans a "
            "minute of the past. A table with the index and one without it take turns of "
            f"{document['secondsATurn']} seconds in one driver on two cores, which the stream and its reader share. "
            "The records of a second are those that the table's snapshots count. Medians, Iceberg -> index:\n",
            pages.table(
                (
                    "files before",
                    "records a second, Iceberg",
                    "with the index",
                    "batch ms p50",
                    "batch ms p99",
                    "last minute, ms",
                    "its planning, ms",
                    "planning the past, ms",
                ),
                rows,
            ),
        ]
    )


def _rates(records: list[int]) -> list[float]:
    """The records a second of each full span: a batch may be committed a little before or after a second begins."""
    whole = range(0, len(records) - SECONDS_A_POINT + 1, SECONDS_A_POINT)
    return [sum(records[i : i + SECONDS_A_POINT]) / SECONDS_A_POINT for i in whole]


def _rate(side: dict[str, Any]) -> float:
    return sum(side["recordsOfSeconds"]) / len(side["recordsOfSeconds"])


def _layouts(document: dict[str, Any]) -> str:
    parts = [
        "## Seven ways to index a stream\n",
        "A writer appends batches of 32 files as fast as it can; batches without an index alternate with batches "
        "of each layout. Write loss is a share of wall time, with its 95 % interval; index CPU is that of the writer's "
        "thread and of the background thread, beside the CPU of a whole batch; a stream runs for days, so each layout "
        "has indexed commits of metadata before it is measured. Reported from practice: figures that users of such "
        "indexes reported of each strategy, on tables and machines of their own.\n",
    ]
    for size in document["sizes"]:
        rows = [
            (
                layout["layout"],
                _loss(layout),
                pages.percent(layout["indexCpuShare"]),
                int(layout["commitPathRequests"]),
                f"{pages.millis(layout['commitPathMillisP50'])} / {pages.millis(layout['commitPathMillisP99'])}",
                f"{pages.millis(layout['hotQueryMillisWithoutIndex'])} -> {pages.millis(layout['hotQueryMillis'])}",
                f"{pages.millis(layout['hotPlanMillisWithoutIndex'])} -> {pages.millis(layout['hotPlanMillis'])}",
                f"{pages.millis(layout['coldPlanMillisWithoutIndex'])} -> {pages.millis(layout['coldPlanMillis'])}",
                f"{layout['indexBytes'] / 1e6:,.1f}",
                layout["reported"] or "",
            )
            for layout in size["layouts"]
        ]
        parts.append(
            f"{size['files']:,} files before the stream, "
            f"{size['pairs']} pairs of batches of {size['rowsABatch']:,} rows, "
            f"after {size['warmUpCommits']} commits:\n"
        )
        parts.append(
            pages.table(
                (
                    "layout",
                    "write loss",
                    "index CPU",
                    "requests after a commit",
                    "ms after a commit p50 / p99",
                    "hot query ms",
                    "hot plan ms",
                    "cold plan ms",
                    "index MB",
                    "reported from practice",
                ),
                rows,
            )
        )
    return "\n".join(parts)


def _loss(layout: dict[str, Any]) -> str:
    loss, low, high = (pages.percent(layout[key]) for key in ("writeLoss", "writeLossFrom", "writeLossTo"))
    return f"{loss} ({low} to {high})"
