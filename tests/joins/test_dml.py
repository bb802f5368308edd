# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE by subquery on merge-on-read tables read only files that may contain keys of the subquery."""

from __future__ import annotations

import pytest
from support import commands, loglines, session, tables
from support.commands import FILES, SOURCE
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="asserts what the product reads")

KEYS = f"(SELECT id FROM {SOURCE} WHERE c = 2)"
EXISTS = f"EXISTS (SELECT 1 FROM {SOURCE} s WHERE s.id = t.id AND s.c = 2)"
CUT = {
    "delete in": f"DELETE FROM {{t}} WHERE id IN {KEYS}",
    "delete exists": f"DELETE FROM {{t}} AS t WHERE {EXISTS} AND t.m < 4",
    "delete of itself": "DELETE FROM {t} WHERE id IN (SELECT id + 100 FROM {t} WHERE id BETWEEN 33 AND 37)",
    "update in": f"UPDATE {{t}} SET d = -5.0, s = concat(s, '!') WHERE id IN {KEYS}",
    "update exists": f"UPDATE {{t}} AS t SET d = d + 1 WHERE {EXISTS}",
}
NOT_CUT = {
    "not in": f"DELETE FROM {{t}} WHERE id NOT IN {KEYS}",
    "under or": f"UPDATE {{t}} SET d = 0 WHERE id IN {KEYS} OR m = 3",
}


@pytest.fixture(scope="module")
def source(base) -> str:
    return commands.create_source(session.get())


@pytest.mark.parametrize("command", CUT)
def test_rows_and_summaries_are_those_of_stock_with_fewer_files_read(spark, source, command: str) -> None:
    twins = commands.create_twins(spark, "merge-on-read")
    before, after = commands.run_on_twins(spark, twins, CUT[command])[-1]
    assert (before, 1 <= after <= 5) == (FILES, True)


def test_keys_of_every_file_leave_out_none(spark, source) -> None:
    twins = commands.create_twins(spark, "merge-on-read")
    statement = "UPDATE {t} SET d = 1.5 WHERE id IN (SELECT id FROM {t} WHERE id % 5 = 0)"
    assert set(commands.run_on_twins(spark, twins, statement)) <= {(FILES, FILES)}


# The condition of a command on its target alone, with the number of the FILES files that its scan plans.
BY_FUNCTIONS = {
    "delete": ("DELETE FROM {t} WHERE id + 1 = 134", 1),
    "delete by text": ("DELETE FROM {t} WHERE substring(s, 1, 5) = 'k0020' AND d > -1", 1),
    "delete under or": ("DELETE FROM {t} WHERE id * 2 < 30 OR CAST(id AS STRING) = '395'", 3),
    "update": ("UPDATE {t} SET d = -5.0, s = concat(s, '!') WHERE id DIV 10 IN (3, 7)", 2),
    "update a key": ("UPDATE {t} SET id = id + 1000 WHERE abs(id - 200) < 5", 2),
    "merge": (
        f"MERGE INTO {{t}} t USING {SOURCE} s ON t.id = s.id AND t.id + 1 < 50 WHEN MATCHED THEN DELETE",
        5,
    ),
    "upsert": (
        f"""MERGE INTO {{t}} t USING (SELECT id, d FROM {SOURCE} WHERE c = 2 OR id < 30) s
            ON t.id = s.id AND abs(t.id - 40) < 5 WHEN MATCHED THEN UPDATE SET d = s.d
            WHEN NOT MATCHED THEN INSERT (id, s, d, m) VALUES (s.id, 'new', s.d, 0)""",
        2,
    ),
    # rows of the target without a match are changed, so all of them are read
    "not matched by source": (
        f"""MERGE INTO {{t}} t USING {SOURCE} s ON t.id = s.id AND t.id + 1 < 50
            WHEN NOT MATCHED BY SOURCE AND t.id + 1 > 390 THEN DELETE""",
        FILES,
    ),
}


def test_functions_of_the_target_prune_its_scan(spark, source) -> None:
    twins = commands.create_twins(spark, "merge-on-read", 3)
    first = {table: tables.java_table(spark, table).currentSnapshot().snapshotId() for table in twins}
    for command, (statement, files) in BY_FUNCTIONS.items():
        mark = len(session.log_lines())
        commands.run_on_twins(spark, twins, statement)
        assert loglines.planned(session.log_lines()[mark:], twins[1])[-1] == files, command
        if command in ("delete", "update"):  # the second run must rewrite the deletion vectors of the first
            commands.run_on_twins(spark, twins, statement, "*, _row_id, _last_updated_sequence_number")
        for table, snapshot in first.items():
            spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {snapshot})")


@pytest.mark.parametrize("command", NOT_CUT)
def test_commands_that_are_left_alone(spark, source, command: str) -> None:
    twins = commands.create_twins(spark, "merge-on-read")
    assert commands.run_on_twins(spark, twins, NOT_CUT[command]) == []


def test_deletion_vectors_are_carried_on(spark, source) -> None:
    """A second command over the files of the first must rewrite their deletion vectors."""
    twins = commands.create_twins(spark, "merge-on-read", 3)
    again = CUT["delete in"].replace("SELECT id", "SELECT id + 1")
    for statement in (CUT["delete in"], again, CUT["update exists"].replace("s.id =", "s.id + 2 =")):
        commands.run_on_twins(spark, twins, statement, "*, _row_id, _last_updated_sequence_number")


@pytest.mark.parametrize(
    ("level", "where", "logged"),
    [
        ("serializable", f"id IN {KEYS.replace('c = 2', 'c = 2 AND slow(d) < 0')}", "join_keys=id "),
        ("snapshot", f"id IN {KEYS.replace('c = 2', 'c = 2 AND slow(d) < 0')}", "join_keys=id "),
        ("serializable", "id DIV 10 = 7 AND slow(d) > 0", "files_kept=1 "),
    ],
)
def test_a_commit_outside_the_files_read_is_a_conflict_where_it_is_without(
    spark, source, tmp_path, level: str, where: str, logged: str
) -> None:
    table = commands.create_target(spark, "ours", "merge-on-read", props={"write.delete.isolation-level": level})
    statement = f"DELETE FROM {table} WHERE {where}"
    mark = len(session.log_lines())

    def append() -> None:
        tables.append(spark, table, [[(40, "late", 0.0, 0)]], tables.RANGES_DDL)

    if level == "serializable":
        with pytest.raises(Exception, match="conflict"):
            commands.run_meanwhile(spark, tmp_path, statement, append)
    else:
        commands.run_meanwhile(spark, tmp_path, statement, append)
        assert spark.sql(f"SELECT s FROM {table} WHERE id = 40").collect()[0].s == "late"
    assert any(logged in line for line in session.log_lines()[mark:])
