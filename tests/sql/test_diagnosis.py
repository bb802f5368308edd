# SPDX-License-Identifier: Apache-2.0
"""Explanations in Python: of a DataFrame and of mistakes."""

from __future__ import annotations

import pytest
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def temporary_views(spark) -> set[str]:
    """Not by spark.catalog.listTables, which cannot decode a temporary view where Spark generates no code."""
    return {row.viewName for row in spark.sql("SHOW VIEWS").collect() if row.isTemporary}


def test_a_frame_leaves_no_view_and_mistakes_are_one_sentence(spark, lake) -> None:
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW of_the_user AS SELECT 1 AS id")
    before = temporary_views(spark)
    assert "of_the_user" in before
    assert zonemap.why_not(spark, spark.table("lake.q.fact").where("id = 3").orderBy("id").limit(2)).rows
    assert temporary_views(spark) == before
    with pytest.raises(zonemap.ProcedureError) as refused:
        zonemap.why_not(spark, "DELETE FROM lake.q.fact")
    assert str(refused.value) == (
        "Cannot explain 'DELETE FROM lake.q.fact': it is not a SELECT. Give a query; EXPLAIN describes the scans of a command."
    )
