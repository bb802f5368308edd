# SPDX-License-Identifier: Apache-2.0
"""MERGE reads only the target files that may contain keys of its source, and writes the same as without the product."""

from __future__ import annotations

import pytest
from support import commands, session, tables
from support.commands import FILES, SOURCE
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="asserts what the product reads")

KEYS = f"USING (SELECT id, d FROM {SOURCE} WHERE c = 2) s ON t.id = s.id"
UPDATE = "WHEN MATCHED THEN UPDATE SET d = s.d"
INSERT = "WHEN NOT MATCHED THEN INSERT (id, s, d, m) VALUES (s.id, 'new', s.d, 0)"
MERGES = {
    "update": f"{KEYS} {UPDATE}",
    "upsert": f"{KEYS} {UPDATE} {INSERT}",
    "insert only": f"{KEYS} {INSERT}",
    "delete and insert": f"{KEYS} WHEN MATCHED AND t.m = 4 THEN DELETE {UPDATE} {INSERT}",
    "another condition": f"{KEYS} AND t.m > 2 {UPDATE} {INSERT}",
    "rows of the command": f"USING (SELECT * FROM VALUES (77L, 1D), (78L, 2D), (301L, 3D), (9000L, 4D), (NULL, 5D) AS v(id, d)) s ON t.id = s.id {UPDATE} {INSERT}",
    "itself": "USING (SELECT id, d + 1 AS d FROM {t} WHERE m = 3 AND id BETWEEN 13 AND 55) s ON t.id = s.id "
    + f"{UPDATE} {INSERT}",
}
NOT_CUT = {
    "not matched by source": f"{KEYS} {UPDATE} {INSERT} WHEN NOT MATCHED BY SOURCE AND t.id < 20 THEN DELETE",
    "null safe": f"USING (SELECT id, d FROM {SOURCE} WHERE c = 2) s ON t.id <=> s.id {UPDATE} {INSERT}",
}


@pytest.fixture(scope="module")
def source(base) -> str:
    return commands.create_source(session.get())


def both(spark, mode: str, merge: str) -> list[tuple[int, int]]:
    """Merges into twins; returns the cuts (files before, files after) that the product made."""
    return commands.run_on_twins(spark, commands.create_twins(spark, mode), "MERGE INTO {t} t " + merge)


@pytest.mark.parametrize("merge", MERGES)
def test_merge_on_read_scans_files_that_keys_can_be_in(spark, source, merge: str) -> None:
    before, after = both(spark, "merge-on-read", MERGES[merge])[-1]
    assert (before, after <= 5) == (FILES, True)


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("clauses", [UPDATE, UPDATE + " WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.first, s.d)"])
def test_ranges_of_the_source(spark, source, clauses: str, mode: str) -> None:
    """Four of the five rows of the source are ranges of three ids within one file of the target each."""
    ranges = f"(SELECT id + 3 AS first, id + 5 AS last, d FROM {SOURCE} WHERE c = 2)"
    merge = f"MERGE INTO {{t}} t USING {ranges} s ON t.id BETWEEN s.first AND s.last {clauses}"
    twins = commands.create_twins(spark, mode)
    before, after = commands.run_on_twins(spark, twins, merge, key="the range of id")[-1]
    assert (before, after) == (FILES, 4)


@pytest.mark.parametrize("merge", ["upsert", "rows of the command"])
def test_copy_on_write_looks_for_keys_in_files_they_can_be_in(spark, source, merge: str) -> None:
    before, after = both(spark, "copy-on-write", MERGES[merge])[-1]
    assert after <= before <= FILES and after <= 5


@pytest.mark.parametrize("merge", NOT_CUT)
def test_merges_that_are_left_alone(spark, source, merge: str) -> None:
    assert both(spark, "merge-on-read", NOT_CUT[merge]) == []


def test_deletion_vectors_are_carried_on(spark, source) -> None:
    """A second MERGE over the files of the first must rewrite their deletion vectors."""
    twins = commands.create_twins(spark, "merge-on-read", 3)
    shifted = f"{KEYS.replace('t.id = s.id', 't.id = s.id + 1')} {UPDATE}"
    for merge in (MERGES["upsert"], shifted, MERGES["update"]):
        commands.run_on_twins(spark, twins, f"MERGE INTO {{t}} t {merge}", "*, _row_id, _last_updated_sequence_number")


@pytest.mark.parametrize("level", ["serializable", "snapshot"])
@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_a_commit_outside_the_files_read_is_a_conflict_where_it_is_without(
    spark, source, tmp_path, mode: str, level: str
) -> None:
    """Iceberg does not use keys to check new commits for conflicts: any new file may contain matching rows."""
    table = commands.create_target(spark, "ours", mode, props={"write.merge.isolation-level": level})
    merge = f"MERGE INTO {table} t {KEYS} WHEN MATCHED THEN UPDATE SET d = slow(s.d)"
    mark = len(session.log_lines())

    def append() -> None:
        tables.append(spark, table, [[(40, "late", 0.0, 0)]], tables.RANGES_DDL)

    if level == "serializable":
        with pytest.raises(Exception, match="conflict"):
            commands.run_meanwhile(spark, tmp_path, merge, append)
    else:
        commands.run_meanwhile(spark, tmp_path, merge, append)
        assert [row.d for row in spark.sql(f"SELECT d FROM {table} WHERE id = 40 ORDER BY d").collect()] == [-3.0, 0.0]
    assert any("join_keys=id " in line for line in session.log_lines()[mark:])
