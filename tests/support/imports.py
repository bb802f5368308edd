# SPDX-License-Identifier: Apache-2.0
"""Tables whose manifests another program than an engine's Iceberg writer has filled: imports and published mistakes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from support import iceberg_api, product
from support.session import STOCK


def import_files(
    spark,
    table: str,
    folder: Path,
    ddl: str,
    partitioned: str = "",
    footers: int = 10000,
    file_format: str = "parquet",
) -> str:
    spark.sql(f"CREATE TABLE {table} ({ddl}) USING iceberg {partitioned}")
    catalog, name = table.split(".", 1)
    spark.sql(f"CALL {catalog}.system.add_files(table => '{name}', source_table => '`{file_format}`.`{folder}`')")
    if not STOCK:
        product.call(spark, "build_index", table, f", footers => {footers}")
    return table


def forged(
    spark,
    name: str,
    columns: str,
    rows: list[str],
    edit: Callable[[str, iceberg_api.Metrics], None],
    file_format: str = "parquet",
) -> str:
    """Returns a table of one file for each SELECT, whose manifest entries another writer has published.

    If the name ends with `_unread`, no footer is read.
    """
    table = f"lake.trust.{name}"
    spark.sql(
        f"CREATE TABLE {table} ({columns}) USING iceberg TBLPROPERTIES ('write.format.default' = '{file_format}')"
    )
    for select in rows:
        spark.sql(f"INSERT INTO {table} {select}")
    iceberg_api.forge_metrics(spark, table, edit)
    if not STOCK:
        product.call(spark, "build_index", table, ", footers => 0" if name.endswith("_unread") else "")
    return table


def unknown_nulls(spark, name: str = "nulls") -> str:
    """Null counts of 0 where the writer does not know them, and bounds of 0 to 0."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.nulls("v", 0)
        metrics.bounds("v", struct.pack("<i", 0), struct.pack("<i", 0))

    select = "SELECT CAST(id AS INT), IF(id % 2 = 0, NULL, CAST(id + 1000 AS INT)) FROM range({}, {}, 1, 1)"
    return forged(spark, name, "id INT, v INT", [select.format(i * 10, i * 10 + 10) for i in range(4)], edit)


def cut_times(spark, name: str = "times") -> str:
    """Upper bounds of timestamps in whole milliseconds, cut down."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        upper = struct.unpack("<q", bytes(metrics.upper.get(metrics.field_id("ts")).array()))[0]
        metrics.upper.put(
            metrics.field_id("ts"),
            metrics.spark._jvm.java.nio.ByteBuffer.wrap(bytearray(struct.pack("<q", upper // 1000 * 1000))),
        )

    select = (
        "SELECT CAST(id AS INT), timestamp_micros(1700000000000000 + id * 1001 + id DIV 1000 * 1000000) "
        "FROM range({}, {}, 1, 1)"
    )
    return forged(
        spark, name, "id INT, ts TIMESTAMP", [select.format(i * 1000, i * 1000 + 908) for i in range(4)], edit
    )


def counts_of_commits(spark, name: str = "counts") -> str:
    """The record count of the whole commit in each of its files."""

    def edit(_: str, metrics: iceberg_api.Metrics) -> None:
        metrics.records = 400

    select = "SELECT CAST(id AS INT), CAST(id % 7 AS INT) FROM range({}, {}, 1, 1)"
    return forged(spark, name, "id INT, v INT", [select.format(i * 50, i * 50 + 50) for i in range(8)], edit)
