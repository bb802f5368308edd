# SPDX-License-Identifier: Apache-2.0
"""Renders a report as one page: tiles, plots and tables, in five sections."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from zonemap import plots
from zonemap.common import safe_text
from zonemap.plots import Plot
from zonemap.reports.numbers import Explained, Numbers
from zonemap.results import AdviceRow, ClusteringResult, PlannedScan
from zonemap.show.page import escaped, page, table, tiles
from zonemap.show.sizes import sized
from zonemap.show.tables import text

#: The most conditions of the history in the table of queries.
_CONDITIONS = 20
_LONGEST = 240
_LATER = (
    '<p class="soft">Files that join keys leave out at run time, and files whose aggregates the index answers, count '
    "as kept.</p>"
)
#: The remedies of conditions for which there is nothing to do.
_NO_REMEDY = ("", "Nothing.")


def html_page(report: Numbers) -> str:
    """Returns the page; a part that is missing is named on it, with the reason."""
    notes = "".join(f"<p>{escaped(note)}</p>" for note in report.notes)
    sections = (
        ("layout", "Layout", _layout(report)),
        ("coverage", "Coverage and lag", _coverage(report)),
        ("queries", "What queries pruned", _queries(report)),
        ("advice", "Advice", _advice(report)),
        ("cost", "Cost of the index", _cost(report)),
        *([("missing", "Missing on this page", notes)] if notes else []),
    )
    body = "".join(f'<section id="{name}"><h2>{heading}</h2>{part}</section>' for name, heading, part in sections)
    made = f"{report.made_at:%Y-%m-%d %H:%M %Z}, Spark {report.spark_version}, snapshot {report.status.snapshot_id}"
    head = f'<h1>{escaped(report.table)}</h1><p class="soft">zonemap report, {escaped(made)}</p>'
    return page(f"zonemap report: {report.table}", head + _verdict(report) + _summary(report) + body)


def _verdict(report: Numbers) -> str:
    verdict, problem = report.status.verdict, report.status.problem
    kind = "good" if verdict == "fresh" else "bad" if verdict not in ("catching up", "no snapshot") else "soft"
    more = f' <span class="soft">{escaped(problem)}</span>' if problem else ""
    return f'<p>The index is <span class="{kind}">{escaped(verdict)}</span>.{more}</p>'


def _summary(report: Numbers) -> str:
    status, scans = report.status, _counted(report)
    considered, kept = sum(scan.files_considered for scan in scans), sum(scan.files_kept for scan in scans)
    skipped = f"{100 * (considered - kept) / considered:.1f} %" if considered else "-"
    depth = max((result.average_depth for result in report.clustering if result.average_depth >= 0), default=None)
    stored = -1 if status.bytes < 0 else status.bytes + max(0, status.fact_bytes)
    share = _share(stored, report.layout.bytes if report.layout else None)
    return tiles(
        [
            (_count(status.files_total), "data files"),
            (f"{_count(status.files_covered)} covered", "by the index"),
            (skipped, f"of the files skipped, by {len(scans):,} scans of this driver"),
            ("-" if depth is None else safe_text.decimal(depth), "largest average depth of the columns below"),
            (_bytes(stored), f"index and facts in the store{share}"),
        ]
    )


def _layout(report: Numbers) -> str:
    layout = report.layout
    if layout is None:
        return '<p class="soft">There is no size to show: the table has no snapshot, or no summary of it.</p>'
    size = layout.bytes / layout.data_files if layout.bytes is not None and layout.data_files else None
    parts = tiles(
        [
            (_count(layout.rows), "rows, deleted ones included"),
            (_bytes(layout.bytes), "of data files"),
            (_bytes(size), "average size of a data file"),
            (_count(layout.delete_files), "delete files"),
        ]
    )
    if not report.clustering:
        return parts + '<p class="soft">No column has a clustering to show. Name some with --columns.</p>'
    parts += table(
        ("columns", "average depth", "average overlaps", "files", "constant", "without bounds"),
        [_clustering(result) for result in report.clustering],
        numbers=("average depth", "average overlaps", "files", "constant", "without bounds"),
    )
    parts += (
        '<p class="soft">The depth of a file is the number of files that may hold one of its values: 1 is best.</p>'
    )
    drawn = [
        plots.clustering_depth(result) for result in report.clustering if any(result.partition_depth_histogram.values())
    ]
    return parts + _figures(drawn)


def _clustering(result: ClusteringResult) -> tuple[str, ...]:
    return (
        result.cluster_by_keys.removeprefix("LINEAR(").removesuffix(")"),
        safe_text.decimal(result.average_depth),
        safe_text.decimal(result.average_overlaps),
        f"{result.total_partition_count:,}",
        f"{result.total_constant_partition_count:,}",
        f"{result.partitions_without_bounds:,}",
    )


def _coverage(report: Numbers) -> str:
    status = report.status
    rows = (
        ("files of the current snapshot", f"{_count(status.files_covered)} of {_count(status.files_total)} covered"),
        ("snapshots", f"{status.snapshots_covered:,} of {status.snapshots_total:,} retained ones covered"),
        ("lag", _lag(status.lag_snapshots, status.lag_seconds)),
        ("columns", status.columns),
        ("facts", status.facts or "none"),
        ("permitted use of bounds (files)", status.bounds or "-"),
        *([("what would prove more bounds", status.evidence)] if status.evidence else []),
        ("store", status.store),
    )
    return table(("", "state"), rows)


def _queries(report: Numbers) -> str:
    scans = _counted(report)
    stock = [scan for scan in report.history.scans if scan.files_considered < 0]
    parts = "".join(_explained(one) for one in report.explained)
    if not report.history.scans:
        return parts + (
            '<p class="soft">This driver has executed no query of the table. Make the report in the session that runs '
            "the queries, give the Spark Connect server with --remote, or give queries with --query.</p>"
        )
    drawn = _figures([plots.files_kept(report.history)]) if scans else ""
    head = ("condition", "scans", "files in the table", "files kept", "skipped", "median planning ms")
    rows = sorted(_by_condition(scans), key=lambda row: -int(row[1].replace(",", "")))[:_CONDITIONS]
    kept = table(head, rows, numbers=head[1:]) if rows else ""
    others = len({scan.predicate for scan in scans}) - len(rows)
    kept += f'<p class="soft">{others:,} rarer conditions are left out.</p>' if others else ""
    reasons = _counts([scan.reason for scan in stock])
    missed = (
        f"<h3>Scans that Iceberg planned</h3>{table(('reason', 'scans'), reasons, numbers=('scans',))}" if stock else ""
    )
    return drawn + (_LATER if scans else "") + kept + missed + parts


def _by_condition(scans: Sequence[PlannedScan]) -> list[tuple[str, ...]]:
    found: dict[str, list[PlannedScan]] = {}
    for scan in scans:
        found.setdefault(scan.predicate, []).append(scan)
    rows: list[tuple[str, ...]] = []
    for predicate, group in found.items():
        considered, kept = sum(scan.files_considered for scan in group), sum(scan.files_kept for scan in group)
        skipped = f"{100 * (considered - kept) / considered:.1f} %" if considered else "-"
        ms = statistics.median(scan.milliseconds for scan in group)
        rows.append((_short(predicate), f"{len(group):,}", f"{considered:,}", f"{kept:,}", skipped, f"{ms:,.1f}"))
    return rows


def _explained(one: Explained) -> str:
    head = ("part", "text", "files", "message", "remedy")
    rows = [tuple(str(row.summary()[name]) for name in head) for row in one.result.rows]
    query = f"<p><code>{escaped(one.query)}</code></p>"
    return f"<h3>Why this query reads its files</h3>{query}{table(head, rows, numbers=('files',))}"


def _advice(report: Numbers) -> str:
    if report.advice:
        return _advised(report.advice)
    rows = [row for one in report.explained for row in one.result.rows if row.part != "scan"]
    remedies = {row.remedy: row.text for row in rows if row.remedy not in _NO_REMEDY}
    parts = ""
    if report.advice is None:
        parts += '<p class="soft">The zonemap of this session has no procedure advise.</p>'
    if remedies:
        parts += '<p class="soft">The remedies that why_not gives for the queries of this page:</p>'
        return parts + table(("for", "remedy"), [(_short(where), remedy) for remedy, where in remedies.items()])
    return parts + '<p class="soft">There is no advice. With --query, the page has the remedies of a query.</p>'


def _cost(report: Numbers) -> str:
    status = report.status
    data = report.layout.bytes if report.layout else None
    rows = (
        ("index in the store", _bytes(status.bytes), _share(status.bytes, data).removeprefix(", ")),
        ("facts in the store", _bytes(status.fact_bytes), _share(status.fact_bytes, data).removeprefix(", ")),
        ("driver memory (hot tier)", _bytes(status.memory_bytes), ""),
        ("local files of evicted segments", _bytes(status.spilled_bytes), ""),
        ("cold cache in memory", _bytes(status.cold_memory_bytes), ""),
        ("cold cache on disk", _bytes(status.cold_disk_bytes), ""),
        ("segments", f"{_count(status.segments)} {f'({status.levels})' if status.levels else ''}".strip(), ""),
    )
    drawn = [plots.tiers(status), *([plots.levels(status)] if status.levels else [])]
    return table(("", "size", "share"), rows, numbers=("size",)) + _figures(drawn)


def _advised(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns each piece of advice with its statement; rows with other columns than ``AdviceRow`` as they are."""
    names = [known.name for known in fields(AdviceRow)]
    if not all(name in row for row in rows for name in names):
        return _rows(rows)
    found = [AdviceRow(**{name: row[name] for name in names}).summary() for row in rows]
    return f"<dl>{''.join(map(_piece, found))}</dl>"


