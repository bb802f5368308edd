# SPDX-License-Identifier: Apache-2.0
"""The parts of `zonemap demo` that need Spark: its table of metadata alone, and its comparisons."""

from __future__ import annotations

import pytest
from support import product, session, tables
from support.session import STOCK

from demo import compare
from demo import lake as demo_lake
from demo.queries import Query
from zonemap.session import confs

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")

TARGET = "lake.db.accounts"
KEYS = "lake.db.account_keys"
MERGE = f"MERGE INTO {TARGET} t USING {KEYS} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET owner = s.owner"


@pytest.fixture(scope="module")
def spark(lake):
    found = session.get()
    before = found.conf.get(confs.ENABLED, "true")
    yield found
    found.conf.set(confs.ENABLED, before)


@pytest.fixture(scope="module")
def events(spark) -> int:
    """The table of metadata, with 300 files in three commits."""
    spark.sql(f"DROP TABLE IF EXISTS {demo_lake.EVENTS}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_lake, "EVENTS_FILES", 300)
        patch.setattr(demo_lake, "_EVENTS_PER_COMMIT", 100)
        steps: list[None] = []
        demo_lake.write_events(spark, lambda: steps.append(None))
        assert len(steps) == demo_lake.events_commits() == 3
    product.build(spark, demo_lake.EVENTS)
    yield demo_lake.file_count(spark, demo_lake.EVENTS)
    spark.sql(f"DROP TABLE {demo_lake.EVENTS}")


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("event_id BETWEEN 100000 AND 109999", 10),
        ("event_id = 7", 1),
        ("measure_4 >= 0", 300),
        ("event_id < 0", 0),
    ],
)
def test_a_plan_of_files_that_do_not_exist_is_compared_file_by_file(
    spark, events: int, condition: str, files: int
) -> None:
    assert events == 300
    query = Query("plan", demo_lake.EVENTS, f"SELECT * FROM {demo_lake.EVENTS} WHERE {condition}", "plan")
    found = compare.compare(spark, query, events)
    assert found.failure == ("" if files else "no rows to compare")
    assert [run.read for run in (*found.off, *found.on)] == [files] * (2 * compare.ROUNDS)
    assert all(path.endswith(".parquet") for path in found.on[0].rows)


def test_a_merge_is_rolled_back_and_its_rows_are_compared(spark) -> None:
    tables.create(spark, TARGET, "id BIGINT, owner STRING", props={"write.merge.mode": "merge-on-read"})
    tables.append(
        spark, TARGET, [[(10 * file + i, "old") for i in range(10)] for file in range(8)], "id BIGINT, owner STRING"
    )
    tables.create(spark, KEYS, "id BIGINT, owner STRING")
    tables.append(spark, KEYS, [[(3, "new"), (5, "new")]], "id BIGINT, owner STRING")
    product.build(spark, TARGET)
    found = compare.compare(spark, Query("merge", TARGET, MERGE, "merge"), 8)
    assert found.failure == ""
    assert (found.off[0].read, found.on[0].read) == (8, 1)
    assert spark.sql(f"SELECT count(*) FROM {TARGET} WHERE owner = 'new'").collect()[0][0] == 0
    wrong = compare.Comparison(
        found.query, 8, (compare.run(spark, Query("q", TARGET, "SELECT 1"), enabled=False),), found.on
    )
    assert wrong.failure == "rows differ between runs"
