# SPDX-License-Identifier: Apache-2.0
"""A star schema whose keys ascend by file, so that the files that joins prune can be counted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from support import product, session, tables

FACT = "id BIGINT, i INT, s STRING, day DATE, m DECIMAL(12,2), x DOUBLE, sk BIGINT"
#: i, s, day, m and x ascend with id, and so with the file; sk is ten times the file number. Days are sent as numbers.
FACT_SENT = "id BIGINT, i INT, s STRING, dayno INT, m DECIMAL(12,2), x DOUBLE, sk BIGINT"
FACT_FILES = 32
DIM = "k BIGINT, i INT, s STRING, day DATE, m DECIMAL(12,2), x DOUBLE, tier INT, name STRING"
DIM_SENT = "k BIGINT, i INT, s STRING, dayno INT, m DECIMAL(12,2), x DOUBLE, tier INT, name STRING"


def keys(i: int) -> tuple:
    return (i, f"k{i:05d}", 19_000 + i, Decimal(i) / 4, i / 4.0)


def day_select(ddl: str) -> list[str]:
    names = [column.split(" ")[0] for column in ddl.split(", ")]
    return ["date_from_unix_date(dayno) AS day" if name == "dayno" else name for name in names]


@pytest.fixture(scope="session")
def star(base) -> str:
    """fact: 32 files of 10 rows. dim: 8 files of 40 keys each, tier = file number. one: a single file with 40 keys over
    the whole range. small: sk for the other arm of the star, 8 files."""
    spark = session.get()
    fact = tables.create(spark, "lake.joins.fact", FACT)
    slices = [[(i, *keys(i), f * 10) for i in range(f * 10, f * 10 + 10)] for f in range(FACT_FILES)]
    tables.append(spark, fact, slices, FACT_SENT, select=day_select(FACT_SENT))
    dim = tables.create(spark, "lake.joins.dim", DIM)
    slices = [[(i, *keys(i), f, f"n{i % 7}") for i in range(f * 40, f * 40 + 40)] for f in range(8)]
    tables.append(spark, dim, slices, DIM_SENT, select=day_select(DIM_SENT))
    one = tables.create(spark, "lake.joins.one", DIM)
    slices = [[(i, *keys(i), i % 5, f"n{i}") for i in range(0, 320, 8)]]
    tables.append(spark, one, slices, DIM_SENT, select=day_select(DIM_SENT))
    small = tables.create(spark, "lake.joins.small", "sk BIGINT, region INT")
    tables.append(spark, small, [[(f * 40 + j * 10, f) for j in range(4)] for f in range(8)], "sk BIGINT, region INT")
    for table in (fact, dim, one, small):
        product.build(spark, table)
    return "lake.joins"
