# SPDX-License-Identifier: Apache-2.0
"""How far the data files of a table overlap in the values of some columns, by their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zonemap.index.procedures import columns_argument
from zonemap.session.calls import call
from zonemap.session.rows import OneRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def clustering_information(spark: SparkSession, table: str, columns: Sequence[str] | None = None) -> ClusteringResult:
    """Returns how far the data files of ``table`` overlap in the values of some columns. It reads no data file.

    Args:
        spark: The session.
        table: The table's name.
        columns: The columns, in the order in which a sort compares them; None: those of the table's sort order.

    Raises:
        InvalidArgumentError: ``columns`` is not a list of texts or is empty.
        ProcedureError: A column is unknown or has no bounds, or the index does not cover the table.
    """
    named = "" if columns is None else columns_argument(columns)
    return ClusteringResult.from_rows(table, call(spark, "clustering_information", table, named))
