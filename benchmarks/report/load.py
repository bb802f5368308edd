# SPDX-License-Identifier: Apache-2.0
"""The report section about many query threads on one driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

KINDS = {
    "planning": "planning a query, from SQL text to splits",
    "queries": "running a query",
    "firstExecution": "first execution of a DataFrame",
    "nextExecution": "its next execution",
}


def plot(document: dict[str, Any], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(8, 2.6))
    bars = [
        (f"{text}, {at}", document[side][kind][f"millis{at.upper()}"], color)
        for kind, text in KINDS.items()
        for at in ("p50", "p99")
        for side, color in (("stock", pages.STOCK), ("index", pages.OURS))
    ][::-1]
    axes.barh(range(len(bars)), [millis for _, millis, _ in bars], color=[color for _, _, color in bars])
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars], fontsize=6)
    axes.set_xscale("log")
    axes.set_xlabel(f"ms with {document['threads']} threads (log scale): Iceberg in grey, the index in blue")
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    rows = [(text, *(_pair(document[side][kind]) for side in ("stock", "index"))) for kind, text in KINDS.items()]
    rows += [
        (f"{text} a second", *(_rate(document[side], kind) for side in ("stock", "index")))
        for kind, text in (("planning", "plans"), ("queries", "queries"))
    ]
    resident = document["resident"]
    before, after = document["before"], document["after"]
    wrong = document["stock"]["wrong"] + document["index"]["wrong"]
    return "\n".join(
        [
            "## Many query threads\n",
            f"![load]({image})\n",
            f"{document['threads']} threads, each with a session, plan and run queries of random tables of one driver: "
            f"{document['tables']} tables of {document['filesATable']} files. The two sides take turns of "
            f"{document['secondsATurn']} seconds. The cap `hot.maxBytes` is a tenth of the memory that all indexes "
            f"need. {document['dataFrames']:,} DataFrames are held and executed twice, half of them on each side; "
            f"{document['sessions']} sessions run a few queries and go. Milliseconds, p50 / p99:\n",
            pages.table(("", "Iceberg", "the index"), rows),
            pages.table(
                ("", "before", "after"),
                [
                    ("heap MB", pages.millis(before["heapMb"]), pages.millis(after["heapMb"])),
                    ("threads", before["threads"], after["threads"]),
                    ("open files", before["handles"], after["handles"]),
                ],
            ),
            f"The indexes need {_mb(document['neededBytes'])} MB, the cap is {_mb(document['capBytes'])} MB; the index "
            f"had {_mb(resident['p50'])} MB (p50), {_mb(resident['p99'])} MB (p99) and {_mb(resident['max'])} MB at "
            f"most, and {_mb(resident['atRest'])} MB at rest. {wrong} results were "
            "wrong.\n",
            "Iceberg is ahead here: one manifest lists all files of a table, and under such a cap most plans read "
            "parts of the index from its store again. Iceberg broadcasts the table for each scan, and Spark removes a "
            "broadcast some time after a garbage collection has found that its query is gone, so that the heap after "
            "the run depends on how many of them are left.\n",
        ]
    )


def _pair(samples: dict[str, float]) -> str:
    return f"{pages.millis(samples['millisP50'])} / {pages.millis(samples['millisP99'])}"


def _rate(side: dict[str, Any], kind: str) -> str:
    return f"{side[kind]['count'] / side['seconds']:,.1f}"


def _mb(value: float) -> str:
    return f"{value / 1e6:,.2f}"
