"""COUNT, MIN and MAX: files read with and without answers from the index, and rows equal to Iceberg's rows."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.session import STOCK

SWITCH = "spark.sql.zonemap.aggregates.enabled"

# query: number of files read with answers from the index, number of files planned without them
QUERIES = {
    "SELECT count(*), min(id), max(id) FROM lake.q.fact WHERE id >= 25": (1, 6),
    "SELECT count(*) FROM lake.q.fact WHERE id BETWEEN 20 AND 59": (0, 4),
    "SELECT m, count(*), max(id) FROM lake.q.part GROUP BY m": (0, 80),
    "SELECT DISTINCT m FROM lake.q.part WHERE id < 44": (0, 44),
    "SELECT sum(id) FROM lake.q.fact WHERE id >= 25": (6, 6),
}


@pytest.mark.parametrize("query", QUERIES)
def test_files_read(spark, lake, query: str) -> None:
    read, planned = QUERIES[query]
    assert_rows_equal_off_on(spark, query)
    with product.raw_conf(spark, {SWITCH: "false"}):
        before = len(plans.planned_tasks(spark.sql(query)))
    after = len(plans.planned_tasks(spark.sql(query)))
    assert STOCK or (after, before) == (read, planned)


def test_explain_and_deletes(spark, lake) -> None:
    table = tables.range_table(spark, "lake.opt.answered", props={"write.delete.mode": "merge-on-read"})
    product.build(spark, table)
    spark.sql(f"DELETE FROM {table} WHERE id = 77")
    query = f"SELECT count(*), max(id) FROM {table} WHERE id >= 15"
    assert tuple(assert_rows_equal_off_on(spark, query)[0]) == (64, 79)
    if not STOCK:
        assert "aggregates: 5 of 7 files answered from the index, 2 read" in explain(spark, query)
    # without a filter, Iceberg computes the aggregate from metadata, unless there is a delete file
    query = f"SELECT count(*), min(id), max(id) FROM {table}"
    assert tuple(assert_rows_equal_off_on(spark, query)[0]) == (79, 0, 79)
    if not STOCK:
        assert "aggregates: 7 of 8 files answered from the index, 1 read" in explain(spark, query)
