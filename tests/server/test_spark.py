# SPDX-License-Identifier: Apache-2.0
"""Iceberg's own client in Spark, without the extension, through `zonemap serve`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import product, tables
from support.compare import assert_same_rows
from support.session import STOCK

from demo_serve import pyiceberg_client, spark_client
from demo_serve.queries import Comparison, Planned, Query
from server.conftest import Server
from server.test_clients import partitioned

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


@pytest.fixture(scope="module")
def stock(spark, of_rest: Server) -> Iterator[object]:
    """The session with the extension off, and the catalog `through`, whose URL is that of the server."""
    spark.conf.set("spark.sql.catalog.through", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.through.type", "rest")
    spark.conf.set("spark.sql.catalog.through.uri", of_rest.url)
    return spark


def compare(spark, server: Server, name: str, where: str) -> int:
    """Compares the rows that the server's plan and Iceberg's own plan return; returns the number of rows."""
    before = planned(server)
    through = name.replace("lake.", "through.", 1)
    with product.off(spark):
        own = spark.sql(f"SELECT * FROM {name} WHERE {where}").collect()
        assert planned(server) == before
        served = spark.sql(f"SELECT * FROM {through} WHERE {where}").collect()
    assert_same_rows(served, own, where)
    assert planned(server) > before
    return len(own)


def planned(server: Server) -> float:
    return sum(value for key, value in server.counts().items() if key.startswith('zonemap_plans_total{mode="EXACT"'))


def test_deletes_and_partitions(stock, of_rest: Server) -> None:
    name = partitioned(stock, "lake.served.spark_partitioned")
    product.build(stock, name)
    conditions = ("true", "id >= 44", "s IS NULL", "id IN (1, 6, 9)", "m = 3 AND s > 'k00020'", "NOT (d < 20)")
    rows = [compare(stock, of_rest, name, where) for where in conditions]
    assert rows[0] > max(rows[1:]) and rows[1] > 0 and rows[2] == 0


def test_deletion_vectors_in_one_file(stock, of_rest: Server) -> None:
    props = {"write.delete.mode": "merge-on-read"}
    name = tables.range_table(stock, "lake.served.vectors", files=5, rows=10, version=3, props=props)
    stock.sql(f"DELETE FROM {name} WHERE id IN (3, 14, 25, 36, 47)")
    puffins = stock.sql(f"SELECT file_path FROM {name}.delete_files").collect()
    assert len(puffins) == 5 and len({row.file_path for row in puffins}) < 5
    product.build(stock, name)
    assert compare(stock, of_rest, name, "true") == 45
    assert compare(stock, of_rest, name, "id BETWEEN 20 AND 29") == 9


def test_the_clients_of_the_demo_plan_fewer_files_and_return_the_same_rows(stock, of_rest: Server) -> None:
    name = tables.create(stock, "lake.served.flights", "flight_id BIGINT, tailnum STRING")
    rows = [[(place * 10 + i, f"N{place}") for i in range(10)] for place in range(6)]
    tables.append(stock, name, rows, "flight_id BIGINT, tailnum STRING")
    product.build(stock, name)
    query = Query("ids", name, "flight_id >= 18 AND flight_id < 22", True)
    with product.off(stock):
        own, served = (spark_client.planned(stock, catalog, query) for catalog in ("lake", "through"))
    found = [Comparison("Spark", query, own, served), *pyiceberg_client.compare(of_rest.url, [query])]
    for comparison in found:
        assert comparison.failure == ""
        assert comparison.own.rows == comparison.served.rows == [18, 19, 20, 21]
        assert len(comparison.served.files) == 2
    missing = Planned(served.files, served.rows[1:], served.millis)
    assert Comparison("Spark", query, own, missing).failure == "rows differ between the plans"
