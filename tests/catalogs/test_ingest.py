# SPDX-License-Identifier: Apache-2.0
"""Append ingestion in every kind of catalog, and through a REST catalog that loses, delays and repeats commits."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest import lake
from support import product, session
from support.compare import assert_planned_by_index, assert_rows_equal_off_on
from support.faulty_proxy import (
    BROKEN,
    BUSY,
    FAULTS,
    GATEWAY,
    LATE,
    TWICE,
    UNANSWERED,
    UNSENT,
    FaultyProxy,
    faulty_proxy,
)
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

APPENDS = 3  # of each round of a faulty catalog
TURNS = 40  # calls of the committer after which an append that is not visible is lost
MIXED_ROUNDS = 6
SEED = os.environ.get("ZONEMAP_SEED") or str(random.SystemRandom().randrange(10**6))


def make(spark, table: str) -> str:
    catalog, namespace, _ = table.split(".")
    parent = namespace if catalog == "spark_catalog" else f"{catalog}.{namespace}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {parent}")
    spark.sql(f"CREATE TABLE {table} (id BIGINT, device INT) USING iceberg")
    return table


def append(spark, table: str, start: int, end: int) -> None:
    frame = spark.range(start, end, 1, 1).selectExpr("id", "CAST(id % 3 AS INT) AS device")
    frame.write.format("zonemap-ingest").mode("append").save(table)


def commit_all(spark, table: str) -> list[str]:
    """Calls the committer until no append is pending; returns the outcomes of all calls."""
    outcomes: list[str] = []
    for _ in range(TURNS):
        outcomes += [row.outcome for row in product.call(spark, "ingest_commit", table, ", timeout_seconds => 20")]
        if product.call(spark, "ingest_status", table)[0].pending_records == 0:
            return outcomes
        time.sleep(0.1)
    raise AssertionError(f"appends to {table} are still pending after {outcomes}")


def assert_each_append_is_visible_once(spark, table: str, rows: int) -> None:
    """Asserts that Iceberg alone reads ids 0 to `rows`, each once, and that no snapshot adds a file again."""
    with product.off(spark):
        spark.sql(f"REFRESH TABLE {table}")
        ids = sorted(row.id for row in spark.sql(f"SELECT id FROM {table}").collect())
        paths = [row[0] for row in spark.sql(f"SELECT file_path FROM {table}.files").collect()]
        added = spark.sql(f"SELECT sum(CAST(summary['added-data-files'] AS INT)) FROM {table}.snapshots").collect()[0][
            0
        ]
    assert ids == list(range(rows))
    assert len(paths) == len(set(paths)) == added


@pytest.mark.parametrize("table", ["jdbc.ingested.t", "rest.ingested.t", "hive.ingested.t", "spark_catalog.ingested.t"])
def test_appends_become_visible_and_are_planned_from_the_index(catalogs, table: str) -> None:
    make(catalogs, table)
    append(catalogs, table, 0, 50)
    append(catalogs, table, 50, 100)
    assert commit_all(catalogs, table) == ["committed"]
    product.build(catalogs, table)
    append(catalogs, table, 100, 150)
    assert commit_all(catalogs, table) == ["committed"]
    assert_each_append_is_visible_once(catalogs, table, 150)
    status = product.call(catalogs, "ingest_status", table)[0]
    # A Hadoop catalog cannot commit atomically on every store; the status of its table says so.
    assert bool(status.warning) == table.startswith("spark_catalog"), status.warning
    sql = f"SELECT * FROM {table} WHERE id BETWEEN 40 AND 60"
    assert_planned_by_index(catalogs, sql)
    assert_rows_equal_off_on(catalogs, sql, at_least=21)


@pytest.mark.parametrize(("catalog", "kind"), [("rest", "SparkCatalog"), ("spark_catalog", "SparkSessionCatalog")])
def test_the_process_without_a_session_commits(catalogs, rest_url: str, base: Path, catalog: str, kind: str) -> None:
    table = make(catalogs, f"{catalog}.ingested.process")
    append(catalogs, table, 0, 50)
    places = {
        "rest": {"type": "rest", "uri": rest_url},
        "spark_catalog": {"type": "hadoop", "warehouse": base / "session"},
    }
    confs = {
        "spark.jars": session.iceberg_jar(),
        f"spark.sql.catalog.{catalog}": f"org.apache.iceberg.spark.{kind}",
        **{f"spark.sql.catalog.{catalog}.{key}": value for key, value in places[catalog].items()},
    }
    settings = [part for key, value in confs.items() for part in ("--conf", f"{key}={value}")]
    log = base / f"process-{catalog}.log"
    process = lake.start_python(["zonemap", "commit-loop", table, "--every", "0.2", *settings], log)
    try:
        append(catalogs, table, 50, 100)
        states = [row.state for row in product.call(catalogs, "ingest_wait", table, ", timeout_seconds => 120")]
        assert set(states) <= {"visible"}, log.read_text()
        process.terminate()
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
    assert f"{table}: 2 records committed, 100 rows; 0 pending" in log.read_text()
    assert_each_append_is_visible_once(catalogs, table, 100)


@pytest.fixture(scope="module")
def faulty(catalogs, rest_url: str) -> Iterator[FaultyProxy]:
    """The proxy, behind which the catalog `faulty` of the session is."""
    with faulty_proxy(rest_url) as (proxy, url):
        catalogs.conf.set("spark.sql.catalog.faulty", "org.apache.iceberg.spark.SparkCatalog")
        catalogs.conf.set("spark.sql.catalog.faulty.type", "rest")
        catalogs.conf.set("spark.sql.catalog.faulty.uri", url)
        yield proxy


@pytest.mark.parametrize(
    ("fault", "answers"),
    [
        (UNSENT, [200]),
        (UNANSWERED, [200]),
        (LATE, [200, 409]),  # the repeated commit, then the late one, which the catalog refuses
        (TWICE, [200, 409]),
        (GATEWAY, [200]),
        (BUSY, [200]),
        (BROKEN, [200]),
    ],
)
def test_a_fault_of_a_commit_neither_loses_nor_doubles_appends(
    catalogs, faulty: FaultyProxy, fault: str, answers: list[int]
) -> None:
    table = make(catalogs, f"faulty.ingested.{fault}")
    for number in range(APPENDS):
        append(catalogs, table, number * 10, number * 10 + 10)
    faulty.plan([fault])
    outcomes = commit_all(catalogs, table)
    faulty.wait_for_late_requests()
    assert not faulty.planned(), "the fault must have met a commit"
    assert faulty.answers() == answers
    assert outcomes == (["unresolved", "committed"] if fault in (UNSENT, LATE, BROKEN) else ["committed"])
    assert_each_append_is_visible_once(catalogs, table, APPENDS * 10)


def test_a_late_commit_that_lands_before_the_next_call_is_not_sent_again(catalogs, faulty: FaultyProxy) -> None:
    table = make(catalogs, "faulty.ingested.landed")
    append(catalogs, table, 0, 10)
    faulty.plan([LATE])
    assert [row.outcome for row in product.call(catalogs, "ingest_commit", table)] == ["unresolved"]
    faulty.wait_for_late_requests()
    append(catalogs, table, 10, 20)
    commit_all(catalogs, table)
    assert faulty.answers() == [200, 200], "one commit for each append"
    assert_each_append_is_visible_once(catalogs, table, 20)


def test_faults_in_a_row_neither_lose_nor_double_appends(catalogs, faulty: FaultyProxy) -> None:
    rng = random.Random(SEED)
    table = make(catalogs, "faulty.ingested.mixed")
    rows = 0
    for _ in range(MIXED_ROUNDS):
        for _ in range(APPENDS):
            append(catalogs, table, rows, rows + 5)
            rows += 5
        planned = rng.choices(FAULTS, k=rng.randrange(1, 4))
        print(f"ZONEMAP_SEED={SEED}: {planned}")
        faulty.plan(planned)
        commit_all(catalogs, table)
    faulty.plan([])
    faulty.wait_for_late_requests()
    assert_each_append_is_visible_once(catalogs, table, rows)
