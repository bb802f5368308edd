# SPDX-License-Identifier: Apache-2.0
"""The eight tables in three layouts: ordered by time as streams write, by key as a bulk load writes, and shuffled."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

COMMITS = 8


@dataclass(frozen=True)
class _Table:
    """A table: its number of files, its key column, and the date column that orders it in the clustered layout."""

    files: int
    key: str = ""
    time: str | None = None

    def order(self, layout: str) -> str | None:
        """Returns the column that orders the table in a layout; None: the order is a hash of all values."""
        return {"clustered": self.time, "loaded": self.key, "shuffled": None}[layout]


_TABLES = {
    "lineitem": _Table(128, "l_orderkey", "l_shipdate"),
    "orders": _Table(64, "o_orderkey", "o_orderdate"),
    "partsupp": _Table(16, "ps_partkey"),
    "customer": _Table(16, "c_custkey"),
    "part": _Table(16, "p_partkey"),
    "supplier": _Table(1),
    "nation": _Table(1),
    "region": _Table(1),
}
LAYOUTS = ("clustered", "loaded", "shuffled")


def generate(folder: Path, scale: float) -> None:
    """Generates Parquet files of all tables with tpchgen-cli."""
    folder.mkdir(parents=True, exist_ok=True)
    command = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([command, "-s", str(scale), "--format", "parquet", "--output-dir", folder], check=True)


def write(spark: SparkSession, folder: Path, layout: str) -> list[str]:
    """Writes the tables of a layout, the large ones in several commits each, and returns their names."""
    names = []
    for name, table in _TABLES.items():
        rows = spark.read.parquet(str(folder / f"{name}.parquet"))
        target = f"lake.{layout}.{name}"
        ordered = _ordered(rows, table, layout)
        rows.limit(0).writeTo(target).using("iceberg").tableProperty("write.distribution-mode", "none").create()
        if table.files == 1:
            ordered.coalesce(1).writeTo(target).append()
        else:
            _commit_in_parts(ordered, table, target)
        names.append(target)
    return names


def _ordered(rows: DataFrame, table: _Table, layout: str) -> DataFrame:
    """Returns the rows partitioned by the layout's order; each partition becomes one file."""
    if table.files == 1:
        return rows
    order = table.order(layout)
    key = F.hash(*rows.columns) if order is None else F.col(order)
    return rows.repartitionByRange(table.files, key).sortWithinPartitions(key)


def _commit_in_parts(ordered: DataFrame, table: _Table, target: str) -> None:
    """Appends the partitions in order in ``COMMITS`` commits of equally many files; each partition is one file."""
    each = table.files // COMMITS
    numbered = ordered.withColumn("_file", F.spark_partition_id()).persist()
    try:
        for commit in range(COMMITS):
            part = numbered.where(F.col("_file").between(commit * each, (commit + 1) * each - 1)).drop("_file")
            part.writeTo(target).append()
    finally:
        numbered.unpersist()
