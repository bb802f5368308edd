# SPDX-License-Identifier: Apache-2.0
"""Read options and metadata columns: the index proves nothing about files outside the scan or about virtual columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support import plans, product, tables
from support.compare import assert_rows_equal_off_on, bag, canonical
from support.session import SPARK, STOCK
from support.steps import FILES, fill, make

VIEW = "read_with_options"
WHOLE = "lake.topk.options"


class Places:
    """A table with eight files of ids 0 to 79, two files of ids -20 to -1, and a deleted file of ids 900 to 909."""

    def __init__(self, spark) -> None:
        self.table = make(spark, WHOLE)
        self.first = tables.snapshot_id(spark, WHOLE)
        fill(spark, WHOLE, range(-2, 0))
        self.second = tables.snapshot_id(spark, WHOLE)
        fill(spark, WHOLE, range(90, 91))
        self.third = tables.snapshot_id(spark, WHOLE)
        spark.sql(f"DELETE FROM {WHOLE} WHERE id >= 900")
        spark.sql(f"ALTER TABLE {WHOLE} CREATE BRANCH early AS OF VERSION {self.first}")
        product.build(spark, WHOLE)
        committed = spark.sql(f"SELECT committed_at FROM {WHOLE}.snapshots WHERE snapshot_id = {self.first}")
        self.built = committed.first()[0]
        self._expected: dict[tuple[str, str], list] = {}

    def expected(self, spark, case: str, query: str) -> list:
        """Returns the rows of the query with the product off; cases that read the same rows share one run."""
        same = "splits" if case in UNKNOWN + HARMLESS else "a version" if case in PINNED else case
        if (same, query) not in self._expected:
            v = view(spark, self.options(same))
            with product.off(spark):
                self._expected[same, query] = spark.sql(query.format(v=v, t=WHOLE)).collect()
        return self._expected[same, query]

    def options(self, case: str) -> dict[str, str]:
        return {
            "from the first": {"start-snapshot-id": str(self.first)},
            "in capitals": {"START-Snapshot-ID": str(self.first), "End-SNAPSHOT-Id": str(self.second)},
            "the second alone": {"start-snapshot-id": str(self.first), "end-snapshot-id": str(self.second)},
            "rows that are gone": {"start-snapshot-id": str(self.second), "end-snapshot-id": str(self.third)},
            "nobody's option": {"an-option-of-tomorrow": "1"},
            "streaming in a batch": {"streaming-max-files-per-micro-batch": "1"},
            "splits": {"split-size": "1000", "lookback": "3", "file-open-cost": "1"},
            "readers": {"vectorization-enabled": "false", "batch-size": "7", "locality": "false"},
            "push-down": {"aggregate-push-down-enabled": "false"},
            "ours": {"zonemap.expressions.enabled": "true"},
            "a version": {"versionAsOf": str(self.first)},
            "a time": {"timestampAsOf": str(self.built)},
            "a branch": {"branch": "early"},
        }[case]


INCREMENTS = ("from the first", "in capitals", "the second alone", "rows that are gone")
UNKNOWN = ("nobody's option", "streaming in a batch")
HARMLESS = ("splits", "readers", "push-down", "ours")
PINNED = ("a version", "a time", "a branch")
#: The clause that means the same as an option of Spark 4.
TRAVELS = {"versionAsOf": "VERSION AS OF {}", "timestampAsOf": "TIMESTAMP AS OF '{}'"}

ORDERED = (
    "SELECT id FROM {v} ORDER BY id DESC LIMIT 3",
    "SELECT id FROM {v} ORDER BY id LIMIT 3",
    "SELECT id, s FROM {v} ORDER BY id DESC LIMIT 3 OFFSET 2",
    "SELECT id FROM {v} WHERE id < 1000 ORDER BY id DESC LIMIT 3",
    "SELECT n, id FROM {v} ORDER BY n NULLS FIRST, id LIMIT 3",
    "SELECT s FROM {v} ORDER BY s DESC LIMIT 3",
    "SELECT id FROM {v} WHERE id + 1 > -5 ORDER BY id LIMIT 3",
    "SELECT id FROM (SELECT id FROM {v} UNION ALL SELECT id + 5000 FROM {t}) ORDER BY id LIMIT 3",
)
BAGS = (
    "SELECT count(*), min(id), max(id), count(n) FROM {v}",
    "SELECT count(*), max(id) FROM {v} WHERE id < 1000",
    "SELECT count(*) FROM {v} WHERE id + 1 = 0 OR id - 1 = 904",
    "SELECT m, count(*) FROM {v} WHERE id < 905 GROUP BY m",
    "SELECT count(*) FROM (SELECT id FROM {v} LIMIT 3)",
    "SELECT count(*) FROM (SELECT id FROM {v} WHERE id < 1000 LIMIT 15)",
    "SELECT a.id, b.m FROM {v} a JOIN {t} b ON a.id = b.id",
    "SELECT /*+ BROADCAST(b) */ a.id FROM {v} a JOIN (SELECT * FROM {t} WHERE m = 3) b ON a.id = b.id - 20",
    "SELECT a.id FROM {t} a JOIN {v} b ON a.id = b.id + 60 WHERE b.m = 3",
    "SELECT id FROM {t} WHERE id IN (SELECT id FROM {v})",
    "SELECT id FROM {v} WHERE id IN (SELECT id - 40 FROM {t} WHERE m = 5)",
    "SELECT id FROM {v} WHERE id IN (SELECT id FROM {v} ORDER BY id DESC LIMIT 2)",
)


@pytest.fixture(scope="module")
def places(base) -> Iterator[Places]:
    from support import session

    yield Places(session.get())


def view(spark, options: dict[str, str]) -> str:
    travel = TRAVELS.get(next(iter(options)))
    if travel is not None and SPARK < (4, 0):  # Spark 3.5 ignores these options for a table of a catalog
        frame = spark.sql(f"SELECT * FROM {WHOLE} {travel.format(*options.values())}")
    else:
        frame = spark.read.options(**options).table(WHOLE)
    frame.createOrReplaceTempView(VIEW)
    return VIEW


def same_off_and_on(spark, query: str, *, in_order: bool) -> list:
    with product.off(spark):
        expected = spark.sql(query).collect()
    return same_rows(spark, query, expected, in_order=in_order)


def same_rows(spark, query: str, expected: list, *, in_order: bool) -> list:
    actual = spark.sql(query).collect()
    if in_order:
        assert [canonical(r) for r in actual] == [canonical(r) for r in expected], query
    else:
        assert bag(actual) == bag(expected), query
    return actual


@pytest.mark.parametrize("case", INCREMENTS + UNKNOWN + HARMLESS + PINNED)
def test_rows_are_equal_whatever_the_options(spark, places, case: str) -> None:
    expected = {query: places.expected(spark, case, query) for query in ORDERED + BAGS}
    v = view(spark, places.options(case))
    for query in ORDERED:
        assert len(same_rows(spark, query.format(v=v, t=WHOLE), expected[query], in_order=True)) == 3
    for query in BAGS:
        same_rows(spark, query.format(v=v, t=WHOLE), expected[query], in_order=False)


@pytest.mark.parametrize("case", INCREMENTS)
def test_other_ways_to_give_options(spark, places, case: str) -> None:
    options = places.options(case)
    given = ", ".join(f"`{key}` = '{value}'" for key, value in options.items())
    for query in (ORDERED[0], ORDERED[1], ORDERED[3]):
        expected = places.expected(spark, case, query)
        if SPARK >= (4, 0):  # the clause WITH is of Spark 4
            same_rows(spark, query.format(v=f"{WHOLE} WITH ({given})", t=WHOLE), expected, in_order=True)
        spark.read.format("iceberg").options(**options).load(WHOLE).createOrReplaceTempView(VIEW)
        same_rows(spark, query.format(v=VIEW, t=WHOLE), expected, in_order=True)


# files of the table in its current state, and at the pinned snapshot
FIRST_ROWS, LIMITED = ORDERED[0], "SELECT id FROM {v} LIMIT 3"


@pytest.mark.parametrize("case", HARMLESS + PINNED)
def test_options_that_leave_the_files_alone_leave_files_out(spark, places, case: str) -> None:
    if SPARK < (4, 1) and case == "a branch":
        minor = ".".join(map(str, SPARK))
        pytest.skip(
            f"Spark {minor}: no rule changes the plan of a read with the option `branch`, which Iceberg resolves late"
        )
    v = view(spark, places.options(case))
    for query in (FIRST_ROWS, LIMITED):
        assert STOCK or len(plans.planned_files(spark.sql(query.format(v=v)))) == 1, query


@pytest.mark.parametrize("case", UNKNOWN)
def test_of_an_unknown_option_nothing_is_taken_for_known(spark, places, case: str) -> None:
    v = view(spark, places.options(case))
    for query in (FIRST_ROWS, LIMITED):
        assert len(plans.planned_files(spark.sql(query.format(v=v)))) == FILES + 2, query


def test_changes_and_streams_are_left_alone(spark, places) -> None:
    since = spark.read.option("start-snapshot-id", str(places.first))
    for query in (ORDERED[0], ORDERED[1], "SELECT _change_type, count(*), max(id) FROM {v} GROUP BY 1"):
        since.table(f"{WHOLE}.changes").createOrReplaceTempView(VIEW)
        assert same_off_and_on(spark, query.format(v=VIEW, t=WHOLE), in_order=False)
    found = []
    for switch in (product.off, product.on):
        with switch(spark):
            # the last snapshot overwrites files, so the stream skips it
            stream = (
                spark.readStream.format("iceberg")
                .option("streaming-skip-overwrite-snapshots", "true")
                .option("streaming-skip-delete-snapshots", "true")
                .load(WHOLE)
                .where("id + 1 < 0 OR id + 1 = 906")
                .writeStream.format("memory")
                .queryName("streamed")
                .trigger(availableNow=True)
                .start()
            )
            stream.awaitTermination()
            found.append(bag(spark.sql("SELECT id FROM streamed").collect()))
    assert found[0] == found[1] and sum(found[0].values()) == 20


# conditions and keys on columns of the scan, not of the files
METADATA = (
    "SELECT id FROM {t} WHERE _pos < 2 ORDER BY id DESC LIMIT 3",
    "SELECT id, _pos AS p FROM {t} ORDER BY p DESC, id LIMIT 3",
    "SELECT id FROM {t} WHERE _file LIKE '%.parquet' ORDER BY id LIMIT 3",
    "SELECT id FROM {t} WHERE _partition.m = 3 ORDER BY id DESC LIMIT 3",
    "SELECT id FROM {t} WHERE _partition.m = 3 AND _spec_id = 0 AND id < 45 ORDER BY id DESC LIMIT 3",
    "SELECT _partition.m AS m, id FROM {t} ORDER BY m DESC, id LIMIT 3",
    "SELECT count(*) FROM (SELECT _file FROM {t} ORDER BY _file LIMIT 1)",
    "SELECT count(*) FROM (SELECT id FROM {t} WHERE _pos = 0 LIMIT 5)",
    "SELECT count(*) FROM (SELECT id FROM {t} WHERE _partition.m = 3 LIMIT 7)",
    "SELECT g, count(*), max(_pos), count(_file) FROM {t} GROUP BY g",  # without GROUP BY Iceberg fails
    "SELECT count(*), min(id) FROM {t} WHERE _pos = 0",
    "SELECT count(*), min(id) FROM {t} WHERE _partition.m = 3 AND id < 45",
    "SELECT _partition, count(*), max(id) FROM {t} WHERE id < 45 GROUP BY _partition",
    "SELECT a.id FROM {t} a JOIN {t} b ON a._pos = b.id WHERE a.id < 30",
    "SELECT id FROM {t} WHERE _pos IN (SELECT id FROM {t} WHERE id > 70)",
    "SELECT id FROM {t} WHERE _pos + 1 = 1 AND id + 1 = 4",
)


def test_columns_of_the_scan_tell_nothing_of_the_files(spark, places) -> None:
    by_m = make(spark, "lake.topk.metadata", partitioned="m")
    for query in METADATA:
        assert_rows_equal_off_on(spark, query.format(t=by_m), at_least=0 if "_pos IN" in query else 1)
