# SPDX-License-Identifier: Apache-2.0
"""Manifest lists whose partition summaries are missing, lack bounds or claim that no partition is null."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import product, tables
from support.compare import assert_rows_equal_off_on, assert_same_rows
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

Summary = Any
QUERIES = (
    "SELECT id FROM {t} WHERE p = 2",
    "SELECT id FROM {t} WHERE p IS NULL",
    "SELECT id FROM {t} WHERE p IS NOT NULL",
    "SELECT id FROM {t} WHERE p + 1 = 3",
    "SELECT id FROM {t} WHERE coalesce(p, 7) = 7",
    "SELECT id FROM {t} WHERE id = 21",
    "SELECT id FROM {t} ORDER BY id DESC LIMIT 3",
    "SELECT count(*), min(id), max(id) FROM {t} WHERE p = 3",
)


def forge_list(spark, table: str, edit: Callable[[Any], None]) -> None:
    """Rewrites the manifest list of the current snapshot in its place, each record edited."""
    jvm = spark._jvm
    path = tables.java_table(spark, table).currentSnapshot().manifestListLocation().removeprefix("file:")
    file = jvm.java.io.File(path)
    generic = jvm.org.apache.avro.generic
    reader = jvm.org.apache.avro.file.DataFileReader(file, generic.GenericDatumReader())
    schema = reader.getSchema()
    records = []
    while reader.hasNext():
        record = reader.next()
        edit(record)
        records.append(record)
    writer = jvm.org.apache.avro.file.DataFileWriter(generic.GenericDatumWriter(schema))
    for key in reader.getMetaKeys():
        if not key.startswith("avro."):
            writer.setMeta(key, reader.getMetaString(key))
    reader.close()
    writer.create(schema, file)
    for record in records:
        writer.append(record)
    writer.close()
    (Path(path).parent / f".{Path(path).name}.crc").unlink(missing_ok=True)
    spark.sql(f"REFRESH TABLE {table}")


def no_summaries(record: Any) -> None:
    record.put("partitions", None)


def no_bounds(record: Any) -> None:
    for summary in record.get("partitions"):
        summary.put("lower_bound", None)
        summary.put("upper_bound", None)


def no_nulls(record: Any) -> None:
    for summary in record.get("partitions"):
        summary.put("contains_null", False)


@pytest.mark.parametrize("indexed", [True, False], ids=["built after", "built before"])
@pytest.mark.parametrize("edit", [no_summaries, no_bounds, no_nulls])
def test_rows_of_manifests_without_sound_summaries(spark, edit: Callable[[Any], None], indexed: bool) -> None:
    table = f"lake.trust.summaries_{edit.__name__}_{indexed}".lower()
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.trust")
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) USING iceberg PARTITIONED BY (p)")
    for p in (1, 2, 3, "NULL"):
        spark.sql(f"INSERT INTO {table} SELECT CAST(id + 10 * coalesce({p}, 4) AS INT), {p} FROM range(0, 10, 1, 1)")
    if not indexed:
        product.build(spark, table)
    true_rows = spark.table(table).collect()
    spark.createDataFrame(true_rows, "id INT, p INT").createOrReplaceTempView("true_rows")
    forge_list(spark, table, edit)
    if indexed:
        product.build(spark, table)
    assert_same_rows(spark.table(table).collect(), true_rows, "all rows")
    for query in QUERIES:
        # Iceberg leaves out manifests by such summaries and loses rows, also where it answers an aggregate itself; the
        # index reads the tuples, also where it answers an aggregate
        expected = spark.sql(query.format(t="true_rows")).collect()
        if edit is no_summaries:
            assert_rows_equal_off_on(spark, query.format(t=table))
        assert_same_rows(spark.sql(query.format(t=table)).collect(), expected, query)
