# SPDX-License-Identifier: Apache-2.0
"""Explanations in Python: of a DataFrame and of mistakes."""

from __future__ import annotations

import pytest
from support.session import STOCK

import zonemap

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def test_a_frame_leaves_no_view_and_mistakes_are_one_sentence(spark, lake) -> None:
    before = {view.name for view in spark.catalog.listTables() if view.isTemporary}
    assert zonemap.why_not(spark, spark.table("lake.q.fact").where("id = 3").orderBy("id").limit(2)).rows
    assert {view.name for view in spark.catalog.listTables() if view.isTemporary} == before
    with pytest.raises(zonemap.ProcedureError) as refused:
        zonemap.why_not(spark, "DELETE FROM lake.q.fact")
    assert str(refused.value) == (
        "Cannot explain 'DELETE FROM lake.q.fact': it is no SELECT. Give a query; EXPLAIN describes the scans of a command."
    )
