# SPDX-License-Identifier: Apache-2.0
"""Keys and values from sources of each kind: caches, other formats, frames, aggregates, windows, scalar subqueries."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import Observation, functions
from support import commands, loglines, plans, product, session, tables
from support.commands import FILES, SOURCE
from support.compare import assert_same_rows
from support.session import STOCK

pytestmark = pytest.mark.skipif(STOCK, reason="asserts what the product reads")

UPDATE = "MERGE INTO {{t}} t USING {} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = s.d"
UPSERT = UPDATE + " WHEN NOT MATCHED THEN INSERT (id, s, d, m) VALUES (s.id, 'new', s.d, 0)"
INSERT = (
    "MERGE INTO {{t}} t USING {} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, s, d, m) VALUES (s.id, 'n', s.d, 0)"
)
DELETE = "DELETE FROM {{t}} WHERE id IN (SELECT id FROM {})"
KEYS = f"SELECT id, d FROM {SOURCE} WHERE c = 2"
#: Of the keys, one row each: a window whose filter stays above the scan, and an aggregate. The upsert inserts none twice.
FIRST = f"(SELECT id, d FROM (SELECT id, d, row_number() OVER (PARTITION BY id ORDER BY d) n FROM {SOURCE} WHERE c = 2) WHERE n = 1)"
GROUPED = f"(SELECT id, max(d) d FROM {SOURCE} WHERE c = 2 GROUP BY id HAVING max(d) < 0)"
JOINED = f"(SELECT a.id, a.d FROM rdd a JOIN {SOURCE} b ON a.id = b.id)"

CUT = {
    "cached, update": (UPDATE, "cached"),
    "cached, upsert": (UPSERT, "cached"),
    "cached, delete": (DELETE, "cached"),
    "parquet, update": (UPDATE, "parquet_rows"),
    "parquet, delete": (DELETE, "parquet_rows"),
    "first of each, upsert": (UPSERT, FIRST),
    "grouped, upsert": (UPSERT, GROUPED),
    "other columns are random, upsert": (UPSERT, f"(SELECT id, d + 0 * rand() AS d FROM {SOURCE} WHERE c = 2)"),
}
#: Another run of these sources may give other keys, or Spark does not know their size: the rows of one run are held.
HELD = {
    **{f"frame, {verb}": (sql, "frame") for verb, sql in (("update", UPDATE), ("upsert", UPSERT), ("delete", DELETE))},
    **{f"jdbc, {verb}": (sql, "jdbc") for verb, sql in (("update", UPDATE), ("upsert", UPSERT), ("delete", DELETE))},
    "rdd, insert": (INSERT, "rdd"),
    "parquet, upsert": (UPSERT, "parquet_rows"),
    "cached parquet, upsert": (UPSERT, "cached_parquet"),
    "key above a window, upsert": (
        UPSERT,
        f"(SELECT n * 40 AS id, d FROM (SELECT d, row_number() OVER (ORDER BY d) n FROM {SOURCE} WHERE c = 2))",
    ),
    "first of each of a frame, upsert": (UPSERT, FIRST.replace(f"{SOURCE} WHERE c = 2", "frame")),
    "random, upsert": (UPSERT, f"(SELECT id + CAST(rand() * 0 AS BIGINT) AS id, d FROM {SOURCE} WHERE c = 2)"),
}
#: Spark broadcasts no target, which it knows to be larger.
SMALLER_THAN_A_TARGET = {"spark.sql.autoBroadcastJoinThreshold": "1000"}
#: The number of rows is known only once the source has run.
MANY = {"upsert": (UPSERT, "rdd"), "update": (UPDATE, "rdd"), "joined": (UPSERT, JOINED)}


@pytest.fixture(scope="module")
def source(base) -> str:
    spark = session.get()
    commands.create_source(spark)
    rows = spark.sql(KEYS).collect()
    spark.sql(KEYS).write.mode("overwrite").parquet(str(base / "source"))
    spark.read.parquet(str(base / "source")).createOrReplaceTempView("parquet_rows")
    spark.createDataFrame(rows, "id BIGINT, d DOUBLE").createOrReplaceTempView("frame")
    written = spark.sparkContext.parallelize(rows).map(lambda row: (row.id, row.d))
    spark.createDataFrame(written, "id BIGINT, d DOUBLE").createOrReplaceTempView("rdd")
    jdbc = {"url": f"jdbc:derby:{base / 'derby'};create=true", "dbtable": "keys"}
    spark.sql(KEYS).write.format("jdbc").options(**jdbc).save()
    spark.read.format("jdbc").options(**jdbc).load().createOrReplaceTempView("jdbc")
    spark.sql(f"CACHE TABLE cached AS {KEYS} AND d < 0")
    spark.sql("CACHE TABLE cached_parquet AS SELECT * FROM parquet_rows WHERE d < 0")
    yield SOURCE
    for view in ("cached", "cached_parquet"):
        spark.sql(f"UNCACHE TABLE {view}")
        spark.catalog.dropTempView(view)


def cuts(spark, statement: str, rows: str) -> list[tuple[int, int]]:
    return commands.run_on_twins(spark, commands.create_twins(spark, "merge-on-read"), statement.format(rows))


@pytest.mark.parametrize("case", CUT)
def test_commands_read_files_that_hold_keys_of_the_source(spark, source, case: str) -> None:
    before, after = cuts(spark, *CUT[case])[-1]
    assert (before, 1 <= after <= 5) == (FILES, True)


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("case", HELD)
def test_the_rows_of_a_source_are_held(spark, source, case: str, mode: str) -> None:
    statement, rows = HELD[case]
    if mode == "copy-on-write" and case == "random, upsert":
        pytest.skip("Spark refuses it")
    mark = len(session.log_lines())
    twins = commands.create_twins(spark, mode)
    with product.raw_conf(spark, SMALLER_THAN_A_TARGET):
        found = commands.run_on_twins(spark, twins, statement.format(rows))
    held = sum("held_rows=5" in line for line in session.log_lines()[mark:])
    before, after = found[-1]
    # values of held rows may prune the search of a copy-on-write command while it is planned
    assert 1 <= after <= 5 and (before == FILES or mode == "copy-on-write")
    assert held == 1 or (mode == "copy-on-write" and rows != "jdbc"), "its search can broadcast a source of known size"


#: Commands that change one row by each key of the source, which is an id of the target.
BY_ONE_KEY = {
    "update": "UPDATE {t} SET d = -7 WHERE id IN (SELECT id FROM drawn)",
    "exists": "UPDATE {t} SET d = -7 WHERE EXISTS (SELECT 1 FROM drawn s WHERE s.id = {t}.id)",
    "merge": "MERGE INTO {t} t USING drawn s ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = -7",
    "upsert": UPSERT.replace("{{t}}", "{t}").format("(SELECT id, -7D AS d FROM drawn)", t="{t}"),
}


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("case", BY_ONE_KEY)
def test_a_source_that_draws_keys_anew_is_run_once(spark, source, case: str, mode: str) -> None:
    def draw(_: int) -> list[tuple[int]]:
        return [(random.SystemRandom().randrange(FILES * 10),)]

    drawn = spark.sparkContext.parallelize([0], 1).flatMap(draw)
    spark.createDataFrame(drawn, "id BIGINT").createOrReplaceTempView("drawn")
    table = commands.create_target(spark, "drawn", mode)
    mark = len(session.log_lines())
    with product.raw_conf(spark, SMALLER_THAN_A_TARGET):
        for times in range(1, 4):
            spark.sql(BY_ONE_KEY[case].replace("{t}", table))
            with product.off(spark):
                assert spark.sql(f"SELECT * FROM {table}").count() == FILES * 10
                assert 1 <= spark.sql(f"SELECT * FROM {table} WHERE d = -7").count() <= times
    assert sum("held_rows=1" in line for line in session.log_lines()[mark:]) == 3
    lines = session.log_lines()[mark:]
    assert {after for _, after in loglines.join_cuts(lines, table) + loglines.join_range_cuts(lines)} == {1}


@pytest.mark.parametrize("case", MANY)
def test_a_source_of_many_bytes_is_not_held(spark, source, case: str) -> None:
    statement, rows = MANY[case]
    with product.raw_conf(spark, {"spark.sql.autoBroadcastJoinThreshold": "100"}):
        assert cuts(spark, statement, rows) == []


def test_an_upsert_of_random_keys_inserts_no_row_twice(spark, source) -> None:
    """Each key is that of a row of the target, so each MERGE updates one row. Another run of the source, also that of
    Spark's search for partitions, draws another key."""
    ours = commands.create_target(spark, "ours", "merge-on-read")
    spark.sql(f"ALTER TABLE {ours} ADD PARTITION FIELD m")
    spark.sql(f"INSERT INTO {ours} SELECT id + {FILES * 10}, s, d, m FROM {ours} WHERE id < 50")
    product.build(spark, ours)
    spark.udf.register("draw", lambda _: random.SystemRandom().randrange(FILES * 10 + 50), "bigint")
    mark = len(session.log_lines())
    for _ in range(4):
        spark.sql(UPSERT.format("(SELECT draw(id) AS id, -7D AS d FROM range(1))").replace("{t}", ours))
    assert len(loglines.join_cuts(session.log_lines()[mark:], ours)) == 4
    with product.off(spark):
        assert spark.sql(f"SELECT * FROM {ours}").count() == FILES * 10 + 50


