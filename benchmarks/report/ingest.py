# SPDX-License-Identifier: Apache-2.0
"""The report section about append ingestion: many writers, a soak, and a streaming query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from report import pages

WAYS = {"direct": "commits by each writer", "queue": "queue"}
GOAL_SPEEDUP, GOAL_ATTEMPTS = 20, 1.05


def plot(document: dict[str, Any], path: Path) -> None:
    catalogs = list(dict.fromkeys(load["catalog"] for load in document["loads"]))
    figure, axes = plt.subplots(1, len(catalogs), figsize=(8, 2.8), sharey=True, squeeze=False)
    for axis, catalog in zip(axes[0], catalogs, strict=True):
        for way, color in (("direct", pages.STOCK), ("queue", pages.OURS)):
            loads = [load for load in _full(document) if load["catalog"] == catalog and load["way"] == way]
            axis.plot(
                [load["writers"] for load in loads],
                [load["appendsPerSecond"] for load in loads],
                marker="o",
                color=color,
                label=WAYS[way],
            )
        axis.set_xscale("log", base=4)
        axis.set_yscale("log")
        axis.set_title(f"{catalog} catalog")
        axis.set_xlabel("writers")
    axes[0][0].set_ylabel("appends a second")
    axes[0][0].legend()
    pages.save(figure, path)


def section(document: dict[str, Any], image: str) -> str:
    return "\n".join(
        [
            "## Append ingestion\n",
            f"![append ingestion]({image})\n",
            f"Writers append copies of a small Parquet file of {document['rowsAnAppend']} rows to one table for "
            f"{document['secondsARun']} seconds, as threads with a client each, as fast as they can. They commit "
            "themselves, with Iceberg's retries, or append to the queue, which one committer commits every "
            f"{document['intervalMillis'] / 1000:g} s. Appends are counted from the table.\n",
            pages.table(
                (
                    "writers",
                    "appends/s",
                    "attempts a commit",
                    "accepted ms p50 / p99",
                    "visible ms p50 / p99",
                    "commit ms p50 / p99",
                    "CPU ms an append",
                    "snapshots",
                    "manifests",
                    "failures",
                    "lost / doubled",
                ),
                [_row(load) for load in document["loads"]],
            ),
            _goals(document),
            *_soak(document["soak"]),
            *_sink(document["sink"]),
        ]
    )


def _row(load: dict[str, Any]) -> tuple[object, ...]:
    name = f"{load['catalog']}, {load['writers']}, {WAYS[load['way']]}"
    if load["pauseMillis"]:
        name += f", one append every {load['pauseMillis'] / 1000:g} s"
    elif load["way"] == "queue" and load["intervalMillis"] > 1000:
        name += f", default interval of {load['intervalMillis'] / 1000:g} s"
    return (
        name,
        f"{load['appendsPerSecond']:,.1f}",
        f"{load['attemptsPerCommit']:.2f}",
        _pair(load, "accepted"),
        _pair(load, "visible"),
        _pair(load, "commit"),
        f"{load['cpuMillisAnAppend']:,.1f}",
        f"{load['snapshots']:,}",
        f"{load['manifests']:,}",
        f"{load['failures']:,}",
        f"{load['lost']:,} / {load['doubled']:,}",
    )


def _pair(load: dict[str, Any], what: str) -> str:
    return f"{pages.millis(load[f'{what}MillisP50'])} / {pages.millis(load[f'{what}MillisP99'])}"


def _goals(document: dict[str, Any]) -> str:
    """Compares the goals with the figures, met or not."""
    lines = []
    for catalog in dict.fromkeys(load["catalog"] for load in document["loads"]):
        runs = {(load["way"], load["writers"]): load for load in _full(document) if load["catalog"] == catalog}
        if ("queue", 16) in runs:
            speedup = runs["queue", 16]["appendsPerSecond"] / runs["direct", 16]["appendsPerSecond"]
            lines.append(f"{catalog}, 16 writers: {speedup:,.1f} times the appends of direct commits ({GOAL_SPEEDUP})")
        queued = [load for (way, _), load in runs.items() if way == "queue"]
        attempts = max(load["attemptsPerCommit"] for load in queued)
        lines.append(f"{catalog}: at most {attempts:.2f} attempts a commit of the queue ({GOAL_ATTEMPTS})")
        paced = [
            load
            for load in document["loads"]
            if load["pauseMillis"] and load["way"] == "queue" and load["catalog"] == catalog and load["writers"] > 1
        ]
        late = [
            f"{load['writers']} writers{' with pauses' if load['pauseMillis'] else ''} "
            f"{pages.millis(load['visibleMillisP99'])} ms "
            f"({pages.millis(load['intervalMillis'] + 2 * load['commitMillisP99'])})"
            for load in (*queued, *paced)
        ]
        lines.append(f"{catalog}: visible p99 {', '.join(late)}")
    head = "Goals in parentheses; that of the visible p99 is the interval and two commits at their p99:\n"
    return "\n".join([head, *(f"- {line}" for line in lines), ""])


def _full(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs of writers without pauses at the interval of the suite."""
    interval = document["intervalMillis"]
    return [
        load
        for load in document["loads"]
        if not load["pauseMillis"] and (load["way"] == "direct" or load["intervalMillis"] == interval)
    ]


