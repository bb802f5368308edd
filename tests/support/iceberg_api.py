# SPDX-License-Identifier: Apache-2.0
"""Changes tables with Iceberg's public API where Spark SQL cannot: equality deletes and forged column metrics."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from support import tables


def equality_delete(
    spark: SparkSession, table: str, column: str, values: list[Any], partition_of: str | None = None
) -> None:
    """Commits one equality delete file on one column. Values must be int32, str, bool or float.

    For a partitioned table, `partition_of` is the path of a data file in the partition of the delete file.
    """
    jvm = spark._jvm
    loaded = tables.java_table(spark, table)
    schema = loaded.schema().select(jvm.java.util.Collections.singleton(column))
    ids = spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = loaded.schema().findField(column).fieldId()
    parquet = jvm.org.apache.iceberg.FileFormat.PARQUET
    factory = (
        jvm.org.apache.iceberg.data.GenericFileWriterFactory.Builder(loaded)
        .deleteFileFormat(parquet)
        .equalityFieldIds(ids)
        .equalityDeleteRowSchema(schema)
        .build()
    )
    path = f"{loaded.location()}/data/delete-{uuid.uuid4()}.parquet"
    out = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(loaded.io().newOutputFile(path))
    tuple_ = None if partition_of is None else data_files(spark, table)[partition_of].partition()
    writer = factory.newEqualityDeleteWriter(out, loaded.spec(), tuple_)
    for value in values:
        record = jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        record.setField(column, value)
        writer.write(record)
    writer.close()
    loaded.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql(f"REFRESH TABLE {table}")


def data_files(spark: SparkSession, table: str) -> dict[str, Any]:
    """Returns Iceberg's DataFile objects with their column statistics, by path."""
    tasks = tables.java_table(spark, table).newScan().includeColumnStats().planFiles()
    found = {}
    iterator = tasks.iterator()
    while iterator.hasNext():
        file = iterator.next().file()
        found[file.location()] = file
    tasks.close()
    return found


@dataclass
class Metrics:
    """The column metrics of one data file, as Java maps by field id; edit them in place or set them to None."""

    spark: SparkSession
    schema: Any
    records: int
    value_counts: Any
    null_counts: Any
    nan_counts: Any
    lower: Any
    upper: Any

    def field_id(self, column: str) -> int:
        return self.schema.findField(column).fieldId()

    def forget(self, column: str, *what: str) -> None:
        """Removes the column from the named maps: value_counts, null_counts, nan_counts, lower, upper."""
        for name in what:
            getattr(self, name).remove(self.field_id(column))

    def bounds(self, column: str, lower: bytes | None, upper: bytes | None) -> None:
        """Sets the raw bounds of the column; None removes a bound."""
        for held, raw in ((self.lower, lower), (self.upper, upper)):
            if raw is None:
                held.remove(self.field_id(column))
            else:
                held.put(self.field_id(column), self.spark._jvm.java.nio.ByteBuffer.wrap(bytearray(raw)))

    def nulls(self, column: str, count: int) -> None:
        """Sets the null count of the column."""
        jvm = self.spark._jvm
        mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()  # py4j would send a small count as an Integer
        kinds = [jvm.java.lang.Class.forName(f"java.{name}") for name in ("util.HashMap", "lang.Integer", "lang.Long")]
        kind = mapper.getTypeFactory().constructMapType(*kinds)
        self.null_counts.putAll(mapper.readValue(f'{{"{self.field_id(column)}": {count}}}', kind))

    def all_null(self, column: str) -> None:
        """Records every value of the column as null."""
        ours = self.spark._jvm.java.util.HashMap(self.value_counts)
        ours.keySet().retainAll(self.spark._jvm.java.util.Collections.singleton(self.field_id(column)))
        self.null_counts.putAll(ours)


def forge_metrics(spark: SparkSession, table: str, edit: Callable[[str, Metrics], None]) -> None:
    """Replaces the manifest entry of every data file by one with edited column metrics, without changing data."""
    jvm = spark._jvm
    loaded = tables.java_table(spark, table)
    overwrite = loaded.newOverwrite()
    for path, file in data_files(spark, table).items():
        copied = [
            jvm.java.util.HashMap(held) if held is not None else jvm.java.util.HashMap()
            for held in (
                file.valueCounts(),
                file.nullValueCounts(),
                file.nanValueCounts(),
                file.lowerBounds(),
                file.upperBounds(),
            )
        ]
        metrics = Metrics(spark, loaded.schema(), file.recordCount(), *copied)
        edit(path, metrics)
        made = jvm.org.apache.iceberg.Metrics(
            metrics.records,
            file.columnSizes(),
            metrics.value_counts,
            metrics.null_counts,
            metrics.nan_counts,
            metrics.lower,
            metrics.upper,
        )
        forged = jvm.org.apache.iceberg.DataFiles.builder(loaded.spec()).copy(file)
        forged = forged.withMetrics(made).withRecordCount(metrics.records).build()
        overwrite = overwrite.deleteFile(file).addFile(forged)
    overwrite.commit()
    spark.sql(f"REFRESH TABLE {table}")
