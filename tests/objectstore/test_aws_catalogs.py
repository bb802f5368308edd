# SPDX-License-Identifier: Apache-2.0
"""The life of an index of tables in Glue and in DynamoDB, whose files are in S3: servers of moto in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from catalogs.test_catalogs import life, make
from objectstore.test_vended_keys import orphans_removed
from support import product, session, tables
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.s3 import KEY, Store
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

#: Catalogs of AWS read their keys where its SDK looks for them, not in the properties of the FileIO.
KEYS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": KEY}
CLASSES = {
    "glue": "org.apache.iceberg.aws.glue.GlueCatalog",
    "dynamodb": "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog",
}


@pytest.fixture(scope="module")
def aws(s3_confs: dict[str, str], store: Store) -> Iterator[object]:
    """The session with the catalogs `glue` and `dynamodb`."""
    shared = {
        key.removeprefix("spark.sql.catalog.s3."): value
        for key, value in s3_confs.items()
        if key.startswith(("spark.sql.catalog.s3.s3.", "spark.sql.catalog.s3.io-impl", "spark.sql.catalog.s3.client"))
    }
    confs = dict(s3_confs)
    for name, implementation in CLASSES.items():
        confs[f"spark.sql.catalog.{name}"] = "org.apache.iceberg.spark.SparkCatalog"
        own = {"catalog-impl": implementation, "warehouse": f"s3://lake/{name}", f"{name}.endpoint": store.url}
        confs |= {f"spark.sql.catalog.{name}.{key}": value for key, value in (shared | own).items()}
    kept = {key: os.environ.get(key) for key in KEYS}
    os.environ.update(KEYS)
    session.stop()
    yield session.start(confs, ingest=True)
    session.stop()
    for key, value in kept.items():
        os.environ.pop(key) if value is None else os.environ.update({key: value})
    session.start(s3_confs, ingest=True)


@pytest.mark.parametrize("catalog", list(CLASSES))
def test_life_of_an_index(aws, catalog: str) -> None:
    table = make(aws, f"{catalog}.db.t")
    life(aws, table, table, lambda: tables.append(aws, table, tables.ranges(1, 10, 80), tables.RANGES_DDL))

    product.build(aws, table)
    aws.sql(f"DELETE FROM {table} WHERE id IN (3, 14) OR m = 7")
    product.refresh(aws, table)
    for where in ("id = 3", "id BETWEEN 10 AND 30", "s LIKE 'k0008%'", "m = 7", "d > 30 AND m IN (1, 2)"):
        query = f"SELECT * FROM {table} WHERE {where}"
        assert_planned_by_index(aws, query, mode="EXACT")
        assert_rows_equal_off_on(aws, query, at_least=0)
    product.call(aws, "collect_garbage", table, ", dry_run => false, older_than_hours => 0")
    assert not any("_zonemaps_v2" in location for location in orphans_removed(aws, table, prefix_listing=True))
    assert_planned_by_index(aws, f"SELECT * FROM {table} WHERE id = 85", mode="EXACT")
    assert len(assert_rows_equal_off_on(aws, f"SELECT * FROM {table} WHERE id = 85")) == 1
    assert product.drop(aws, table)
    assert_rows_equal_off_on(aws, f"SELECT * FROM {table}", at_least=70)
