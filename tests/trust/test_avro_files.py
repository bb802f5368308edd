# SPDX-License-Identifier: Apache-2.0
"""Avro files state no statistics of columns, so nothing but their writer, or a read of their values, proves any."""

from __future__ import annotations

import struct

import pytest
from support import iceberg_api, plans, product
from support.compare import assert_rows_equal_off_on
from support.imports import forged
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

FILES = 4
COLUMNS = "id INT, v INT"
ROWS = [
    f"SELECT CAST(id AS INT), IF(id % 2 = 0, NULL, CAST(id + 1000 AS INT)) FROM range({i * 10}, {i * 10 + 10}, 1, 1)"
    for i in range(FILES)
]


def edit(path: str, metrics: iceberg_api.Metrics) -> None:
    """Null counts of 0 and bounds of 0 for `v`, and the record count of all files in each."""
    metrics.nulls("v", 0)
    metrics.bounds("v", struct.pack("<i", 0), struct.pack("<i", 0))
    metrics.records = FILES * 10


@pytest.fixture(scope="module")
def made(base) -> dict[str, str]:
    from support import session

    spark = session.get()
    native = "lake.trust.native_avro"
    spark.sql(f"CREATE TABLE {native} ({COLUMNS}) USING iceberg TBLPROPERTIES ('write.format.default' = 'avro')")
    for select in ROWS:
        spark.sql(f"INSERT INTO {native} {select}")
    product.build(spark, native)
    spark.sql("CREATE OR REPLACE TABLE lake.trust.avro_keys AS SELECT 1015 AS k")
    return {"native": native, "forged": forged(spark, "forged_avro", COLUMNS, ROWS, edit, "avro")}


QUERIES = (
    "SELECT count(v) FROM {t} WHERE id >= 0",
    "SELECT count(*) FROM {t} WHERE coalesce(v, 0) = 0",
    "SELECT count(*) FROM {t} WHERE v + 1 > 1020",
    "SELECT id, v FROM {t} ORDER BY v NULLS FIRST, id LIMIT 12",
    "SELECT v, count(*) FROM {t} GROUP BY v",
    "SELECT max(v), min(v), count(*) FROM {t} WHERE id >= 0",
    "SELECT id FROM {t} JOIN lake.trust.avro_keys ON v = k",
    "SELECT id FROM {t} WHERE v IN (SELECT k FROM lake.trust.avro_keys)",
    "SELECT count(*) FROM (SELECT id FROM {t} LIMIT 25)",
    "SELECT id FROM {t} WHERE v <> 0",
)


@pytest.mark.parametrize("which", ["native", "forged"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows(spark, made, which: str, query: str) -> None:
    assert_rows_equal_off_on(spark, query.format(t=made[which]))


@pytest.mark.parametrize(
    ("which", "limited", "levels"),
    [("native", 2, f"extremes={FILES} valid=0 doubtful=0"), ("forged", FILES, f"extremes=0 valid=0 doubtful={FILES}")],
)
def test_levels(spark, made, which: str, limited: int, levels: str) -> None:
    """The record counts of Spark's own files end a LIMIT; those of files that nothing proves do not."""
    assert product.status(spark, made[which]).bounds == levels
    assert len(plans.planned_files(spark.sql(f"SELECT id FROM {made[which]} LIMIT 15"))) == limited
    evidence = product.status(spark, made[which]).evidence
    assert ("neither a Parquet nor an ORC file" in evidence) == (which == "forged"), evidence


def test_values_that_are_read_prove_bounds(spark, made) -> None:
    table = forged(made and spark, "read_avro", COLUMNS, ROWS, edit, "avro")
    product.call(spark, "build_index", table, ", facts => 'bounds(v)'")
    for query, files in (
        ("SELECT id FROM {t} WHERE v + 1 > 1035", 1),
        ("SELECT id FROM {t} JOIN lake.trust.avro_keys ON v = k", 1),
        ("SELECT id FROM {t} WHERE coalesce(v, 0) = 0", FILES),
    ):
        assert_rows_equal_off_on(spark, query.format(t=table))
        planned = plans.planned_files(spark.sql(query.format(t=table)))
        assert len([path for path in planned if "read_avro" in path]) == files, query
