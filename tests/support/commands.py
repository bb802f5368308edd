# SPDX-License-Identifier: Apache-2.0
"""Row-level commands on twins: two equal tables of which the product plans one and Iceberg alone plans the other."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support import loglines, product, session, tables
from support.compare import assert_same_rows

FILES = 40
#: Table of join keys. The keys with one value of `c` are in one tenth of a target's files.
SOURCE = "lake.merge.src"
# Sizes depend on the paths within delete files and footers, and ids on the application.
NOT_COMPARED = ("size", "app-id", "bytes", "version")
ONE_TASK = {"read.split.adaptive-size.enabled": "false", "read.split.open-file-cost": "1"}


def create_source(spark) -> str:
    tables.create(spark, SOURCE, "id BIGINT, d DOUBLE, c INT")
    tables.append(spark, SOURCE, [[(i * 20, -1.0 - i, i % 5) for i in range(25)]], "id BIGINT, d DOUBLE, c INT")
    product.build(spark, SOURCE)
    return SOURCE


def create_target(spark, name: str, mode: str, version: int = 2, props: dict[str, str] | None = None) -> str:
    """Creates a table of FILES files with ten ascending ids each."""
    table = f"lake.merge.{name}"
    modes = {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    tables.create(spark, table, tables.RANGES_DDL, version=version, props=ONE_TASK | modes | (props or {}))
    tables.append(spark, table, tables.ranges(FILES, 10), tables.RANGES_DDL)
    product.build(spark, table)
    return table


def create_twins(spark, mode: str, version: int = 2) -> tuple[str, str]:
    return create_target(spark, "stock", mode, version), create_target(spark, "ours", mode, version)


def summary(spark, table: str) -> tuple[str, dict[str, str]]:
    row = spark.sql(f"SELECT operation, summary FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[0]
    return row.operation, {k: v for k, v in row.summary.items() if not any(word in k for word in NOT_COMPARED)}


def run_on_twins(
    spark, twins: tuple[str, str], statement: str, columns: str = "*", key: str = "id"
) -> list[tuple[int, int]]:
    """Runs a statement about ``{t}`` on both twins and asserts equal rows and snapshot summaries.

    Returns:
        For each pruning by `key`: the number of files before and after.
    """
    stock, ours = twins
    with product.off(spark):
        spark.sql(statement.replace("{t}", stock))
    mark = len(session.log_lines())
    with product.on(spark):
        spark.sql(statement.replace("{t}", ours))
    lines = session.log_lines()[mark:]
    assert not session.warnings_since(mark)
    with product.off(spark):
        query = f"SELECT {columns} FROM {{}}"
        assert_same_rows(spark.sql(query.format(ours)).collect(), spark.sql(query.format(stock)).collect(), statement)
        assert summary(spark, ours) == summary(spark, stock), statement
    return loglines.join_cuts(lines, ours, key)


def run_meanwhile(spark, scratch: Path, statement: str, meanwhile: Callable[[], None]) -> None:
    """Runs a statement that calls ``slow(double)``, and calls ``meanwhile`` once the statement has read a row."""
    started, go_on = str(scratch / "started"), str(scratch / "go_on")

    def slow(value: float) -> float:
        import pathlib
        import time

        pathlib.Path(started).touch()
        deadline = time.time() + 60
        while not pathlib.Path(go_on).exists() and time.time() < deadline:
            time.sleep(0.05)
        return value

    spark.udf.register("slow", slow, "double")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(spark.sql, statement)
        deadline = time.time() + 60
        while not Path(started).exists() and time.time() < deadline:
            time.sleep(0.05)
        meanwhile()
        Path(go_on).touch()
        running.result(90)
