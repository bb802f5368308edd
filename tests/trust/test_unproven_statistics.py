# SPDX-License-Identifier: Apache-2.0
"""Statistics of writers that are not known, each in a form that a writer has published: rows must equal Iceberg's rows."""

from __future__ import annotations

import pytest
from support import plans, product
from support.compare import assert_rows_equal_off_on, assert_same_rows, explain
from support.imports import counts_of_commits, cut_times, unknown_nulls
from support.session import STOCK


@pytest.fixture(scope="module", params=["", "_unread"], ids=["footers read", "no footer read"])
def made(base, request) -> dict[str, str]:
    from support import session

    spark = session.get()
    tables = {
        "nulls": unknown_nulls(spark, f"nulls{request.param}"),
        "times": cut_times(spark, f"times{request.param}"),
        "counts": counts_of_commits(spark, f"counts{request.param}"),
    }
    spark.sql("CREATE OR REPLACE TABLE lake.trust.last_times (k TIMESTAMP, v INT) USING iceberg")
    spark.sql(f"INSERT INTO lake.trust.last_times SELECT ts, id FROM {tables['times']} WHERE id % 1000 = 907")
    return tables


QUERIES = (
    ("nulls", "SELECT count(v) FROM {t} WHERE id >= 0"),
    ("nulls", "SELECT count(*) FROM {t} WHERE coalesce(v, 0) = 0"),
    ("nulls", "SELECT id, v FROM {t} ORDER BY v NULLS FIRST, id LIMIT 12"),
    ("nulls", "SELECT v FROM {t} ORDER BY v NULLS FIRST LIMIT 12"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v + 1 > 1020"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v IS NULL AND id < 30 GROUP BY v"),
    ("nulls", "SELECT count(*) FROM {t} WHERE v <> 0"),
    ("nulls", "SELECT v, count(*) FROM {t} GROUP BY v"),
    ("nulls", "SELECT max(v), min(v) FROM {t} WHERE id >= 0"),
    ("times", "SELECT id FROM {t} JOIN lake.trust.last_times ON ts = k"),
    ("times", "SELECT id FROM {t} WHERE ts IN (SELECT k FROM lake.trust.last_times WHERE v > 1000)"),
    ("times", "SELECT id FROM {t} WHERE unix_micros(ts) = (SELECT max(unix_micros(k)) FROM lake.trust.last_times)"),
    ("times", "SELECT id FROM {t} WHERE unix_micros(ts) = 1700000000000000 + 907 * 1001"),
    ("times", "SELECT id FROM {t} ORDER BY ts DESC LIMIT 3"),
    ("times", "SELECT max(ts) FROM {t} WHERE id >= 0"),
    ("counts", "SELECT count(*) FROM (SELECT id FROM {t} LIMIT 60)"),
    ("counts", "SELECT id FROM {t} ORDER BY id DESC LIMIT 60"),
    ("counts", "SELECT count(*) FROM {t} WHERE id >= 100"),
    ("counts", "SELECT id >= 200, count(*) FROM {t} WHERE id >= 50 GROUP BY id >= 200"),
    ("counts", "SELECT count(v), max(id) FROM {t} WHERE id >= 350"),
)


@pytest.mark.parametrize(("which", "query"), QUERIES)
def test_rows(spark, made, which: str, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=made[which]))


@pytest.mark.skipif(STOCK, reason="about the product")
def test_the_filter_that_iceberg_evaluates_still_prunes(spark, made) -> None:
    query = f"SELECT id FROM {made['counts']} WHERE id = 77"
    assert len(plans.planned_files(spark.sql(query))) == 1
    assert product.status(spark, made["counts"]).bounds == "extremes=0 valid=0 doubtful=8"
    assert "bounds of 8 files prune only by Iceberg's own filter" in explain(spark, query)


@pytest.mark.parametrize(
    "command",
    [
        "DELETE FROM {t} WHERE ts IN (SELECT k FROM lake.trust.last_times)",
        "MERGE INTO {t} t USING lake.trust.last_times s ON t.ts = s.k WHEN MATCHED THEN UPDATE SET id = -s.v "
        "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (9999, s.k)",
    ],
)
def test_commands_on_cut_times(spark, made, command: str) -> None:
    found = {}
    for switch in ("false", "true"):
        unread = "_unread" if made["times"].endswith("_unread") else ""
        table = cut_times(spark, f"times_{command[:5].lower().strip()}_{switch}{unread}")
        with product.conf(spark, enabled=switch):
            spark.sql(command.format(t=table))
        with product.off(spark):
            found[switch] = spark.sql(f"SELECT id, ts FROM {table}").collect()
    assert_same_rows(found["true"], found["false"], command)
