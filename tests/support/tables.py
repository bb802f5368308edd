# SPDX-License-Identifier: Apache-2.0
"""Creates tables quickly: the caller gives one slice of rows for each data file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType, _parse_datatype_string

#: With these properties one task writes one file, with rows in the given order.
ONE_FILE_A_TASK = {
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.delete.distribution-mode": "none",
    "write.update.distribution-mode": "none",
    "write.merge.distribution-mode": "none",
}


def sliced(spark: SparkSession, slices: Sequence[Sequence[tuple]], schema: StructType | str) -> DataFrame:
    """Returns a DataFrame whose partition i holds exactly slices[i]. All slices must have the same number of rows.

    Values must have the types that Spark uses within rows. No Python worker is started.
    """
    size = {len(s) for s in slices}
    assert len(size) == 1, "slices must be of one size"
    struct = _parse_datatype_string(schema) if isinstance(schema, str) else schema
    context = spark.sparkContext
    rows = [row for part in slices for row in part]
    batches = BatchedSerializer(CPickleSerializer(), size.pop())
    pickled = context._serialize_to_jvm(
        rows,
        batches,
        lambda path: spark._jvm.PythonRDD.readRDDFromFile(context._jsc, path, len(slices)),
        lambda: spark._jvm.PythonParallelizeServer(context._jsc.sc(), len(slices)),
    )
    arrays = spark._jvm.SerDeUtil.toJavaArray(spark._jvm.SerDeUtil.pythonToJava(pickled, True))
    return DataFrame(spark._jsparkSession.applySchemaToPythonRDD(arrays.rdd(), struct.json()), spark)


def properties(extra: dict[str, str] | None = None, version: int = 2) -> str:
    merged = {"format-version": str(version), **ONE_FILE_A_TASK, **(extra or {})}
    return "TBLPROPERTIES (" + ", ".join(f"'{k}'='{v}'" for k, v in merged.items()) + ")"


def create(
    spark: SparkSession,
    table: str,
    columns: str,
    *,
    partitioned: str = "",
    version: int = 2,
    props: dict[str, str] | None = None,
) -> str:
    """Creates an empty table, replacing any table of this name; returns the name."""
    spark.sql(f"DROP TABLE IF EXISTS {table}")
    by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
    spark.sql(f"CREATE TABLE {table} ({columns}) USING iceberg {by} {properties(props, version)}")
    return table


def append(
    spark: SparkSession,
    table: str,
    slices: Sequence[Sequence[tuple]],
    schema: str,
    *,
    select: Sequence[str] = ("*",),
    file_format: str | None = None,
    branch: str | None = None,
) -> None:
    """Commits one file for each slice, or several files if the slice spans partitions."""
    if hasattr(spark, "noted"):  # a campaign's Notebook, which records the steps
        spark.noted("append", table, slices, schema, select, file_format, branch)
        return
    writer = sliced(spark, slices, schema).selectExpr(*select).writeTo(f"{table}.branch_{branch}" if branch else table)
    if file_format:
        writer = writer.option("write-format", file_format)
    writer.append()


def add_java_column(spark: SparkSession, table: str, name: str, java_type: str) -> None:
    """Adds a column of a type without a name in Spark SQL; `java_type` names its class within Iceberg's `Types`."""
    if hasattr(spark, "noted"):
        spark.noted("add_java_column", table, name, java_type)
        return
    types = spark._jvm.org.apache.iceberg.types.Types
    java_table(spark, table).updateSchema().addColumn(name, getattr(types, java_type).get()).commit()
    spark.sql(f"REFRESH TABLE {table}")


def ranges(files: int, rows: int, start: int = 0) -> list[list[tuple[Any, ...]]]:
    """Returns slices of rows (id, 'k<id>', id / 2, id % 10). Ids ascend, so bounds of different files are disjoint."""
    return [
        [(i, f"k{i:05d}", i / 2.0, i % 10) for i in range(start + f * rows, start + (f + 1) * rows)]
        for f in range(files)
    ]


RANGES_DDL = "id BIGINT, s STRING, d DOUBLE, m INT"


def range_table(spark: SparkSession, table: str, *, files: int = 8, rows: int = 10, **options: Any) -> str:
    """Creates a table of `ranges`, written in one commit."""
    create(spark, table, RANGES_DDL, **options)
    append(spark, table, ranges(files, rows), RANGES_DDL)
    return table


def java_table(spark: SparkSession, table: str):
    """Loads Iceberg's Java table with its current metadata."""
    loaded = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    loaded.refresh()
    return loaded


def location(spark: SparkSession, table: str) -> str:
    return java_table(spark, table).location()


def snapshot_id(spark: SparkSession, table: str) -> int:
    return java_table(spark, table).currentSnapshot().snapshotId()


def files(spark: SparkSession, table: str) -> list[str]:
    """Returns the paths of the live data files, sorted."""
    return sorted(r[0] for r in spark.sql(f"SELECT file_path FROM {table}.data_files").collect())


def metadata_files(location_text: str) -> set[str]:
    return {p.name for p in (Path(location_text) / "metadata").iterdir() if not p.name.startswith(".")}
