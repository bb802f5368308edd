# SPDX-License-Identifier: Apache-2.0
"""The report section about the TPC-H queries, with the index off and on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages


def plot(document: dict[str, Any], path: Path) -> None:
    layouts = pages.by_layout(document["queries"])
    figure, all_axes = plt.subplots(len(layouts), 1, figsize=(8, 2.2 * len(layouts)), sharex=True)
    for axes, (layout, rows) in zip(all_axes, layouts.items(), strict=True):
        places = range(len(rows))
        for offset, side, color, label in ((-0.2, "off", pages.STOCK, "Iceberg"), (0.2, "on", pages.OURS, "index")):
            axes.bar(
                [p + offset for p in places], [row[side]["queryMillis"] for row in rows], 0.38, color=color, label=label
            )
        axes.set_xticks(list(places), [row["query"] for row in rows], fontsize=7)
        axes.set_ylabel("query, ms")
        axes.set_title(layout, fontsize=9)
    all_axes[0].legend(frameon=False, ncol=2)
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    parts = [
        "## TPC-H\n",
        f"![tpch]({image})\n",
        f"Scale {document['scale']:g}; lineitem in 128 files, orders in 64. Clustered: ordered by ship and order date, "
        "as a stream leaves them. Loaded: ordered by key, as a bulk load leaves them. Shuffled: all files span the "
        "same values, and none can be left out. Rows were equal in every run.\n",
    ]
    for layout, rows in pages.by_layout(document["queries"]).items():
        lines = [
            (
                row["query"],
                *(
                    f"{form(row['off'][key])} -> {form(row['on'][key])}"
                    for key, form in (
                        ("files", str),
                        ("lineitem", str),
                        ("bytes", lambda size: f"{size / 1e6:,.0f}"),
                        ("planningMillis", pages.millis),
                        ("queryMillis", pages.millis),
                    )
                ),
            )
            for row in rows
        ]
        total = {side: sum(row[side]["queryMillis"] for row in rows) for side in ("off", "on")}
        parts.append(
            pages.table(
                (layout, "files planned", "lineitem files read", "MB planned", "planning ms", "query ms"), lines
            )
            + f"\nAll 22 together: {total['off'] / 1000:,.1f} s -> {total['on'] / 1000:,.1f} s.\n"
        )
    return "\n".join(parts)
