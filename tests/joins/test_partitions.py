# SPDX-License-Identifier: Apache-2.0
"""Join keys prune files by the partition values of transforms of the key column, in tables without file bounds."""

from __future__ import annotations

import re

import pytest
from support import commands, plans, product, session, tables
from support.compare import assert_same_rows
from support.session import STOCK

pytestmark = [
    pytest.mark.skipif(STOCK, reason="asserts what the product reads"),
    pytest.mark.usefixtures("without_rows_of_small_tables"),
]

DDL = "id BIGINT, s STRING, n INT, ts TIMESTAMP, d DOUBLE"
SENT = "id BIGINT, s STRING, n INT, hours BIGINT, d DOUBLE"
SELECT = ["id", "s", "n", "timestamp_seconds(hours * 3600) AS ts", "d"]
SOURCE = "lake.merge.spread"
#: for each key: the partitioning and its number of partitions, including the partition of null
PARTITIONS = {
    "id": ("bucket(16, id)", 17),
    "s": ("truncate(4, s)", 41),
    "n": ("n", 17),
    "ts": ("days(ts)", 31),
}


def row(i: int, d: float) -> tuple:
    return (i, f"k{i % 40:03d}é", i % 16, 400_000 + (i % 30) * 24, d)


def create(spark, name: str, by: str, mode: str = "merge-on-read") -> str:
    table = f"lake.merge.{name}"
    modes = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    props = commands.ONE_TASK | modes | {"write.metadata.metrics.default": "none"}
    tables.create(spark, table, DDL, partitioned=by, props=props)
    rows = [row(i, i / 2.0) for i in range(240)] + [(None, None, None, None, 0.5)]
    tables.append(spark, table, [rows], SENT, select=SELECT)
    product.build(spark, table)
    return table


@pytest.fixture(scope="module")
def source(base) -> str:
    """One file whose keys span the whole range, so nothing is pruned before the keys are computed; queries use 7."""
    spark = session.get()
    tables.create(spark, SOURCE, DDL)
    rows = [row(7, -1.0), row(0, 1.0), row(5_999_999, 1.0), (None, None, None, None, -2.0), row(7, 3.0)]
    tables.append(spark, SOURCE, [rows], SENT, select=SELECT)
    product.build(spark, SOURCE)
    return SOURCE


@pytest.mark.parametrize("key", PARTITIONS)
def test_a_join_reads_the_partitions_of_its_keys(spark, source, key: str) -> None:
    by, files = PARTITIONS[key]
    table = create(spark, "parted", by)
    at_run_time = f"SELECT t.* FROM {table} t JOIN {source} s ON t.{key} = s.{key} WHERE s.d < 0"
    at_plan_time = (
        f"SELECT t.* FROM {table} t JOIN (SELECT MAX({key}) k FROM {source} WHERE d < 0 GROUP BY d) s ON t.{key} = s.k"
    )
    literal = f"SELECT t.* FROM {table} t JOIN VALUES (7L), (23L) AS v(id) ON t.id = v.id"
    for query, read in ((at_run_time, 1), (at_plan_time, 1), (literal, 2 if key == "id" else files)):
        with product.off(spark):
            expected = spark.sql(query).collect()
        done = plans.execute(spark.sql(query))
        assert_same_rows(done.rows, expected, query)
        assert (sum("/parted/" in path for path in done.files), len(done.rows) > 0) == (read, True), query


def test_a_null_among_partitions_of_texts(spark, source) -> None:
    """Iceberg's own filter by keys fails on the null, and so does the query."""
    table = create(spark, "parted", PARTITIONS["s"][0])
    query = f"SELECT t.* FROM {table} t JOIN {source} s ON t.s = s.s WHERE s.d IN (-1.0, 1.0)"
    with product.off(spark), product.raw_conf(spark, {"spark.sql.optimizer.dynamicPartitionPruning.enabled": "false"}):
        expected = spark.sql(query).collect()
    done = plans.execute(spark.sql(query))
    assert_same_rows(done.rows, expected, query)
    assert 0 < sum("/parted/" in path for path in done.files) <= 3


def cuts(spark, table: str, statement: str, key: str) -> list[tuple[int, int]]:
    """Runs a statement; returns the number of files before and after each cut by keys."""
    mark = len(session.log_lines())
    spark.sql(statement)
    found = (
        re.search(rf"table={table} join_keys={key} keys=\d+ files_before=(\d+) files_after=(\d+) ", line)
        for line in session.log_lines()[mark:]
    )
    return [(int(c.group(1)), int(c.group(2))) for c in found if c]


COMMANDS = {
    "upsert": (
        "id",
        "MERGE INTO {t} t USING (SELECT * FROM {s} WHERE d <= 1 AND d > -2) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = s.d WHEN NOT MATCHED THEN INSERT *",
        3,
    ),
    "delete": ("s", "DELETE FROM {t} WHERE s IN (SELECT s FROM {s} WHERE d < 0)", 1),
    "update": ("ts", "UPDATE {t} t SET d = -t.d WHERE EXISTS (SELECT 1 FROM {s} s WHERE s.ts = t.ts AND s.d < 0)", 1),
}


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("command", COMMANDS)
def test_row_level_commands_read_the_partitions_of_their_keys(spark, source, mode: str, command: str) -> None:
    key, statement, partitions = COMMANDS[command]
    by, files = PARTITIONS[key]
    stock, ours = create(spark, "stock", by, mode), create(spark, "ours", by, mode)
    with product.off(spark):
        spark.sql(statement.format(t=stock, s=source))
    found = cuts(spark, ours, statement.format(t=ours, s=source), key)
    assert max(before for before, _ in found) >= files - 1 and 0 < found[-1][1] <= partitions, found
    with product.off(spark):
        assert_same_rows(spark.table(ours).collect(), spark.table(stock).collect(), statement)
        assert commands.summary(spark, ours) == commands.summary(spark, stock)
