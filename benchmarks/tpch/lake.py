"""The eight tables three times: ordered by time as streams leave them, by key as a bulk load does, and shuffled."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

COMMITS = 8


@dataclass(frozen=True)
class _Table:
    """A table: its files in all, its key, and the date it is ordered by when it came as a stream."""

    files: int
    key: str = ""
    time: str | None = None

    def order(self, layout: str) -> str | None:
        """The column that a layout orders it by; None: by a hash of all values."""
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
    """Parquet files of all tables, by tpchgen-cli."""
    folder.mkdir(parents=True, exist_ok=True)
    command = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([command, "-s", str(scale), "--format", "parquet", "--output-dir", folder], check=True)


def write(spark: SparkSession, folder: Path, layout: str) -> list[str]:
    """Writes the tables of a layout in several commits each; answers their names."""
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
    """Files in the order they were written."""
    if table.files == 1:
        return rows
    order = table.order(layout)
    key = F.hash(*rows.columns) if order is None else F.col(order)
    return rows.repartitionByRange(table.files, key).sortWithinPartitions(key)


def _commit_in_parts(ordered: DataFrame, table: _Table, target: str) -> None:
    """As many files a commit as it takes for ``COMMITS`` of them, in order; each partition is one file."""
    each = table.files // COMMITS
    numbered = ordered.withColumn("_file", F.spark_partition_id()).persist()
    try:
        for commit in range(COMMITS):
            part = numbered.where(F.col("_file").between(commit * each, (commit + 1) * each - 1)).drop("_file")
            part.writeTo(target).append()
    finally:
        numbered.unpersist()
