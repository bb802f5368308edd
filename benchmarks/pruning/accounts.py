# SPDX-License-Identifier: Apache-2.0
"""Writes a table of accounts whose files are ordered by id, and a table of changes to some of the accounts."""

from __future__ import annotations

from pyspark.sql import SparkSession

import zonemap

MERGE = (
    "MERGE INTO {target} t USING {keys} s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET balance = s.balance WHEN NOT MATCHED THEN INSERT *"
)


def write(spark: SparkSession, target: str, keys: str, *, files: int, rows: int, step: int, changes: int) -> None:
    """Writes and indexes both tables.

    Args:
        target: the table to write ``rows`` accounts to, in ``files`` files.
        keys: the table to write ``changes`` changes to; the changed accounts are ``step`` ids apart.
    """
    spark.sql(
        f"CREATE TABLE {target} (id BIGINT, balance DOUBLE, owner STRING) USING iceberg "
        "TBLPROPERTIES ('format-version' = '2', 'write.distribution-mode' = 'none')"
    )
    accounts = spark.range(0, rows, 1, files)
    accounts.selectExpr("id", "id / 7D AS balance", "sha1(string(id)) AS owner").writeTo(target).append()
    spark.sql(
        f"CREATE TABLE {keys} USING iceberg AS "
        f"SELECT id * {step} AS id, -1D AS balance, 'changed' AS owner FROM range({changes})"
    )
    for table in (target, keys):
        zonemap.Index(spark, table).build()


def snapshot(spark: SparkSession, table: str) -> int:
    """Returns the id of the table's current snapshot."""
    return int(spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()[0][0])


def roll_back(spark: SparkSession, table: str, to: int) -> None:
    """Rolls the table back to the snapshot ``to``."""
    spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {to})")
