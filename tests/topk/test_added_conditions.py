# SPDX-License-Identifier: Apache-2.0
"""The product's derived conditions prune files but never reach a reader, which would apply them to default values."""

from __future__ import annotations

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, canonical, explain
from support.session import SPARK, STOCK
from support.steps import FILES

ROWS = "id INT, c INT, s STRING, b BOOLEAN, g INT"


def table_of(spark, name: str, c: int, s: str, b: bool, file_format: str = "parquet") -> str:
    """Creates four files, adds the columns with these defaults, and creates four files with other values."""
    table = tables.create(spark, f"lake.topk.{name}", "id INT", version=3)
    before = [[(k * 10 + i,) for i in range(10)] for k in range(4)]
    tables.append(spark, table, before, "id INT", file_format=file_format)
    types, lit = spark._jvm.org.apache.iceberg.types.Types, spark._jvm.org.apache.iceberg.expressions.Expressions.lit
    update = tables.java_table(spark, table).updateSchema()
    update.addColumn("c", types.IntegerType.get(), lit(c)).addColumn("s", types.StringType.get(), lit(s)).addColumn(
        "b", types.BooleanType.get(), lit(b)
    ).addColumn("g", types.IntegerType.get()).commit()
    spark.sql(f"REFRESH TABLE {table}")
    after = [[(n := 100 + k * 10 + i, n, f"k{n}", not b, n) for i in range(10)] for k in range(4)]
    tables.append(spark, table, after, ROWS, file_format=file_format)
    product.build(spark, table)
    return table


KEYS = ("c", "s", "b", "g")
DIRECTIONS = ("", "DESC", "NULLS LAST", "DESC NULLS FIRST")
# the parts of the query before and after the ORDER BY
AROUND = (("", "LIMIT 3"), ("WHERE id >= 0", "LIMIT 3 OFFSET 9"), ("WHERE c < 120 AND id < 135", "LIMIT 12"))


@pytest.mark.parametrize(
    ("place", "file_format"), [("above", "parquet"), ("below", "parquet"), ("among", "parquet"), ("above", "avro")]
)
def test_first_rows_by_a_column_with_a_default(spark, base, place: str, file_format: str) -> None:
    c, s, b = {"above": (1000, "z", True), "below": (-1, "a", False), "among": (115, "k115", True)}[place]
    table = table_of(spark, f"dflt_{place}_{file_format}", c, s, b, file_format)
    for key in KEYS:
        for direction in DIRECTIONS:
            for where, tail in AROUND:
                query = f"SELECT id, {key} FROM {table} {where} ORDER BY {key} {direction}, id {tail}"
                with product.off(spark):
                    expected = spark.sql(query).collect()
                actual = spark.sql(query).collect()
                assert [canonical(r) for r in actual] == [canonical(r) for r in expected], query
                assert len(actual) >= 3, query


OTHERS = (
    "SELECT count(*), min(c), max(c), count(s), min(s) FROM {t} WHERE id >= 0",
    "SELECT c, count(*) FROM {t} WHERE c + 1 = 1001 GROUP BY c",
    "SELECT b, count(*), max(c) FROM {t} GROUP BY b",
    "SELECT count(*) FROM (SELECT c FROM {t} WHERE c + 0 = 1000 LIMIT 25)",
    "SELECT t.id FROM {t} t JOIN (SELECT DISTINCT c AS k FROM {t} WHERE id < 102) d ON t.c = d.k",
    "SELECT /*+ BROADCAST(d) */ t.id FROM {t} t JOIN (SELECT * FROM {t} WHERE id = 3) d ON t.c = d.c",
    "SELECT /*+ BROADCAST(d) */ t.id FROM {t} t JOIN (SELECT * FROM {t} WHERE id = 3) d ON t.s = d.s AND t.b = d.b",
    "SELECT id FROM {t} WHERE c IN (SELECT c FROM {t} WHERE id IN (1, 105))",
    "SELECT id FROM {t} WHERE c IN (SELECT c FROM {t} ORDER BY c DESC LIMIT 1)",
    "SELECT id FROM {t} WHERE substring(s, 1, 1) = 'z'",
    "SELECT count(*) FROM {t} WHERE coalesce(c, 0) = 1000",
)


