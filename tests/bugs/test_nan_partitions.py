# SPDX-License-Identifier: Apache-2.0
"""Deletes in a partition whose value is NaN: the index treats NaN as one partition, as Iceberg does."""

from __future__ import annotations

import pytest
from support import iceberg_api, product, tables
from support.compare import assert_rows_equal_off_on


@pytest.fixture(scope="module", params=["DOUBLE", "FLOAT"])
def deleted(base, request) -> str:
    """A table with position deletes that cover several files of a partition, and with equality deletes."""
    from support import session

    spark = session.get()
    table = f"lake.nan_partitions.t_{request.param.lower()}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.nan_partitions")
    tables.create(
        spark,
        table,
        f"id INT, s STRING, f {request.param}",
        partitioned="f",
        props={"write.delete.mode": "merge-on-read", "write.delete.granularity": "partition"},
    )
    for i in range(3):
        spark.sql(
            f"INSERT INTO {table} SELECT CAST(id AS INT), concat('s', id), if(id % 2 = 0, double('NaN'), 1.0) "
            f"FROM range({i * 10}, {i * 10 + 10}, 1, 1)"
        )
    spark.sql(f"DELETE FROM {table} WHERE id IN (2, 12, 22, 3)")
    of_nan = next(p for p, f in iceberg_api.data_files(spark, table).items() if "NaN" in f.partition().toString())
    iceberg_api.equality_delete(spark, table, "s", ["s4", "s14"], partition_of=of_nan)
    product.build(spark, table)
    return table


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, s FROM {t}",
        "SELECT count(*), max(id) FROM {t}",
        "SELECT count(*) FROM {t} WHERE s = 's4'",
        "SELECT id FROM {t} WHERE id + 1 > 3 ORDER BY id LIMIT 3",
        "SELECT count(*) FROM {t} WHERE isnan(f)",
    ],
)
def test_deletes_of_a_partition_of_nan(spark, deleted, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=deleted))
