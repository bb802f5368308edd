# SPDX-License-Identifier: Apache-2.0
"""Whole queries of PyIceberg through `zonemap serve`, against what PyIceberg finds in all files of the tables."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo, GreaterThan, In, IsNull
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask, Table
from readers import differential, test_plans
from support import product, tables
from support.session import STOCK

from server.conftest import Server

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

#: `ZONEMAP_SERVED_FILTERS=500` compares 3,000 filters in all.
FILTERS = int(os.environ.get("ZONEMAP_SERVED_FILTERS", "20"))
MAKERS: dict[str, Callable[..., str]] = {
    "every_type": test_plans.every_type,
    "evolved": test_plans.evolved,
    "partitioned": lambda spark, seed, name: partitioned(spark, name),
}


def partitioned(spark, name: str) -> str:
    """Two specs and position deletes; no partition has a null, which PyIceberg 0.12 refuses in an answer."""
    props = {"write.delete.mode": "merge-on-read"}
    tables.range_table(spark, name, files=4, rows=12, partitioned="bucket(2, id), truncate(4, s)", props=props)
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD truncate(4, s)")
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD m")
    tables.append(spark, name, tables.ranges(3, 8, start=40), tables.RANGES_DDL)
    spark.sql(f"DELETE FROM {name} WHERE d BETWEEN 22 AND 24")
    return name


def catalog(server: Server, **properties: str) -> Catalog:
    return load_catalog("served", type="rest", uri=server.url, token="secret-of-callers", **properties)


def both(server: Server, name: str) -> tuple[Table, Table]:
    """The table whose scans the server plans, and the one whose scans PyIceberg plans."""
    identifier = name.partition(".")[2]
    served = catalog(server, **{"scan-planning-mode": "server"})
    return served.load_table(identifier), catalog(server).load_table(identifier)


def found(table: Table, expression: BooleanExpression) -> pa.Table:
    """The rows that PyIceberg finds in all files: its own plans lose rows for NaN and for promoted columns."""
    tasks = [FileScanTask(task.file, task.delete_files, expression) for task in table.scan().plan_files()]
    return ArrowScan(table.metadata, table.io, table.schema(), expression, True, None).to_table(tasks)


def bag(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.fixture(scope="module", params=MAKERS)
def made(spark, request) -> str:
    seed = random.Random(f"served {request.param}")
    name = MAKERS[request.param](spark, seed, f"lake.served.{request.param}")
    product.build(spark, name)
    return name


@pytest.mark.parametrize("upstream", ["of_rest", "of_jdbc"])
def test_rows_of_random_filters_are_those_in_all_files(made: str, upstream: str, request) -> None:
    server: Server = request.getfixturevalue(upstream)
    served, own = both(server, made)
    # PyIceberg writes an infinity as null, which is not a literal of the protocol
    values = {
        column: [value for value in pool if not (isinstance(value, float) and math.isinf(value))]
        for column, pool in differential.values_of(own).items()
    }
    seed = random.Random(f"{made} {upstream}")
    before = server.counts()
    kept = 0
    for _ in range(FILTERS):
        expression = differential.random_expression(seed, own, values)
        assert bag(served.scan(row_filter=expression).to_arrow()) == bag(found(own, expression)), expression
        kept += len(list(served.scan(row_filter=expression).plan_files()))
    after = server.counts()
    planned = sum(
        after[key] - before.get(key, 0) for key in after if key.startswith('zonemap_plans_total{mode="EXACT"')
    )
    assert planned == 2 * FILTERS
    assert after["zonemap_files_kept_total"] - before["zonemap_files_kept_total"] == 2 * kept
    considered = after["zonemap_files_considered_total"] - before["zonemap_files_considered_total"]
    assert 0 < kept * 2 < considered


def test_time_travel_branch_and_empty_table(spark, of_rest: Server) -> None:
    name = tables.range_table(spark, "lake.served.travel", files=4, rows=10)
    first = tables.snapshot_id(spark, name)
    product.build(spark, name)
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH later")
    tables.append(spark, name, tables.ranges(2, 10, start=1000), tables.RANGES_DDL, branch="later")
    column = spark.table(name).columns[0]
    served, own = both(of_rest, name)
    branch = next(ref.snapshot_id for key, ref in own.refs().items() if key == "later")
    for snapshot, rows in ((first, 0), (branch, 20), (None, 0)):
        for expression in (GreaterThan(column, 999), AlwaysTrue()):
            expected = bag(own.scan(row_filter=expression, snapshot_id=snapshot).to_arrow())
            assert bag(served.scan(row_filter=expression, snapshot_id=snapshot).to_arrow()) == expected
            if expression != AlwaysTrue():
                assert len(expected) == rows
    empty = tables.create(spark, "lake.served.empty", "id BIGINT")
    served, _ = both(of_rest, empty)
    assert list(served.scan(row_filter=EqualTo("id", 1)).plan_files()) == []


def test_columns_that_swap_their_names_are_those_of_the_table_unless_the_client_asks(spark, of_rest: Server) -> None:
    name = tables.create(spark, "lake.served.swapped", "a BIGINT, b BIGINT")
    for place in range(4):
        spark.sql(f"INSERT INTO {name} SELECT id, id + 1000 FROM range({place * 10}, {place * 10 + 10}, 1, 1)")
    old = tables.snapshot_id(spark, name)
    product.build(spark, name)
    for before, after in (("a", "c"), ("b", "a"), ("c", "b")):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {before} TO {after}")
    served, own = both(of_rest, name)
    expression = GreaterThan("a", 1029)
    rows = bag(own.scan(row_filter=expression, snapshot_id=old).to_arrow())
    assert len(rows) == 10 and bag(served.scan(row_filter=expression, snapshot_id=old).to_arrow()) == rows
    request = {"snapshot-id": old, "filter": {"type": "gt", "term": "a", "value": 29}, "use-snapshot-schema": True}
    assert len(planned(of_rest, name, request)["file-scan-tasks"]) == 1
    assert len(planned(of_rest, name, request | {"use-snapshot-schema": False})["file-scan-tasks"]) == 4


def path(name: str) -> str:
    _, namespace, table = name.split(".")
    return f"/v1/namespaces/{namespace}/tables/{table}"


def planned(server: Server, name: str, request: dict[str, Any]) -> dict[str, Any]:
    status, body = server.send("POST", f"{path(name)}/plan", request)
    assert status == 200, body
    found = json.loads(body)
    assert found["status"] == "completed"
    return found


def test_new_commits_deletes_and_other_requests(spark, of_rest: Server) -> None:
    name = tables.range_table(
        spark, "lake.served.changing", files=6, rows=10, props={"write.delete.mode": "merge-on-read"}
    )
    product.build(spark, name)
    column = spark.table(name).columns[0]
    first = tables.snapshot_id(spark, name)
    tables.append(spark, name, tables.ranges(3, 10, start=500), tables.RANGES_DDL)
    second = tables.snapshot_id(spark, name)
    spark.sql(f"DELETE FROM {name} WHERE {column} IN (3, 505)")
    served, own = both(of_rest, name)
    for expression in (In(column, {3, 4, 505}), IsNull(column), GreaterThan(column, 480)):
        assert bag(served.scan(row_filter=expression).to_arrow()) == bag(own.scan(row_filter=expression).to_arrow())
    incremental = planned(of_rest, name, {"start-snapshot-id": first, "end-snapshot-id": second})
    assert len(incremental["file-scan-tasks"]) == 3
    with_stats = planned(of_rest, name, {"snapshot-id": second, "stats-fields": [column]})
    assert all("lower-bounds" in task["data-file"] for task in with_stats["file-scan-tasks"])
    counts = of_rest.counts()
    assert counts['zonemap_plans_total{mode="STOCK",reason="COLUMN_STATS_REQUESTED"}'] >= 1
