# SPDX-License-Identifier: Apache-2.0
"""The report section about the Atlas table of the talk that introduced Iceberg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

#: Figures of Netflix, "Introducing Iceberg", 2018: splits, planning time, and the query's wall time and task time.
PUBLISHED = (
    ("published 2018: Hive", "400,000", "9.6 min (EXPLAIN)", ""),
    ("published 2018: Iceberg, partition filter", "15,218", "10 s", "13 min, 61.5 h of tasks"),
    ("published 2018: Iceberg, minima and maxima", "412", "25 s", "42 s, 22 min of tasks"),
)
SIDES = {"stock": "Iceberg", "index": "index", "cold": "index, nothing held"}


def plot(document: dict[str, Any], path: Path) -> None:
    figure, axes = plt.subplots(figsize=(8, 2.2))
    bars = [
        (f"{SIDES[side]}, {row['query']}", row[side]["wallMillis"], pages.STOCK if side == "stock" else pages.OURS)
        for row in document["planning"]
        for side in SIDES
    ][::-1]
    axes.barh([name for name, _, _ in bars], [millis for _, millis, _ in bars], color=[color for _, _, color in bars])
    axes.set_xscale("log")
    axes.set_xlabel(f"planning of {document['files']:,} files through SQL, ms (log scale)")
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    planned = [
        (
            f"{SIDES[side]}, {row['query']}",
            f"{row[side]['splits']:,}",
            f"{row[side]['wallMillis'] / 1000:,.2f} s, {row[side]['cpuMillis'] / 1000:,.2f} s of CPU",
            "",
        )
        for row in document["planning"]
        for side in SIDES
    ]
    run = document["query"]
    small = [
        (
            "Iceberg, partition filter",
            run["partitionFilterFiles"],
            "",
            f"{run['partitionFilterQueryMillis'] / 1000:,.2f} s",
        ),
        *(
            (
                f"{SIDES[side]}, with the name",
                run[side]["files"],
                f"{run[side]['planningMillis'] / 1000:,.2f} s",
                f"{run[side]['queryMillis'] / 1000:,.2f} s",
            )
            for side in ("stock", "index")
        ),
    ]
    return "\n".join(
        [
            "## The Atlas query\n",
            f"![atlas]({image})\n",
            "`SELECT DISTINCT tags['type'] AS type FROM t WHERE name = '..' AND ts > .. AND ts <= .. ORDER BY type`, "
            "six of 28 days, from SQL text to splits, beside the figures that the talk that introduced Iceberg gave "
            "for its query over 2.7 million files and 2,688 partitions, on another machine. Metadata of "
            f"{document['files']:,} files in as many partitions, 30 columns; "
            f"the index has {document['indexBytes'] / 1e6:,.0f} MB and was built by a Spark job in "
            f"{document['buildSeconds']:,.0f} s.\n",
            pages.table(("", "splits", "planning", "query"), [*PUBLISHED, *planned]),
            f"The same query run, over {run['tableFiles']:,} files with rows:\n",
            pages.table(("", "files read", "planning", "query"), small),
        ]
    )