def test_other_conditions_that_are_derived(spark, base) -> None:
    table = table_of(spark, "dflt_others", 1000, "z", True)
    for query in OTHERS:
        # even without the product, readers lose rows if a filter of the query is about a column with a default
        assert_rows_equal_off_on(spark, query.format(t=table))


# queries with derived conditions; no filter of Iceberg or its readers contains these conditions
DERIVED = (
    "SELECT * FROM {t} ORDER BY id DESC LIMIT 3",
    "SELECT * FROM {t} ORDER BY n LIMIT 3",
    "SELECT * FROM {t} WHERE id < 60 ORDER BY id DESC LIMIT 3",
    "SELECT * FROM {t} LIMIT 3",
    "SELECT * FROM {t} WHERE g = '1' LIMIT 3",
    "SELECT * FROM {t} WHERE id + 1 = 42",
    "SELECT count(*), max(id) FROM {t} WHERE id >= 15",
    "SELECT m, count(*) FROM {t} WHERE id >= 15 GROUP BY m",
    "SELECT a.id FROM {t} a JOIN (SELECT * FROM {t} WHERE id = 42) b ON a.id = b.id",
    "SELECT /*+ BROADCAST(b) */ a.id FROM {t} a JOIN (SELECT * FROM {t} WHERE s LIKE '0004%') b ON a.id = b.id",
    "SELECT id FROM {t} WHERE id IN (SELECT id FROM {t} ORDER BY id LIMIT 2)",
)


def given(frame) -> list[tuple[str, list[str]]]:
    """Returns the filters that Iceberg received for each scan: the scan's filters, and the residuals of its tasks."""
    spark = frame.sparkSession
    out = []
    for node in plans.scans(frame):
        scan = node.scan()
        if scan.getClass().getSimpleName() in ("KeyFilteredScan", "RemainingFilesScan"):
            scan = scan.inner()
        tasks = plans._invoke(spark, scan, "tasks")
        filters = plans._invoke(spark, scan, "filters" if SPARK >= (4, 1) else "filterExpressions").toString()
        out.append((filters, sorted({tasks.get(i).residual().toString() for i in range(tasks.size())})))
    return out


@pytest.mark.parametrize("query", DERIVED)
def test_iceberg_gets_the_filters_of_the_query_and_no_others(spark, plain, query: str) -> None:
    if STOCK:
        return
    query = query.format(t=plain)
    with product.off(spark):
        stock = given(spark.sql(query))
    ours = given(spark.sql(query))
    assert [filters for filters, _ in ours] == [filters for filters, _ in stock]
    for (_, left), (_, theirs) in zip(ours, stock, strict=True):
        assert set(left) <= set(theirs)
    frame = spark.sql(query)
    frame.collect()
    assert given(frame)[0][0] == stock[0][0], "after filters found at run time"


def test_each_bound_has_its_own_scan(spark, plain) -> None:
    """Spark must not merge scans that plan different files."""
    least = f"(SELECT id FROM {plain} ORDER BY id LIMIT 3)"
    most = f"(SELECT id FROM {plain} ORDER BY id DESC LIMIT 3)"
    rows = assert_rows_equal_off_on(
        spark, f"SELECT * FROM {least} UNION ALL SELECT * FROM {most} UNION ALL SELECT id FROM {plain}"
    )
    assert len(rows) == 86
    for one in (least, most):
        again = assert_rows_equal_off_on(
            spark, f"SELECT a.id FROM {one} a JOIN {plain} b ON a.id = b.id JOIN {least} c ON b.id >= c.id"
        )
        assert len(again) in (6, 9)
    frame = spark.sql(f"SELECT id FROM {plain} ORDER BY id DESC LIMIT 3")
    assert [r.id for r in frame.collect()] == [r.id for r in frame.collect()] == [79, 78, 77]
    assert frame.union(spark.table(plain).select("id")).count() == 3 + FILES * 10


def test_explain_shows_the_bound_and_the_plan_has_no_filter(spark, plain) -> None:
    if STOCK:
        return
    query = f"SELECT * FROM {plain} ORDER BY id DESC LIMIT 3"
    assert "top-k bound: id >= 70" in explain(spark, query)
    assert "Filter (" not in plans.plan_text(spark.sql(query))
