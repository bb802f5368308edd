# SPDX-License-Identifier: Apache-2.0
"""The smallest possible numbers of files to read: by the rows of each file, and by its exact minima and maxima."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pruning.cases import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BOUNDED = ("id", "ts", "finished", "user", "device", "campaign", "price", "quantity", "code", "url")


def prepare(spark: SparkSession, tables: list[str]) -> None:
    """Reads each table once and caches the exact bounds of its files as a view."""
    columns = [f"min({c}) AS lo_{c}, max({c}) AS hi_{c}" for c in _BOUNDED]
    columns.append("count(*) AS n, min(place.zone) AS lo_zone, max(place.zone) AS hi_zone")
    for table in tables:
        bounds = spark.sql(f"SELECT _file AS file, {', '.join(columns)} FROM {table} GROUP BY _file")
        spark.createDataFrame(bounds.toPandas()).createOrReplaceTempView(_view(table))


def by_content(spark: SparkSession, case: Case) -> int:
    """Returns the number of files that contain a row of the result."""
    return int(spark.sql(f"SELECT count(DISTINCT f) FROM ({case.sql('e._file AS f')})").collect()[0][0])


def by_bounds(spark: SparkSession, case: Case) -> int:
    """Returns the number of files that exact bounds cannot prune."""
    view = _view(case.table)
    return int(spark.sql(f"SELECT count(*) FROM {view} WHERE {case.bounds.format(b=view)}").collect()[0][0])


def _view(table: str) -> str:
    return f"bounds_of_{table.rpartition('.')[2]}"
