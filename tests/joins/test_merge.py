"""MERGE reads only the target's files that its source's keys can be in; what it writes is what it writes without the product."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import product, session, tables
from support.compare import assert_same_rows
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="asserts what the product reads")
FILES = 40
# Sizes differ with the paths inside delete files and footers; ids name applications.
NOT_COMPARED = ("size", "app-id", "bytes", "version")
ONE_TASK = {"read.split.adaptive-size.enabled": "false", "read.split.open-file-cost": "1"}

KEYS = "USING (SELECT id, d FROM lake.merge.src WHERE c = 2) s ON t.id = s.id"
UPDATE = "WHEN MATCHED THEN UPDATE SET d = s.d"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, s, d, m) VALUES (s.id, 'new', s.d, 0)"
MERGES = {
    "update": f"{KEYS} {UPDATE}",
    "upsert": f"{KEYS} {UPDATE} {INSERT}",
    "delete and insert": f"{KEYS} WHEN MATCHED AND t.m = 4 THEN DELETE {UPDATE} {INSERT}",
    "another condition": f"{KEYS} AND t.m > 2 {UPDATE} {INSERT}",
    "rows of the command": f"USING (SELECT * FROM VALUES (77L, 1D), (78L, 2D), (301L, 3D), (9000L, 4D), (NULL, 5D) AS v(id, d)) s ON t.id = s.id {UPDATE} {INSERT}",
    "itself": "USING (SELECT id, d + 1 AS d FROM {t} WHERE m = 3 AND id BETWEEN 13 AND 55) s ON t.id = s.id "
    + f"{UPDATE} {INSERT}",
}
NOT_CUT = {
    "not matched by source": f"{KEYS} {UPDATE} {INSERT} WHEN NOT MATCHED BY SOURCE AND t.id < 20 THEN DELETE",
    "random source": f"USING (SELECT id + CAST(rand() * 0 AS BIGINT) AS id, d FROM lake.merge.src WHERE c = 2) s ON t.id = s.id {UPDATE} {INSERT}",
    "insert only": f"{KEYS} {INSERT}",
    "null safe": f"USING (SELECT id, d FROM lake.merge.src WHERE c = 2) s ON t.id <=> s.id {UPDATE} {INSERT}",
}


@pytest.fixture(scope="module")
def source(base) -> str:
    spark = session.get()
    tables.create(spark, "lake.merge.src", "id BIGINT, d DOUBLE, c INT")
    tables.append(
        spark, "lake.merge.src", [[(i * 20, -1.0 - i, i % 5) for i in range(25)]], "id BIGINT, d DOUBLE, c INT"
    )
    product.build(spark, "lake.merge.src")
    return "lake.merge.src"


def target(spark, name: str, mode: str, version: int = 2) -> str:
    table = f"lake.merge.{name}"
    props = ONE_TASK | {f"write.{command}.mode": mode for command in ("delete", "update", "merge")}
    tables.create(spark, table, tables.RANGES_DDL, version=version, props=props)
    tables.append(spark, table, tables.ranges(FILES, 10), tables.RANGES_DDL)
    product.build(spark, table)
    return table


def summary(spark, table: str) -> tuple[str, dict[str, str]]:
    row = spark.sql(f"SELECT operation, summary FROM {table}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[0]
    return row.operation, {k: v for k, v in row.summary.items() if not any(word in k for word in NOT_COMPARED)}


def both(spark, mode: str, merge: str) -> list[tuple[int, int]]:
    """Merges into twins; the cuts (files before, after) that the product made."""
    stock, ours = target(spark, "stock", mode), target(spark, "ours", mode)
    with product.off(spark):
        spark.sql(f"MERGE INTO {stock} t " + merge.replace("{t}", stock))
    mark = len(session.log_lines())
    with product.on(spark):
        spark.sql(f"MERGE INTO {ours} t " + merge.replace("{t}", ours))
    lines = session.log_lines()[mark:]
    assert not session.warnings_since(mark)
    with product.off(spark):
        assert_same_rows(
            spark.sql(f"SELECT * FROM {ours}").collect(), spark.sql(f"SELECT * FROM {stock}").collect(), merge
        )
        assert summary(spark, ours) == summary(spark, stock), merge
    cuts = [re.search(r"table=lake.merge.ours join pruning on id: (\d+) -> (\d+) files by", line) for line in lines]
    return [(int(c.group(1)), int(c.group(2))) for c in cuts if c]


@pytest.mark.parametrize("merge", MERGES)
def test_merge_on_read_scans_files_that_keys_can_be_in(spark, source, merge: str) -> None:
    before, after = both(spark, "merge-on-read", MERGES[merge])[-1]
    assert (before, after <= 5) == (FILES, True)


@pytest.mark.parametrize("merge", ["upsert", "rows of the command"])
def test_copy_on_write_looks_for_keys_in_files_they_can_be_in(spark, source, merge: str) -> None:
    before, after = both(spark, "copy-on-write", MERGES[merge])[-1]
    assert after <= before <= FILES and after <= 5


@pytest.mark.parametrize("merge", NOT_CUT)
def test_merges_that_are_left_alone(spark, source, merge: str) -> None:
    assert both(spark, "merge-on-read", NOT_CUT[merge]) == []


def test_deletion_vectors_are_carried_on(spark, source) -> None:
    """A second MERGE over the files of the first has to rewrite their deletion vectors."""
    stock, ours = target(spark, "stock", "merge-on-read", 3), target(spark, "ours", "merge-on-read", 3)
    for merge in (MERGES["upsert"], f"{KEYS.replace('t.id = s.id', 't.id = s.id + 1')} {UPDATE}", MERGES["update"]):
        with product.off(spark):
            spark.sql(f"MERGE INTO {stock} t {merge}")
        with product.on(spark):
            spark.sql(f"MERGE INTO {ours} t {merge}")
        with product.off(spark):
            assert summary(spark, ours) == summary(spark, stock), merge
            query = "SELECT *, _row_id, _last_updated_sequence_number FROM {}"
            assert_same_rows(spark.sql(query.format(ours)).collect(), spark.sql(query.format(stock)).collect(), merge)


def test_a_commit_outside_the_files_read_is_still_a_conflict(spark, source, tmp_path) -> None:
    """Keys are no part of what Iceberg checks new commits against: any new file may hold rows that match."""
    table = target(spark, "ours", "merge-on-read")
    started, go_on = str(tmp_path / "started"), str(tmp_path / "go_on")

    def slow(value: float) -> float:
        import pathlib
        import time

        pathlib.Path(started).touch()
        deadline = time.time() + 60
        while not pathlib.Path(go_on).exists() and time.time() < deadline:
            time.sleep(0.05)
        return value

    spark.udf.register("slow", slow, "double")
    merge = f"MERGE INTO {table} t {KEYS} WHEN MATCHED THEN UPDATE SET d = slow(s.d)"
    mark = len(session.log_lines())
    with ThreadPoolExecutor(1) as pool:
        merging = pool.submit(spark.sql, merge)
        deadline = time.time() + 60
        while not Path(started).exists() and time.time() < deadline:
            time.sleep(0.05)
        tables.append(spark, table, [[(40, "late", 0.0, 0)]], tables.RANGES_DDL)
        Path(go_on).touch()
        with pytest.raises(Exception, match="conflict"):
            merging.result(90)
    assert any("join pruning on id" in line for line in session.log_lines()[mark:])
