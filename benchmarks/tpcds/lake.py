# SPDX-License-Identifier: Apache-2.0
"""The 24 tables in two layouts: facts ordered by date and not partitioned, and the same partitioned by month."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class _Fact:
    """A fact table: the number of files of its ordered layout, and the column with the key of its date."""

    files: int
    date: str


FACTS = {
    "store_sales": _Fact(200, "ss_sold_date_sk"),
    "catalog_sales": _Fact(150, "cs_sold_date_sk"),
    "web_sales": _Fact(100, "ws_sold_date_sk"),
    "store_returns": _Fact(100, "sr_returned_date_sk"),
    "catalog_returns": _Fact(75, "cr_returned_date_sk"),
    "web_returns": _Fact(50, "wr_returned_date_sk"),
    "inventory": _Fact(60, "inv_date_sk"),
}
LAYOUTS = ("ordered", "monthly")
#: Keys of dates count days, so a partition holds 30 of them.
_MONTH = 30
#: Columns of the generator, by the names that the statements have for them.
_RENAMED = {"c_last_review_date_sk": "c_last_review_date"}


def write(spark: SparkSession, folder: Path, layout: str) -> list[str]:
    """Writes the tables of a layout from the Parquet files in ``folder``, and returns their names."""
    names = []
    for file in sorted(folder.glob("*.parquet")):
        rows = spark.read.parquet(str(file)).withColumnsRenamed(_RENAMED)
        target = f"lake.{layout}.{file.stem}"
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
        fact = FACTS.get(file.stem)
        month = f"PARTITIONED BY (truncate({_MONTH}, {fact.date}))" if fact and layout == "monthly" else ""
        properties = "TBLPROPERTIES ('write.distribution-mode' = 'none')"
        spark.sql(f"CREATE TABLE {target} ({columns}) USING iceberg {month} {properties}")
        if fact:
            rows = rows.repartitionByRange(fact.files, fact.date).sortWithinPartitions(fact.date)
        else:
            rows = rows.coalesce(1)
        rows.writeTo(target).append()
        names.append(target)
    return names
