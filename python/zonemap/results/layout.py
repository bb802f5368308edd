# SPDX-License-Identifier: Apache-2.0
"""Results about the layout of a table: advice, and how far its data files overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from zonemap.session.rows import OneRow, Rows


@dataclass(frozen=True)
class AdviceRow:
    """One piece of advice, or the reason why something will not help. Numbers after a change are estimates.

    Attributes:
        advice: "sort", "fact", "columns", "metrics", or "no help".
        subject: The column, the fact or the condition.
        scans: Number of observed scans that the files and bytes are the sum of.
        files_before: Files that these scans keep now.
        files_after: Files that they would keep; -1 if not estimated.
        bytes_before: Bytes of the files that they keep now.
        bytes_after: Bytes that they would keep; -1 if not estimated.
        files_read: Data files that the statement reads.
        rows_read: Rows in these files.
        expected_bytes: Bytes that the statement writes.
        statement: The SQL that follows the advice; empty for "no help".
        message: One sentence with numbers.
    """

    advice: str
    subject: str
    scans: int
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    files_read: int
    rows_read: int
    expected_bytes: int
    statement: str
    message: str

    def summary(self) -> dict[str, Any]:
        """Returns the columns that people read first."""
        after = "" if self.files_after < 0 else f" -> about {self.files_after:,}"
        return {
            "advice": self.advice,
            "subject": self.subject,
            "scans": self.scans,
            "files": f"{self.files_before:,}{after}",
            "message": self.message,
            "statement": self.statement,
        }


@dataclass(frozen=True)
class AdviceResult(Rows):
    """Result of ``advise``: what helps comes first, what will not help comes last."""

    rows: tuple[AdviceRow, ...]

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements that follow the advice, in the order of the rows."""
        return tuple(row.statement for row in self.rows if row.statement)

    def as_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows with all columns, ready for JSON."""
        return [asdict(row) for row in self.rows]

    def summaries(self) -> list[dict[str, Any]]:
        """Returns the rows with the columns that people read first."""
        return [row.summary() for row in self.rows]

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        return "", self.summaries()


@dataclass(frozen=True)
class ClusteringResult(OneRow):
    """Result of ``clustering_information``, with Snowflake's names; its partitions are data files here.

    Attributes:
        table: The table as named in the call.
        cluster_by_keys: The columns, as "LINEAR(a, b)".
        total_partition_count: Number of data files.
        total_constant_partition_count: Number of files that hold a single value of each column.
        average_overlaps: Number of other files that share a value with a file, on average.
        average_depth: Largest number of files that may hold one value of a file, on average.
        partition_depth_histogram: Number of files by depth.
        partitions_without_bounds: Number of files without bounds of a column; they are in no average.
        partitions_of_nulls: Number of files that hold only nulls in a column; they are in no average.
        snapshot_id: The snapshot of the numbers.
        notes: What the averages leave out; empty if nothing.
    """

    cluster_by_keys: str
    total_partition_count: int
    total_constant_partition_count: int
    average_overlaps: float
    average_depth: float
    partition_depth_histogram: Mapping[str, int]
    partitions_without_bounds: int
    partitions_of_nulls: int
    snapshot_id: int
    notes: str

    def _shown(self) -> tuple[str, list[dict[str, Any]]]:
        bars = {str(int(depth)): files for depth, files in sorted(self.partition_depth_histogram.items()) if files}
        return "", [self.as_dict() | {"partition_depth_histogram": bars}]