def refreshed(spark, twins: tuple[str, str], what: str, where: str) -> list:
    """Asserts that twins, which other sessions have changed, are equal; returns the rows that satisfy a condition."""
    for table in twins:
        spark.catalog.refreshTable(table)
    with product.off(spark):
        assert_same_rows(*(spark.sql(f"SELECT * FROM {table}").collect() for table in twins), what)
        return spark.sql(f"SELECT * FROM {twins[1]} WHERE {where}").collect()


def test_the_rows_of_a_micro_batch_are_held(spark, source, base) -> None:
    twins = commands.create_twins(spark, "merge-on-read")
    mark = len(session.log_lines())

    def upsert(batch, _) -> None:
        batch.createOrReplaceTempView("batch")
        for enabled, table in zip((product.off, product.on), twins, strict=True):
            with enabled(batch.sparkSession):
                batch.sparkSession.sql(UPSERT.format("batch").replace("{t}", table))

    rows = spark.readStream.schema("id BIGINT, d DOUBLE").parquet(str(base / "source"))
    query = rows.writeStream.foreachBatch(upsert).trigger(availableNow=True)
    query.option("checkpointLocation", str(base / "checkpoint")).start().awaitTermination()
    (before, after), *_ = loglines.join_cuts(session.log_lines()[mark:], twins[1])
    assert (before, 1 <= after <= 5) == (FILES, True)
    new = refreshed(spark, twins, "the batch", where="s = 'new'")
    assert [row.id for row in new] == [440]