def _soak(soak: dict[str, Any]) -> list[str]:
    samples = soak["samples"]
    shown = [samples[at] for at in sorted({0, len(samples) // 3, 2 * len(samples) // 3, len(samples) - 1})]
    keys = ("heapMb", "snapshots", "manifests", "dataFiles", "stateBytes", "stateFiles", "pending")
    head = ("heap MB", "snapshots", "manifests", "data files", "bytes of a state", "state files", "pending")
    rows = [
        (f"{at + 1} of {len(samples)}", *(f"{sample[key]:,.0f}" for key in keys))
        for at, sample in ((samples.index(sample), sample) for sample in shown)
    ]
    return [
        f"A soak of {soak['minutes']:g} minutes: {soak['writers']} writers with pauses, {soak['appends']:,} appends in "
        f"{soak['commits']:,} commits and {soak['attempts']:,} attempts, beside an expiry that retains 100 snapshots. "
        f"{soak['lostOrDoubled']} files are lost or doubled. State files stay until `ingest_collect_garbage` "
        "deletes those older than 72 hours.\n",
        pages.table(("sample", *head), rows),
    ]


def _sink(sink: dict[str, Any]) -> list[str]:
    return [
        f"A streaming query of six columns, {sink['rowsAnEpoch']:,} rows an epoch, {sink['turns']} turns of "
        f"{sink['epochsATurn']} epochs each, through Iceberg's sink and through the queue with the committer in the "
        "same driver, while the index follows the commits of both:\n",
        pages.table(
            ("", "rows/s", "CPU ms an epoch"),
            (
                ("Iceberg's sink", f"{sink['directRowsPerSecond']:,.0f}", f"{sink['directCpuMillisAnEpoch']:,.0f}"),
                ("queue", f"{sink['queueRowsPerSecond']:,.0f}", f"{sink['queueCpuMillisAnEpoch']:,.0f}"),
            ),
        ),
        f"The throughput of the queue is {pages.percent(-sink['loss'])} above that of Iceberg's sink (95 %: "
        f"{pages.percent(-sink['lossTo'])} to {pages.percent(-sink['lossFrom'])}); the goal is at most 1 % below. "
        f"From the time of a snapshot to its coverage by the index: "
        f"{pages.millis(sink['committedToIndexedMillisP50'])} ms p50, "
        f"{pages.millis(sink['committedToIndexedMillisP99'])} ms p99 of {sink['commits']} commits. "
        f"{sink['lostRows']} rows are lost and {sink['doubledRows']} doubled.\n",
    ]
