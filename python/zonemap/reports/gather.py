# SPDX-License-Identifier: Apache-2.0
"""Gathers the numbers of a report with the procedures, so a report works through Spark Connect too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.reports.numbers import Explained, Layout, Numbers
from zonemap.reports.render import html_page
from zonemap.results import ClusteringResult, PlannedScans, StatusResult, WhyNotResult
from zonemap.session import calls, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The most columns whose clustering a report shows if its call names none.
_COLUMNS = 3
_SCANS = 1_000
#: Types of columns that can have bounds in an order that people expect.
_ORDERED = re.compile(r"tinyint|smallint|int|bigint|float|double|date|string|timestamp|decimal")

#: The sentence of zonemap's catalog for a procedure that it does not have.
_UNKNOWN = re.compile(r"Cannot find procedure '[^']*': there is none")


class Report(Numbers):
    """The numbers of a page about a table (the attributes of ``Numbers``), and the page."""

    def html(self) -> str:
        """Returns the report as one page, which loads nothing; it needs ``zonemap[plots]``."""
        return html_page(self)

    def save(self, path: str | Path) -> Path:
        """Writes the page and returns its path.

        Raises:
            InvalidArgumentError: The name does not end with .html, or its folder does not exist.
        """
        file = checked_path(path)
        file.write_text(self.html(), encoding="utf-8")
        return file


class _Index(Protocol):
    """What a report asks an index, see ``zonemap.Index``."""

    @property
    def spark(self) -> SparkSession: ...

    @property
    def table(self) -> str: ...

    def status(self) -> StatusResult: ...

    def why_not(self, query: str) -> WhyNotResult: ...

    def planned_scans(self, *, max_scans: int) -> PlannedScans: ...

    def clustering(self, columns: Sequence[str] | None) -> ClusteringResult: ...


def report(index: _Index, *, columns: Sequence[str] | None, queries: Sequence[str]) -> Report:
    """Gathers a report, see ``Index.report``."""
    wanted = None if columns is None else checked.texts("columns", columns, "column names")
    if wanted is not None and not wanted:
        raise InvalidArgumentError(
            f"Cannot use columns={checked.shown(columns)}: it is empty. Name at least one column."
        )
    texts = checked.texts("queries", queries, "queries")
    status = index.status()
    explained = tuple(Explained(text, index.why_not(text)) for text in texts)
    history = index.planned_scans(max_scans=_SCANS).ran
    notes: list[str] = []
    found = _Gathering(index, notes)
    return Report(
        table=index.table,
        made_at=datetime.now().astimezone(),
        spark_version=str(index.spark.version),
        status=status,
        layout=found.layout(status.snapshot_id),
        clustering=found.clustering(wanted, history, explained),
        history=history,
        explained=explained,
        advice=found.advice(),
        notes=tuple(notes),
    )


def checked_path(path: str | Path) -> Path:
    """Returns the path of a page after checking it, so that a mistake costs no session.

    Raises:
        InvalidArgumentError: The name does not end with .html, or its folder does not exist.
    """
    file = Path(path)
    if file.suffix.lower() != ".html":
        raise InvalidArgumentError(
            f"Cannot write a report to {checked.shown(str(path))}: the name does not end with .html. "
            "Name a file such as report.html."
        )
    if not file.absolute().parent.is_dir():
        raise InvalidArgumentError(
            f"Cannot write a report to {checked.shown(str(path))}: its folder does not exist. Create the folder first."
        )
    return file


@dataclass(frozen=True)
class _Gathering:
    """Parts of a report that may be missing; ``notes`` takes the reasons."""

    index: _Index
    notes: list[str]

    def layout(self, snapshot_id: int) -> Layout | None:
        """Returns the size of a snapshot from its summary."""
        if snapshot_id < 0:
            return None
        name = identifiers.join((*identifiers.split(self.index.table), "snapshots"))
        try:
            rows = self.index.spark.sql(f"SELECT summary FROM {name} WHERE snapshot_id = {snapshot_id}").collect()
        except Exception as error:
            if not spark_errors.is_of_spark(error):
                raise
            self.notes.append(f"The size of the table is missing: {spark_errors.sentence(error)}")
            return None
        summary: Mapping[str, str] = rows[0][0] if rows else {}
        keys = ("total-data-files", "total-files-size", "total-records", "total-delete-files")
        return Layout(*(self._count(summary, key) for key in keys))

    def _count(self, summary: Mapping[str, str], key: str) -> int | None:
        """Returns a count of a summary, which any writer may have written."""
        try:
            return int(summary[key]) if key in summary else None
        except ValueError:
            self.notes.append(f"The size of the table is incomplete: the summary has {key} = {summary[key]!r}.")
            return None

    def clustering(
        self, wanted: Sequence[str] | None, history: PlannedScans, explained: Sequence[Explained]
    ) -> tuple[ClusteringResult, ...]:
        """Returns the clustering of each column; the reason of a failure is a note."""
        found: list[ClusteringResult] = []
        if wanted is None:
            found += self._clustering_of(None)
            wanted = self._filtered(history, explained)
        keys = {result.cluster_by_keys for result in found}
        for column in wanted:
            found += [result for result in self._clustering_of(column) if result.cluster_by_keys not in keys]
        return tuple(found)

    def advice(self) -> tuple[Mapping[str, Any], ...] | None:
        """Returns the rows of the procedure ``advise``, or None if the session's zonemap has none."""
        try:
            return tuple(calls.call(self.index.spark, "advise", self.index.table))
        except ProcedureError as error:
            # The status of the table is there, so zonemap is active and only this procedure is unknown.
            if (error.condition or "").startswith(calls.ABSENT) or _UNKNOWN.match(str(error)):
                return None
            self.notes.append(f"The advice is missing: {error}")
            return ()

    def _clustering_of(self, column: str | None) -> list[ClusteringResult]:
        """Returns the clustering of a column, or of the sort order; a table without a sort order is no failure."""
        columns = None if column is None else [column]
        try:
            return [self.index.clustering(columns)]
        except ZonemapError as error:
            if column is not None:
                self.notes.append(f"The clustering of {column} is missing: {error}")
            return []

    def _filtered(self, history: PlannedScans, explained: Sequence[Explained]) -> list[str]:
        """Returns the columns that conditions name, the most frequent first; without any, the first columns."""
        conditions = [scan.predicate for scan in history.scans]
        conditions += [row.text for one in explained for row in one.result.rows if row.part == "condition"]
        fields = self.index.spark.table(identifiers.join(identifiers.split(self.index.table))).dtypes
        known = [name for name, kind in fields if _ORDERED.match(kind)]
        counts = {name: sum(bool(re.search(rf"\b{re.escape(name)}\b", text)) for text in conditions) for name in known}
        named = sorted((name for name in known if counts[name]), key=lambda name: -counts[name])
        return (named or known)[:_COLUMNS]
