# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zonemap.results import ClusteringResult, PlannedScans, StatusResult, WhyNotResult
from zonemap.show.tables import Shown


@dataclass(frozen=True)
class Layout:
    """The size of the current snapshot, from its summary; None where a writer has left the number out."""

    data_files: int | None
    bytes: int | None
    rows: int | None
    delete_files: int | None


@dataclass(frozen=True)
class Explained:
    """A query that a report was given, and why it reads the files that it reads."""

    query: str
    result: WhyNotResult


@dataclass(frozen=True)
class Numbers(Shown):
    """The numbers of a page about a table.

    Attributes:
        table: The table as named in the call.
        made_at: When the report was made.
        spark_version: The version of Spark of the driver.
        status: Coverage and size of the index.
        layout: Size of the current snapshot; None if the table has no snapshot.
        clustering: How far files overlap, for each column of the report.
        history: The newest scans of the table by queries that were executed.
        explained: The queries of the call.
        advice: The rows of the procedure ``advise``; None if the session's zonemap has no such procedure.
        notes: Parts that are missing, with the reason.
    """

    table: str
    made_at: datetime
    spark_version: str
    status: StatusResult
    layout: Layout | None
    clustering: tuple[ClusteringResult, ...]
    history: PlannedScans
    explained: tuple[Explained, ...]
    advice: tuple[Mapping[str, Any], ...] | None
    notes: tuple[str, ...]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        scans = [scan for scan in self.history.scans if scan.files_considered >= 0]
        row = {
            "verdict": self.status.verdict,
            "files": self.status.files_total,
            "files_covered": self.status.files_covered,
            "scans": len(scans),
            "files_considered": sum(scan.files_considered for scan in scans),
            "files_kept": sum(scan.files_kept for scan in scans),
            "index_bytes": self.status.bytes,
        }
        return f"Report of {self.table}; write the page with save('report.html')", [row]