@pytest.mark.parametrize("join", ["JOIN", "LEFT SEMI JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN"])
def test_a_query_prunes_by_rows_that_the_driver_has(spark, events, base, join: str) -> None:
    """Spark knows the size neither of a list of Python nor of text files, which the query does not read before it runs."""
    rows = spark.createDataFrame([(507, "a"), (1203, "b")], "id BIGINT, name STRING")
    rows.createOrReplaceTempView("listed")
    rows.rdd.map(lambda row: f"{row.id},{row.name}").saveAsTextFile(str(base / "lines" / join))
    lines = spark.sparkContext.textFile(str(base / "lines" / join)).map(lambda line: line.split(","))
    spark.createDataFrame(lines, "id STRING, name STRING").createOrReplaceTempView("lines")
    query = f"SELECT e.id FROM {events} e {join} {{}} d ON e.id = d.id"
    # Spark can broadcast the events, or only the rows of the driver
    for threshold in ("10MB", "1000"):
        with product.raw_conf(spark, {"spark.sql.autoBroadcastJoinThreshold": threshold}):
            assert files_read(spark, query.format("listed")) == (EVENT_FILES if "FULL" in join else 2)
            assert files_read(spark, query.format("(SELECT CAST(id AS BIGINT) AS id FROM lines)")) == EVENT_FILES


