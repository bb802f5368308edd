# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/guide/why-not.md and, after them, of docs/guide/advice.md run as they are printed, in their order."""

from __future__ import annotations

import re

import pytest
from support import guide, product, session
from support.session import ROOT, STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

PAGES = [ROOT / "docs" / "guide" / "why-not.md", ROOT / "docs" / "guide" / "advice.md"]


@pytest.fixture(scope="module")
def results(lake) -> dict[str, list]:
    """The rows of each procedure that the pages call, and the names that their Python defines."""
    spark = session.get()
    for table in ("requests", "visits"):
        spark.sql(f"DROP TABLE IF EXISTS lake.db.{table}")
    with product.raw_conf(spark, {"spark.sql.zonemap.steps.enabled": "true"}):
        (of_query, names), (of_tables, more) = (guide.run(page, spark) for page in PAGES)
    return of_query | of_tables | {"python": [names | more]}


def test_why_not_of_the_page(results: dict[str, list]) -> None:
    rows = results["why_not"][0]
    assert rows[0].part == "scan" and (rows[0].files_before, rows[0].files_after) == (16, 16)
    page = re.sub(r"\s+", " ", PAGES[0].read_text(encoding="utf-8"))
    overlap = next(row for row in rows if row.code == "CONDITION_OVERLAP")
    assert overlap.message in page
    assert "Sorting by `user_id` would keep about " in overlap.remedy and "bloom(user_id)" in overlap.remedy
    text = next(row for row in rows if row.code == "CONDITION_TEXT_INSIDE")
    assert "clearly fewer files" in text.remedy and "CALL" not in text.remedy
    assert text.arguments["column"] == "page"


def test_clustering_of_the_page(results: dict[str, list]) -> None:
    by_user, by_time = (rows[0] for rows in results["clustering_information"])
    assert by_user.average_depth == 16 and by_time.average_depth == 1
    assert by_user.partition_depth_histogram == {"00016": 16} and by_time.total_partition_count == 16


def test_verify_of_the_page(results: dict[str, list]) -> None:
    of_query, of_table = results["verify"]
    for rows in (of_query, of_table):
        assert [row.check for row in rows] == ["pruned files", "rows", "tasks"]
        assert {row.verdict for row in rows} == {"equal"}


def test_planned_scans_of_the_page(results: dict[str, list]) -> None:
    rows = results["planned_scans"][0]
    assert len(rows) == 5 and {row.table for row in rows} == {"lake.db.visits"}
    assert {row.mode for row in rows} <= {"EXACT", "STOCK"} and results["python"][0]["kept"]
    pruned = next(row for row in rows if row.mode == "EXACT" and row.steps)
    assert pruned.steps[0].files_before == pruned.files_considered == 16
    assert pruned.steps[-1].files_after == pruned.files_kept and pruned.rows_considered == 3200


def test_advice_of_the_page(results: dict[str, list]) -> None:
    of_scans, of_queries = results["advise"]
    sort = of_queries[0]
    assert (sort.advice, sort.subject, sort.scans, sort.files_before) == ("sort", "user_id", 2, 32)
    assert sort.files_after < 20 and "sort_order => 'user_id'" in sort.statement
    assert next(row.subject for row in of_queries if row.advice == "no help") == "page"
    assert of_scans[0].advice == "sort" and of_scans[0].scans > 5
    assert results["python"][0]["statements"][0] == sort.statement


def test_python_of_the_page(results: dict[str, list]) -> None:
    names = results["python"][0]
    assert names["codes"][0] == "" and "CONDITION_OVERLAP" in names["codes"]
    assert [row.code for row in names["same"].rows] == names["codes"]
    assert names["depth"] == 16
    assert "CONDITION_OVERLAP" in names["result"]._repr_html_()
