# SPDX-License-Identifier: Apache-2.0
"""EXPLAIN and the metrics of a scan count the files and bytes of each step of a plan, as the table's files show them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import plans, product, session, tables
from support.compare import explain
from support.session import SPARK, STOCK

pytestmark = [
    pytest.mark.skipif(STOCK, reason="about the product"),
    pytest.mark.usefixtures("without_rows_of_small_tables"),
]

FILES = 32
COLUMNS = "id BIGINT, day INT, x BIGINT, s STRING"
SUPPORT = Path(__file__).resolve().parents[1] / "support"
PREFIX = "zonemapFiles"
#: Whether the text of an execution has the section of an extension.
HAS_SECTION = SPARK >= (4, 0)


@pytest.fixture
def counting(spark) -> Iterator[None]:
    """Executions count the steps of their plans."""
    with product.raw_conf(spark, {"spark.sql.zonemap.steps.enabled": "true"}):
        yield


@pytest.fixture(scope="module")
def events(lake) -> str:
    """events: partitions day 0 to 3 with 8 files each; file f of day d has ids 10f to 10f + 9 and x = 1000d + id. Each
    file has 10 of 80 values of s, whose bounds overlap. keys: one file with every tenth x of the whole range."""
    spark = session.get()
    table = tables.create(spark, "lake.q.staged", COLUMNS, partitioned="day")
    slices = [
        [(i, day, 1000 * day + i, f"k{i * 37 % 80:02d}") for i in range(file * 10, file * 10 + 10)]
        for day in range(4)
        for file in range(8)
    ]
    tables.append(spark, table, slices, COLUMNS)
    spark.sql(f"CALL zonemap.system.build_index(table => '{table}', facts => 'values(s)', max_fact_share => 100.0)")
    keys = tables.create(spark, "lake.q.staged_keys", "k BIGINT, name STRING")
    tables.append(spark, keys, [[(k, f"n{k}") for k in range(0, 3080, 10)]], "k BIGINT, name STRING")
    product.build(spark, keys)
    return table


@pytest.fixture(scope="module")
def sizes(events: str) -> dict[str, int]:
    with product.off(session.get()):
        rows = session.get().sql(f"SELECT file_path, file_size_in_bytes FROM {events}.files").collect()
    return {row[0]: row[1] for row in rows}


def total(events: str, condition: str) -> str:
    """The files and bytes of files with a condition, as EXPLAIN prints them."""
    with product.off(session.get()):
        query = f"SELECT count(*), sum(file_size_in_bytes) FROM {events}.files WHERE {condition}"
        files, size = session.get().sql(query).first()
    return f"{files}, {text(size)}"


def text(size: int) -> str:
    assert size < 1_000_000
    return f"{-(-size // 100) / 10:.1f} KB"


LOW_ID = "readable_metrics.id.lower_bound < 30"
HIGH_X = "readable_metrics.x.upper_bound >= 2010"


def test_each_deciding_column_has_a_line(spark, events: str) -> None:
    section = explain(spark, f"SELECT * FROM {events} WHERE day = 2 AND id < 30 AND x >= 2010")
    in_day, low = "partition.day = 2", f"partition.day = 2 AND {LOW_ID}"
    chain = [total(events, c) for c in ("true", in_day, low, f"{low} AND {HIGH_X}")]
    assert f"  files considered: {chain[0]}\n  kept after partitions: {chain[1]}\n" in section
    assert f"  kept after zones: {chain[3]}\n    bounds of id: {arrow(*chain[1:3])}\n" in section
    assert f"\n    bounds of x: {arrow(*chain[2:])}\n" in section
    assert "bounds of day" not in section
    assert [c.split(",")[0] for c in chain] == ["32", "8", "3", "2"]


def arrow(before: str, after: str) -> str:
    (files_before, bytes_before), (files_after, bytes_after) = before.split(", "), after.split(", ")
    return f"{files_before} -> {files_after} files, {bytes_before} -> {bytes_after}"


#: By name: the query, the files that it reads, and the metrics of files that are not 0.
CASES = {
    "partition": ("SELECT * FROM {t} WHERE day = 1", 8, {"SkippedByPartitions": 24}),
    "bounds": ("SELECT * FROM {t} WHERE x BETWEEN 2015 AND 2025", 2, {"SkippedByBounds": 30}),
    "both": (
        "SELECT * FROM {t} WHERE day = 2 AND id < 30 AND x >= 2010",
        2,
        {"SkippedByPartitions": 24, "SkippedByBounds": 6},
    ),
    "function": ("SELECT * FROM {t} WHERE x + 1 = 2016", 1, {"SkippedByBounds": 31}),
    "facts": ("SELECT * FROM {t} WHERE s = 'k37'", 4, {"SkippedByFacts": 28}),
    "never true": ("SELECT * FROM {t} WHERE id = 1000", 0, {"SkippedByBounds": 32}),
    "top-k": ("SELECT id FROM {t} ORDER BY x DESC LIMIT 3", 1, {"SkippedByTopK": 31}),
    "limit": ("SELECT id FROM {t} LIMIT 5", 1, {"SkippedByLimit": 31}),
    "limit of a part": (
        "SELECT id FROM {t} WHERE x < 1000 LIMIT 5",
        1,
        {"SkippedByBounds": 24, "SkippedByLimit": 7},
    ),
    "aggregate": (
        "SELECT count(*) FROM {t} WHERE id < 25",
        4,
        {"SkippedByBounds": 20, "Answered": 8},
    ),
    "static join": (
        "SELECT id FROM {t} JOIN VALUES (2015L), (2016L) AS v(k) ON x = k",
        1,
        {"SkippedByJoinKeys": 31},
    ),
    "join at run time": (
        "SELECT id FROM {t} JOIN {t}_keys ON x = k WHERE name IN ('n10', 'n3070')",
        2,
        {"SkippedByJoinKeys": 30},
    ),
    "all files": ("SELECT * FROM {t} WHERE length(s) = 3", 32, {}),
}


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("case", CASES)
def test_metrics_sum_up_to_the_files_that_are_not_read(
    spark, events: str, sizes, case: str, adaptive: str, counting: None
) -> None:
    query, files, expected = CASES[case]
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": adaptive}):
        done = plans.execute(spark.sql(query.format(t=events)))
    read = {path for path in done.files if path in sizes}
    found = next(m for m in done.metrics if any(name.startswith(PREFIX) for name in m) or len(done.metrics) == 1)
    ours = {name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX) and value}
    assert (len(read), ours) == (files, expected)
    assert sum(ours.values()) == FILES - len(read)
    assert found["zonemapBytesSkipped"] == sum(size for path, size in sizes.items() if path not in read)
    assert sum(name.startswith("zonemap") for name in found) <= 8


def test_rows_are_read_from_the_files_of_the_last_line(spark, events: str, sizes) -> None:
    query = f"FROM {events} WHERE day = 2 AND id < 30 AND x >= 2010"
    with product.off(spark):
        holding = {r[0] for r in spark.sql(f"SELECT DISTINCT input_file_name() {query}").collect()}
    held = sum(size for path, size in sizes.items() if any(name.endswith(path) for name in holding))
    assert f"kept after zones: {len(holding)}, {text(held)}" in explain(spark, f"SELECT * {query}")


def section_of(frame) -> str:
    return frame._sc._jvm.zonemap.spark.ZoneMapExplain().generateExtendedInfo(
        frame._jdf.queryExecution().executedPlan()
    )


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_join_keys_are_estimated_before_and_counted_after_the_run(spark, events: str, sizes, adaptive: str) -> None:
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(CASES["join at run time"][0].format(t=events))
        assert "join pruning on x: at run time, one key is in about 1 of 32 files" in section_of(frame)
        read = {path for path in plans.execute(frame).files if path in sizes}
    change = f"{text(sum(sizes.values()))} -> {text(sum(sizes[path] for path in read))}"
    assert f"join pruning on x: 32 -> 2 files, {change}" in section_of(frame)


def test_subqueries_and_cached_plans_have_their_own_lines(spark, events: str) -> None:
    inner = f"SELECT max(k) FROM {events}_keys WHERE k < 100 AND name <> 'n1'"
    section = explain(spark, f"SELECT * FROM {events} WHERE day = 1 AND x > ({inner})")
    assert section.count("mode EXACT") == 2 and "kept after partitions: 8, " in section
    frame = spark.sql(f"SELECT * FROM {events} WHERE day = 1").cache()
    try:
        assert frame.where("id > 3").count() == 76
        section = section_of(frame.where("id > 3"))
    finally:
        frame.unpersist()
    assert "kept after partitions: 8, " in section
    assert "cached: Spark reads these files when it fills its cache, and not again" in section


def test_executions_count_no_steps_by_default(spark, events: str, sizes) -> None:
    (found,) = plans.execute(spark.sql(CASES["both"][0].format(t=events))).metrics
    assert not any(name.startswith("zonemap") for name in found) and found["skippedDataFiles"] == 30
    query = CASES["join at run time"][0].format(t=events)
    joined = [m.get("zonemapFilesSkippedByJoinKeys") for m in plans.execute(spark.sql(query)).metrics]
    assert 30 in joined, "keys at run time are counted by the removal of files"


@pytest.mark.skipif(
    not HAS_SECTION, reason="Spark 3.5: the section Zonemap in `DataFrame.explain()` and in the UI; EXPLAIN has it"
)
def test_the_text_of_an_execution_counts_no_steps_by_default(spark, events: str, sizes, tmp_path) -> None:
    (ran,) = starts(logged(spark, [CASES["both"][0].format(t=events)], tmp_path))
    assert "kept after partitions" not in ran and "kept after zones: 2\n" in ran


def starts(log: Path) -> list[str]:
    """The plan of each execution of an event log, as the SQL tab shows it."""
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [e["physicalPlanDescription"] for e in events if e["Event"].endswith("SparkListenerSQLExecutionStart")]


def test_a_history_server_without_the_product_shows_metrics_and_text(
    spark, events: str, sizes, tmp_path, counting: None
) -> None:
    target = tables.create(spark, "lake.q.staged_target", COLUMNS, props={"write.merge.mode": "merge-on-read"})
    spark.sql(f"INSERT INTO {target} SELECT * FROM {events}")
    product.build(spark, target)
    queries = [CASES[case][0].format(t=events) for case in ("both", "facts", "join at run time", "top-k", "aggregate")]
    queries.append(
        f"MERGE INTO {target} t USING (SELECT * FROM {events}_keys WHERE name = 'n3070') s ON t.x = s.k "
        "WHEN MATCHED THEN UPDATE SET s = s.name"
    )
    log = logged(spark, queries, tmp_path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    printed = subprocess.run(
        [sys.executable, str(SUPPORT / "history.py"), str(log)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    executions = json.loads(printed.stdout.splitlines()[-1])["executions"]
    metrics = [
        {name: (kind, value) for name, kind, value in e["metrics"] if "data files pruned" in name or "answered" in name}
        for e in executions
    ]
    assert all(kind in ("sum", "size") for found in metrics for kind, _ in found.values()), metrics
    by_name = [
        {n.removeprefix("number of data files "): v for n, (k, v) in m.items() if k == "sum" and v != "0"}
        for m in metrics
    ]
    for wanted in (
        {"pruned by partitions": "24", "pruned by bounds": "6"},
        {"pruned by facts": "28"},
        {"pruned by join keys": "30"},
        {"pruned by a top-k bound": "31"},
        {"pruned by bounds": "20", "answered from the index": "8"},
    ):
        assert wanted in by_name, by_name
    merged = [m for m, e in zip(by_name, executions, strict=True) if target in e["plan"]]
    assert any("pruned by join keys" in found for found in merged), merged
    sized = next(m for m in metrics if m.get("number of data files pruned by partitions", ("", ""))[1] == "24")
    assert re.fullmatch(r"[\d.]+ KiB", sized["size of data files pruned or answered from the index"][1]), sized
    assert any("bounds of x: 3 -> 2 files, " in e["plan"] for e in executions) == HAS_SECTION


def logged(spark, queries: list[str], folder: Path) -> Path:
    """Runs queries while Spark writes an event log; returns the log."""
    jvm, context = spark._jvm, spark._jsc.sc()
    conf = context.conf().set("spark.eventLog.rolling.enabled", "false").set("spark.eventLog.compress", "false")
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "app", none, jvm.java.net.URI(f"file://{folder}"), conf, context.hadoopConfiguration()
    )
    listener.start()
    context.listenerBus().waitUntilEmpty()
    context.addSparkListener(listener)
    for query in queries:
        spark.sql(query).collect()
    context.listenerBus().waitUntilEmpty()
    context.removeSparkListener(listener)
    listener.stop()
    (log,) = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return log
