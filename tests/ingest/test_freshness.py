# SPDX-License-Identifier: Apache-2.0
"""Rows that a writer without a JVM handed over are planned from the hot index two seconds later."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from support import product, tables
from support.compare import assert_rows_equal_off_on, explain
from support.session import STOCK

from zonemap.ingest import Writer

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

NAME = "lake.ingest.fresh"
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.int32())])


@pytest.fixture(scope="module")
def catalog(spark, sqlite, base) -> Iterator[SqlCatalog]:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.ingest")
    found = SqlCatalog("lake", uri=f"sqlite:///{sqlite}", warehouse=f"file:{base / 'ingest'}")
    yield found
    found.close()


def test_a_query_plans_rows_of_two_seconds_ago_from_the_hot_index(spark, catalog: SqlCatalog) -> None:
    tables.create(spark, NAME, "id BIGINT, day INT", partitioned="day")
    product.build(spark, NAME)
    with product.raw_conf(spark, {"spark.sql.zonemap.ingest.interval": "500ms"}):
        assert product.call(spark, "ingest_start", NAME)[0].started
    seconds = []
    try:
        with Writer(NAME, catalog=catalog, lane="gateway") as writer:
            for turn in range(6):
                rows = pa.table([range(turn * 10, turn * 10 + 10), [turn] * 10], schema=SCHEMA)
                accepted = time.monotonic()
                receipt = writer.write(rows)
                assert receipt.wait(30).visible
                seconds.append(time.monotonic() - accepted)
                # A refresh looks at the snapshot that the query will read; it builds nothing.
                spark.sql(f"REFRESH TABLE {NAME}")
                time.sleep(max(0.0, accepted + 2 - time.monotonic()))
                query = f"SELECT id FROM {NAME} WHERE id BETWEEN {turn * 10 + 3} AND {turn * 10 + 5}"
                with product.conf(spark, cover_on_read="background"):
                    told = explain(spark, query)
                    assert "mode EXACT" in told and "tier hot" in told, told
                    found = assert_rows_equal_off_on(spark, query)
                assert sorted(row.id for row in found) == [turn * 10 + n for n in (3, 4, 5)]
                state = product.status(spark, NAME)
                assert (state.covered, state.lag_snapshots, state.data_files) == (True, 0, turn + 1), state
    finally:
        product.call(spark, "ingest_stop", NAME)
    print("seconds from the write to the visible snapshot:", [round(s, 2) for s in seconds])
    assert sorted(seconds)[len(seconds) // 2] < 2, seconds