def _piece(row: Mapping[str, Any]) -> str:
    statement = f"<code>{escaped(row['statement'])}</code>" if row["statement"] else ""
    files = f"files kept by {row['scans']:,} {'scan' if row['scans'] == 1 else 'scans'}: {row['files']}"
    head = f'<dt>{escaped(row["advice"])}: {escaped(row["subject"])} <span class="soft">{escaped(files)}</span></dt>'
    return f"{head}<dd>{escaped(row['message'])}{statement}</dd>"


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the rows of a procedure with all of its columns."""
    head = list(rows[0])
    return table(head, [[text(row.get(name), name) for name in head] for row in rows])


def _counts(values: Sequence[str]) -> list[tuple[str, str]]:
    found = {value: values.count(value) for value in values}
    return [(value, f"{count:,}") for value, count in sorted(found.items(), key=lambda pair: -pair[1])]


def _counted(report: Numbers) -> list[PlannedScan]:
    return [scan for scan in report.history.scans if scan.files_considered >= 0]


def _figures(drawn: Sequence[Plot]) -> str:
    return f'<div class="figures">{"".join(plot.figure() for plot in drawn)}</div>'


def _short(condition: str) -> str:
    return condition if len(condition) <= _LONGEST else condition[:_LONGEST] + " ..."


def _count(number: int | None) -> str:
    return "unknown" if number is None or number < 0 else f"{number:,}"


def _bytes(number: float | None) -> str:
    return "unknown" if number is None else sized(number)


def _share(part: int, whole: int | None) -> str:
    return f", {100 * part / whole:.2f} % of the data" if whole and part >= 0 else ""


def _lag(snapshots: int, seconds: float) -> str:
    return "unknown" if snapshots < 0 else f"{snapshots:,} snapshots, {max(0.0, seconds):,.0f} s"
