# SPDX-License-Identifier: Apache-2.0
"""Tables of eight files with ten rows each. Ids ascend, and each column is a function of the id."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from support import product, tables

FILES, ROWS = 8, 10
COLUMNS = "id BIGINT, ts TIMESTAMP, dt DATE, amount DECIMAL(10, 2), d DOUBLE, f FLOAT, s STRING, n INT, g STRING, m INT, x STRING"
SELECT = (
    "id",
    "timestamp_seconds(1700000000 + id * 3600) AS ts",
    "date_add(DATE'2025-01-01', CAST(id AS INT)) AS dt",
    "CAST((id - 40) / 4 AS DECIMAL(10, 2)) AS amount",
    "(id - 40) / 2D AS d",
    "CAST((id - 40) / 2 AS FLOAT) AS f",
    "concat(lpad(id, 5, '0'), '-cut-off-after-sixteen') AS s",
    "IF(id BETWEEN 40 AND 44, NULL, CAST(id AS INT)) AS n",
    "CAST(id DIV 20 AS STRING) AS g",
    "CAST(id % 10 AS INT) AS m",
    "IF(id < 40, concat('ends-alike-0123456789-', id), concat('other-', id)) AS x",
)


def fill(spark: SparkSession, table: str, files: range) -> None:
    slices = [[(k * ROWS + i,) for i in range(ROWS)] for k in files]
    tables.append(spark, table, slices, "id BIGINT", select=SELECT)


def make(spark: SparkSession, table: str, **options: Any) -> str:
    tables.create(spark, table, COLUMNS, **options)
    fill(spark, table, range(FILES))
    product.build(spark, table)
    return table