def test_the_halves_of_an_update_read_the_same_files(spark, source) -> None:
    """Without the product, Spark writes rows twice now and then where it does not broadcast the source of such an
    UPDATE (apache/iceberg#18004), so the rows are compared with what the statement says."""
    table = commands.create_target(spark, "searched", "copy-on-write")
    with product.off(spark):
        before = {row.id: row for row in spark.table(table).collect()}
        keys = {row.id for row in spark.table("jdbc").select("id").collect()} & set(before)
    for value in (-1, -2, -3):
        with product.raw_conf(spark, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
            spark.sql(f"UPDATE {table} SET d = {value} WHERE id IN (SELECT id FROM jdbc)")
        with product.off(spark):
            rows = spark.table(table).collect()
        assert len(rows) == len(before), f"update {value}"
        assert {row.id for row in rows if row.d == value} == keys
        assert all(row == before[row.id] for row in rows if row.id not in keys)


def test_the_rows_of_a_source_are_held_as_they_are(spark, source, base) -> None:
    """The cache of a part of a JDBC table is older than the table, and a task knows the file that it reads."""
    jdbc = {"url": f"jdbc:derby:{base / 'derby'}", "dbtable": "changing"}
    read = spark.read.format("jdbc").options(**jdbc)
    rows = spark.sql(KEYS).withColumn("s", functions.lit("x"))
    rows.write.format("jdbc").options(**jdbc).save()
    read.load().createOrReplaceTempView("changing")
    cached = spark.sql("SELECT id, d FROM changing").cache()
    assert cached.count() == 5
    # not by Spark, which would refresh its caches
    connection = spark._jvm.java.sql.DriverManager.getConnection(jdbc["url"])
    assert connection.createStatement().executeUpdate('UPDATE changing SET "d" = -9') == 5
    connection.close()
    mark = len(session.log_lines())
    twins = commands.create_twins(spark, "copy-on-write")
    commands.run_on_twins(spark, twins, UPDATE.format("changing"))
    assert sum("held_rows=5" in line for line in session.log_lines()[mark:]) == 1
    assert spark.sql(f"SELECT * FROM {twins[1]} WHERE d = -9").count() == 4
    cached.unpersist()

    twins = commands.create_twins(spark, "merge-on-read")  # Spark refuses such a copy-on-write MERGE

    def rename(batch, _) -> None:
        batch.createOrReplaceTempView("batch")
        statement = UPDATE.replace("SET d = s.d", "SET s = s.f").format(
            "(SELECT id, input_file_name() AS f FROM batch)"
        )
        for enabled, table in zip((product.off, product.on), twins, strict=True):
            with enabled(batch.sparkSession):
                batch.sparkSession.sql(statement.replace("{t}", table))

    files = spark.readStream.schema("id BIGINT, d DOUBLE").parquet(str(base / "source"))
    renamed = files.writeStream.foreachBatch(rename).trigger(availableNow=True)
    renamed.option("checkpointLocation", str(base / "renamed")).start().awaitTermination()
    assert len(refreshed(spark, twins, "names of files", where="s LIKE '%.parquet'")) == 4


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_places_of_one_source_have_other_conditions(spark, source, mode: str) -> None:
    """A JDBC table evaluates its conditions itself, and an RDD is evaluated once for all places."""
    pairs = {
        ("id < 300 AND d < 0", "id > 200 AND d < 0"): ["3", "3"],
        ("id < 100 OR id = 140 OR id = 240 OR d > 0", "id = 140"): ["1", "3"],
        ("id < 300", "d < 0"): ["3", "5"],
    }
    for (first, second), held in pairs.items():
        statement = (
            f"DELETE FROM {{{{t}}}} WHERE id IN (SELECT id FROM {{s}} WHERE {first}) "
            f"AND id NOT IN (SELECT id FROM {{s}} WHERE {second})"
        )
        for rows, expected in (("jdbc", held), ("rdd", ["5"])):
            mark = len(session.log_lines())
            with product.raw_conf(spark, SMALLER_THAN_A_TARGET):
                commands.run_on_twins(spark, commands.create_twins(spark, mode), statement.format(s=rows))
            found = [loglines.fields(line)["held_rows"] for line in session.log_lines()[mark:] if "held_rows" in line]
            assert sorted(found) == expected, (first, rows)


def test_a_database_compares_in_its_own_way(spark, source, base) -> None:
    """The database ignores case, so it selects rows that Spark would not."""
    jdbc = {"url": f"jdbc:derby:{base / 'nocase'};create=true;territory=en_US;collation=TERRITORY_BASED:PRIMARY"}
    words = spark.createDataFrame([(40, "AB"), (140, "ab"), (240, "cd")], "id BIGINT, code STRING")
    words.write.format("jdbc").options(dbtable="words", createTableColumnTypes="code VARCHAR(10)", **jdbc).save()
    spark.read.format("jdbc").options(dbtable="words", **jdbc).load().createOrReplaceTempView("words")
    twins = commands.create_twins(spark, "copy-on-write")
    mark = len(session.log_lines())
    commands.run_on_twins(spark, twins, UPDATE.format("(SELECT id, -8D AS d FROM words WHERE code = 'ab')"))
    assert spark.sql(f"SELECT * FROM {twins[1]} WHERE d = -8").count() == 2
    assert sum("held_rows=2" in line for line in session.log_lines()[mark:]) == 1


def test_a_source_is_held_if_few_rows_satisfy_its_conditions(spark, source, base) -> None:
    jdbc = {"url": f"jdbc:derby:{base / 'derby'}", "dbtable": "many"}
    spark.range(20_000).selectExpr("id * 20 AS id", "-1D AS d").write.format("jdbc").options(**jdbc).save()
    spark.read.format("jdbc").options(**jdbc).load().createOrReplaceTempView("many")
    twins = commands.create_twins(spark, "copy-on-write")
    sources = {
        "(SELECT id, d FROM many WHERE id < 200)": ["10"],
        "(SELECT id, d FROM many WHERE id < 1000000)": ["too many"],
        # one row, but the search for matching rows would have it from another run than the join
        "(SELECT max(id) * 0 + 40 AS id, -1D AS d FROM many)": ["too many"],
    }
    for rows, held in sources.items():
        mark = len(session.log_lines())
        commands.run_on_twins(spark, twins, UPDATE.format(rows))
        found = [loglines.fields(line)["held_rows"] for line in session.log_lines()[mark:] if "held_rows" in line]
        assert found == held, rows


EVENT_FILES = 40
#: The files read at most, if the newest time of the source is the first of file 36. A NULL selects no row of any file.
CONDITIONS = {
    "newer": ("ts > (SELECT max(ts) FROM {m})", 4),
    "newer by a day": ("ts >= (SELECT max(ts) - INTERVAL 1 DAY FROM {m})", 5),
    "a day before": ("ts > (SELECT max(ts) FROM {m}) - INTERVAL 1 DAY", 5),
    "between": ("ts BETWEEN (SELECT max(ts) FROM {m}) AND (SELECT max(ts) + INTERVAL 1 DAY FROM {m})", 2),
    "that day": ("to_date(ts) = (SELECT to_date(max(ts)) FROM {m})", 1),
    "from that day": ("to_date(ts) >= (SELECT max(to_date(ts)) FROM {m})", 4),
    "newest of none": ("ts > (SELECT max(ts) FROM {m} WHERE n > 5)", EVENT_FILES),
    "without a row": ("ts > (SELECT ts FROM {m} WHERE n > 5)", EVENT_FILES),
    "of a remainder": ("id % 50 > (SELECT max(n) FROM {m})", EVENT_FILES),
}


@pytest.fixture(scope="module")
def events(base) -> str:
    """40 files of a day each, and the times of the rows that a model has: in Iceberg and in Parquet."""
    spark = session.get()
    start = 1_700_006_400  # midnight
    events = tables.create(spark, "lake.joins.events", "id BIGINT, ts TIMESTAMP")
    slices = [[(f * 100 + i, start + f * 86_400 + i * 4_000) for i in range(20)] for f in range(EVENT_FILES)]
    sent = ["id", "timestamp_seconds(seconds) AS ts"]
    tables.append(spark, events, slices, "id BIGINT, seconds BIGINT", select=sent)
    mark = tables.create(spark, "lake.joins.mark", "ts TIMESTAMP, n INT")
    sent = ["timestamp_seconds(seconds) AS ts", "n"]
    tables.append(spark, mark, [[(start, 1), (start + 36 * 86_400, 2)]], "seconds BIGINT, n INT", select=sent)
    spark.sql(f"SELECT * FROM {mark}").write.mode("overwrite").parquet(str(base / "mark"))
    spark.read.parquet(str(base / "mark")).createOrReplaceTempView("parquet_mark")
    for table in (events, mark):
        product.build(spark, table)
    return events


def files_read(spark, query: str) -> int:
    with product.off(spark):
        expected = spark.sql(query).collect()
    done = plans.execute(spark.sql(query))
    assert_same_rows(done.rows, expected, query)
    return sum("/events/" in path for path in done.files)


@pytest.mark.parametrize("mark", ["lake.joins.mark", "(SELECT * FROM lake.joins.mark WHERE n > 1)", "parquet_mark"])
@pytest.mark.parametrize("case", CONDITIONS)
def test_files_newer_than_a_subquery(spark, events, case: str, mark: str) -> None:
    condition, files = CONDITIONS[case]
    read = files_read(spark, f"SELECT id FROM {events} WHERE {condition.format(m=mark)}")
    assert read == files if case == "of a remainder" else read <= files


def test_an_aggregate_of_the_index_is_a_literal_of_the_plan(spark, events) -> None:
    text = plans.plan_text(spark.sql(f"SELECT id FROM {events} WHERE ts > (SELECT max(ts) FROM lake.joins.mark)"))
    assert "subquery" not in text.lower()


def test_a_function_of_an_answer_fails_only_for_a_row_that_needs_it(spark, events) -> None:
    beyond = f"CAST((SELECT max(id) FROM {events}) * 10000000000 AS INT)"
    files_read(spark, f"SELECT id FROM {events} WHERE id < -1 AND id > {beyond}")


def test_a_subquery_with_several_rows_fails(spark, events) -> None:
    for rows in (f"SELECT max(id) FROM {events} GROUP BY to_date(ts)", "SELECT n FROM parquet_mark"):
        with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
            spark.sql(f"SELECT id FROM {events} WHERE id > ({rows})").collect()


def test_without_adaptive_execution_a_subquery_prunes_only_by_the_index(spark, events) -> None:
    query = f"SELECT id FROM {events} WHERE ts > (SELECT max(ts) FROM {{}})"
    with product.raw_conf(spark, {"spark.sql.adaptive.enabled": "false"}):
        assert files_read(spark, query.format("parquet_mark")) == EVENT_FILES
        assert files_read(spark, query.format("lake.joins.mark")) <= 4


def test_held_rows_have_the_confs_of_the_session(spark, events) -> None:
    """A task knows the confs of the session only if the driver passes them on, which EXPLAIN does not by itself."""
    confs = {"spark.sql.autoBroadcastJoinThreshold": "1000", "spark.sql.legacy.timeParserPolicy": "LEGACY"}
    with product.raw_conf(spark, confs | {"spark.sql.ansi.enabled": "false"}):
        texts = spark.createDataFrame([("2023-12-5",), ("x",)], "text STRING")
        days = texts.selectExpr("to_date(text, 'yyyy-MM-dd') AS day")
        query = spark.table(events).selectExpr("id", "to_date(ts) AS day").join(days, "day").select("id")
        mark = len(session.log_lines())
        query.explain()
        assert any("held_rows=1" in line for line in session.log_lines()[mark:])
        assert len(query.collect()) == 20


def test_metrics_that_a_user_observes_are_measured(spark, source) -> None:
    observation = Observation()
    frame = spark.table("frame").observe(observation, functions.count(functions.lit(1)).alias("rows"))
    frame.createOrReplaceTempView("observed")
    cuts(spark, UPSERT, "observed")
    assert observation.get == {"rows": 5}


#: Of a target, ids of one part of a file and of six whole files.
LAST = "id > (SELECT max(id) - 110 FROM parquet_rows)"
#: The commands, and the number of rows that they change. Spark refuses subqueries in the conditions of a MERGE.
BY_A_SUBQUERY = {
    "delete": (f"DELETE FROM {{t}} WHERE {LAST}", 69),
    "update": (f"UPDATE {{t}} SET d = -1 WHERE {LAST}", 69),
}


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("case", BY_A_SUBQUERY)
def test_a_command_by_a_subquery_changes_every_row(spark, source, case: str, mode: str) -> None:
    statement, changed = BY_A_SUBQUERY[case]
    twins = commands.create_twins(spark, mode)
    mark = len(session.log_lines())
    commands.run_on_twins(spark, twins, statement)
    found = loglines.join_cuts(session.log_lines()[mark:], twins[1])
    with product.off(spark):
        assert spark.sql(f"SELECT * FROM {twins[1]} WHERE d = id / 2").count() == FILES * 10 - changed
    assert all(1 <= after <= 7 for _, after in found) and (mode == "copy-on-write" or found)
