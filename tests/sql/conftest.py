# SPDX-License-Identifier: Apache-2.0
"""Tables that all SQL tests may read; tests that write create their own tables."""

from __future__ import annotations

import pytest
from support import product, session, tables

COLUMNS = "id BIGINT, s STRING, d DOUBLE, m INT"


@pytest.fixture(scope="session")
def lake(base):
    """fact: 8 files, 80 rows, ids ascend by file. part: the same rows, partitioned by m (10 partitions). dim: 10 rows
    of m. days: rows of 6 days. v3: like fact, in format version 3. All tables are indexed."""
    spark = session.get()
    tables.range_table(spark, "lake.q.fact")
    tables.create(spark, "lake.q.part", COLUMNS, partitioned="m")
    tables.append(spark, "lake.q.part", tables.ranges(8, 10), COLUMNS)
    tables.create(spark, "lake.q.dim", "m INT, name STRING, tier STRING, low BIGINT")
    tables.append(
        spark,
        "lake.q.dim",
        [[(i, f"n{i}", "gold" if i == 3 else "tin", i * 10) for i in range(10)]],
        "m INT, name STRING, tier STRING, low BIGINT",
    )
    tables.create(
        spark,
        "lake.q.days",
        "id BIGINT, ts TIMESTAMP, tags MAP<STRING, STRING>, st STRUCT<a: INT, b: STRING>",
        partitioned="days(ts)",
    )
    tables.append(
        spark,
        "lake.q.days",
        [
            [(day * 100 + i, (19_000 + day) * 86_400 + i * 60, f"k{i}", day * 10 + i) for i in range(8)]
            for day in range(6)
        ],
        "id BIGINT, sec BIGINT, k STRING, a INT",
        select=("id", "timestamp_seconds(sec) AS ts", "map('type', k) AS tags", "named_struct('a', a, 'b', k) AS st"),
    )
    tables.range_table(spark, "lake.q.v3", version=3)
    for table in ("fact", "part", "dim", "days", "v3"):
        product.build(spark, f"lake.q.{table}")
    return "lake.q"
