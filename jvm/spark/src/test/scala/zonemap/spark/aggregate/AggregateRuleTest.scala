// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Subquery, Union}
import org.apache.spark.sql.internal.SQLConf
import org.scalatest.Assertion

import zonemap.core.value.ZoneValues
import zonemap.iceberg.answer.GroupAnswer

/** The number of data files that COUNT, MIN and MAX read; the results equal Iceberg's. */
class AggregateRuleTest extends AggregateTables {
  private lazy val plain: String = make("aggregates")
  private lazy val byP: String = make("aggregates_by_p", partitioned = true)

  /** The query returns the same rows as Iceberg, and its plan reads the given number of data files. */
  private def check(query: String, files: Int): Assertion = {
    assertFiles(query, files)
    assertRowsAreIcebergs(Seq(query))
  }

  private def assertFiles(query: String, files: Int): Assertion = {
    val frame = sql(query)
    assert(filesRead(frame) == files, s"$query\n${answers(frame)}")
  }

  // query on the table of eight files, files it reads with aggregates answered from the index, files it reads without
  private val queries: Seq[(String, Int, Int)] = Seq(
    ("SELECT count(*) FROM {t} WHERE id >= 30", 0, 5),
    ("SELECT count(*) FROM {t} WHERE id >= 35", 1, 5),
    ("SELECT count(*), min(id), max(id) FROM {t} WHERE id BETWEEN 15 AND 64", 2, 6),
    ("SELECT count(1) + 1, max(dt) - min(dt) FROM {t} WHERE id < 40 AND ts >= TIMESTAMP'2026-01-01 05:00:00Z'", 1, 4),
    ("SELECT min(dt), max(ts), min(m), max(m), min(b), max(b) FROM {t} WHERE id >= 10", 0, 7),
    ("SELECT count(n) FROM {t} WHERE id >= 0", 1, 8),
    ("SELECT count(n), min(n), max(n) FROM {t} WHERE id >= 30", 0, 5),
    ("SELECT min(n), max(n) FROM {t} WHERE id >= 20", 0, 6),
    ("SELECT min(n) FROM {t} WHERE id BETWEEN 30 AND 39", 0, 1),
    ("SELECT count(*) FROM {t} WHERE n IS NULL", 1, 2),
    ("SELECT count(*) FROM {t} WHERE n IS NOT NULL", 1, 7),
    ("SELECT min(d), max(d) FROM {t} WHERE id >= 0", 2, 8),
    ("SELECT max(f) FROM {t} WHERE id >= 50", 0, 3),
    ("SELECT min(f) FROM {t} WHERE id >= 10", 0, 7),
    ("SELECT min(s), count(*) FROM {t} WHERE id >= 10", 7, 7),
    ("SELECT count(s), count(g) FROM {t} WHERE id >= 15", 1, 7),
    ("SELECT g, count(*) FROM {t} WHERE id >= 15 GROUP BY g", 1, 7),
    ("SELECT g, b, max(id), count(*) c FROM {t} WHERE id >= 10 GROUP BY g, b HAVING c > 5", 0, 7),
    ("SELECT b, count(*) FROM {t} GROUP BY b", 0, 8),
    ("SELECT concat(g, '!') x, count(*) FROM {t} WHERE id < 75 GROUP BY g ORDER BY x", 1, 8),
    ("SELECT DISTINCT g FROM {t} WHERE id >= 15", 1, 7),
    ("SELECT n, count(*) FROM {t} WHERE id BETWEEN 30 AND 49 GROUP BY n", 1, 2),
    ("SELECT x, max(i) FROM (SELECT g AS x, id AS i FROM {t} WHERE id >= 15) GROUP BY x", 1, 7),
    ("SELECT count(*) FROM {t} WHERE id >= 100", 0, 0),
    ("SELECT count(*) FROM {t} WHERE id % 2 = 0", 8, 8),
    ("SELECT count(*) FROM {t} WHERE id >= 35 AND length(s) > 3", 5, 5),
    ("SELECT sum(id) FROM {t} WHERE id >= 30", 5, 5),
    ("SELECT count(*), avg(id) FROM {t} WHERE id >= 30", 5, 5),
    ("SELECT count(DISTINCT g) FROM {t} WHERE id >= 30", 0, 5),
    ("SELECT count(DISTINCT g) FROM {t} WHERE id >= 35", 5, 5),
    ("SELECT count(*) FILTER (WHERE b) FROM {t} WHERE id >= 30", 5, 5),
    ("SELECT count(id, n) FROM {t} WHERE id >= 40", 4, 4),
    ("SELECT max(id + 1) FROM {t} WHERE id >= 40", 1, 4), // the file that may hold it
    ("SELECT d, count(*) FROM {t} WHERE id >= 40 GROUP BY d", 4, 4),
    ("SELECT id DIV 10, count(*) FROM {t} WHERE id >= 40 GROUP BY id DIV 10", 0, 4),
    ("SELECT id DIV 10, count(*) FROM {t} WHERE id >= 35 GROUP BY 1", 1, 5),
    ("SELECT id DIV 20 x, max(n) FROM {t} WHERE id >= 40 GROUP BY x ORDER BY x", 0, 4),
    ("SELECT DISTINCT 79 - id DIV 10 FROM {t} WHERE id >= 40", 0, 4),
    ("SELECT date_trunc('MONTH', ts), count(*) FROM {t} WHERE id >= 40 GROUP BY 1", 0, 4),
    ("SELECT n + 1, count(*) FROM {t} WHERE id BETWEEN 30 AND 49 GROUP BY n + 1", 1, 2),
    ("SELECT id % 10, count(*) FROM {t} WHERE id >= 40 GROUP BY id % 10", 4, 4),
    ("SELECT floor(d), count(*) FROM {t} WHERE id >= 40 GROUP BY floor(d)", 4, 4),
    ("SELECT (id + n) DIV 100, count(*) FROM {t} WHERE id >= 40 GROUP BY 1", 4, 4),
    ("SELECT count(*) FROM (SELECT * FROM {t} WHERE id >= 40 LIMIT 25)", 3, 3),
    ("SELECT count(*) FROM {t} WHERE id >= 35 AND rand(7) < 0.999999", 5, 5),
    ("SELECT p, count(*) OVER () FROM {t} WHERE id >= 70", 1, 1)
  )

  test("files read, with and without answers, and rows") {
    val texts = queries.map { case (query, files, without) => (query.replace("{t}", plain), files, without) }
    for ((query, files, _) <- texts) assertFiles(query, files)
    withoutAnswers(assert(filesRead(sql(together(texts.map(_._1)))) == texts.map(_._3).sum))
    // All other queries keep the plan without aggregates from the index, so that their rows need no check.
    assertRowsAreIcebergs(texts.collect { case (query, files, without) if files < without => query })
  }

  test("on a partitioned table: filters that Iceberg takes over whole, and groups by the partition") {
    val queries = Seq(
      s"SELECT p, count(*), min(id) FROM $byP GROUP BY p" -> 0,
      s"SELECT p, max(id) FROM $byP WHERE p >= 1 GROUP BY p" -> 0,
      s"SELECT p, count(*) FROM $byP WHERE id >= 15 GROUP BY p" -> 1,
      s"SELECT count(*), min(id) FROM $byP WHERE p = 1 AND id >= 35" -> 1,
      s"SELECT max(p), count(p) FROM $byP WHERE id >= 10" -> 0,
      s"SELECT p, g, count(*) FROM $byP GROUP BY p, g" -> 0,
      s"SELECT DISTINCT p FROM $byP" -> 0
    )
    queries.foreach { case (query, files) => assertFiles(query, files) }
    assertRowsAreIcebergs(queries.map(_._1))
    sql(s"ALTER TABLE $byP DROP PARTITION FIELD p")
    fill(byP, 80, 2)
    build(byP)
    check(s"SELECT p, count(*), max(id) FROM $byP GROUP BY p", 0)
  }

  test("without a filter: the index answers what it proves for all files, and Iceberg the rest from its manifests") {
    def asked(query: String, byIndex: Boolean) = {
      val frame = sql(query.replace("{t}", plain))
      assert(answered(frame) == (if (byIndex) 1 else 0) && Plans.scans(frame).isEmpty, query)
    }
    asked("SELECT count(*), min(id), max(id) FROM {t}", byIndex = true)
    asked("SELECT count(*) + 1 AS c, max(dt) FROM {t} HAVING c > 0", byIndex = true)
    asked("SELECT count(g), min(n), max(n) FROM {t}", byIndex = true)
    asked("SELECT count(n) FROM {t}", byIndex = false)
    val queries = Seq("count(*), min(id), max(id)", "count(n)", "count(g), min(n), max(n)", "min(f), max(f), min(b)")
    assertRowsAreIcebergs(queries.map(functions => s"SELECT $functions FROM $plain"))
  }

  test("deletes: files that they touch are read") {
    val t = make("aggregates_deleted", deletes = "merge-on-read")
    val query = s"SELECT count(*), min(id), max(id) FROM $t WHERE id >= 15"
    check(query, 1)
    sql(s"DELETE FROM $t WHERE id IN (42, 79)")
    build(t)
    check(query, 3)
    check(s"SELECT g, count(*), max(id) FROM $t GROUP BY g", 2)
    sql(s"UPDATE $t SET n = 1 WHERE id = 33")
    check(query.replace("min(id)", "min(n)"), 3)
  }

  test("columns that come later, with and without a default, are read in files that lack them; promoted ones are not") {
    val t = make("aggregates_evolved")
    sql(s"ALTER TABLE $t ADD COLUMN later INT")
    sql(s"ALTER TABLE $t ALTER COLUMN n TYPE BIGINT")
    sql(s"INSERT INTO $t SELECT *, 5 FROM $plain WHERE id = 70")
    build(t)
    check(s"SELECT count(later), min(later) FROM $t WHERE id >= 15", 7)
    check(s"SELECT max(n), min(n) FROM $t WHERE id >= 40", 0)
    sql(s"ALTER TABLE $t DROP COLUMN later")
    sql(s"ALTER TABLE $t ADD COLUMN later INT")
    check(s"SELECT count(later) FROM $t WHERE id >= 40", 5)
  }

  test("other snapshots: time travel, and files that are not indexed yet") {
    val t = make("aggregates_past")
    val first = sql(s"SELECT snapshot_id FROM $t.snapshots").collect().head.getLong(0)
    fill(t, 80, 2)
    val frame = sql(s"SELECT count(*) FROM $t WHERE id >= 35")
    assert(rows(frame) == Seq("[65]"))
    check(s"SELECT count(*) FROM $t WHERE id >= 35", 1)
    check(s"SELECT count(*) FROM $t VERSION AS OF $first WHERE id >= 35", 1)
    fill(t, 100, 1)
    assert(rows(frame) == Seq("[65]"), "a plan keeps its snapshot")
    check(
      s"SELECT (SELECT count(*) FROM $t WHERE id >= 35) - (SELECT count(*) FROM $t VERSION AS OF $first WHERE id >= 35)",
      2)
  }

  // queries whose plan contains one table several times, and the number of aggregates answered from the index
  private val shapes: Seq[(String, Int)] = Seq(
    "SELECT count(*) FROM {t} WHERE id >= 35 UNION ALL SELECT max(id + 1) FROM {t} WHERE id >= 35" -> 1,
    "SELECT count(*) FROM {t} WHERE id >= 35 UNION ALL SELECT count(*) FROM {t} WHERE id >= 35" -> 2,
    "SELECT (SELECT count(*) FROM {t} WHERE id >= 35), (SELECT sum(id) FROM {t} WHERE id >= 35)" -> 1,
    "SELECT (SELECT count(*) FROM {t} WHERE id >= 35), (SELECT min(id) FROM {t} WHERE id >= 35)" -> 2,
    "SELECT id FROM {t} WHERE id IN (SELECT max(id) FROM {t} WHERE id < 35)" -> 1,
    "SELECT id FROM {t} a WHERE id = (SELECT max(id) FROM {t} b WHERE b.g = a.g AND id >= 5) AND id < 60" -> 1,
    "SELECT a.id, c FROM {t} a JOIN (SELECT g, count(*) c FROM {t} WHERE id >= 5 GROUP BY g) b ON a.g = b.g WHERE a.id < 30" -> 1,
    "WITH c AS (SELECT g, max(id) m FROM {t} WHERE id >= 5 GROUP BY g) SELECT x.g, y.m FROM c x JOIN c y ON x.g = y.g" -> 2,
    "SELECT count(*) FROM (SELECT g, count(*) FROM {t} WHERE id >= 5 GROUP BY g)" -> 1,
    "SELECT g, count(*) FROM {t} WHERE id >= 5 GROUP BY ROLLUP (g)" -> 0
  )

  test("a table at several places of a plan; adaptive execution on and off") {
    val texts = shapes.map { case (query, count) => (query.replace("{t}", plain), count) }
    // Runtime join pruning would add a further copy of the other side's scan.
    withConf("spark.sql.zonemap.join.runtime.enabled" -> "false") {
      assert(texts.map { case (query, _) => query -> answered(sql(query)) } == texts)
    }
    assertRowsAreIcebergs(texts.map(_._1))
    val all = together(texts.map(_._1))
    withConf("spark.sql.adaptive.enabled" -> "false")(assert(rows(sql(all)) == withoutAnswers(rows(sql(all)))))
  }

  test("equal aggregates share what is left to read, others do not") {
    val query = s"SELECT count(*) FROM $plain WHERE id >= 35"
    def scan(text: String) = Plans.scans(sql(text)).head
    assert(scan(query) == scan(query))
    assert(scan(query) != withoutAnswers(scan(query)))
    assert(withoutAnswers(scan(query)) != scan(query))
    assert(scan(query) != scan(query.replace("count(*)", "count(n)").replace("35", "25")))
  }

  test("aggregates of one scan that are answered from other files leave other files to read") {
    def scan(function: String) = Plans.scans(sql(s"SELECT $function FROM $plain WHERE id >= 35")).head
    withoutAnswers(assert(scan("count(d)") == scan("max(d)") && scan("count(d)").scan == scan("max(d)").scan))
    assert(scan("count(d)").scan != scan("max(d)").scan, "max(d) also reads the file with NaN")
    assert(scan("count(d)") != scan("max(d)"))
  }

  test("an aggregate in the step of a recursive query, which Spark runs again, reads every file") {
    val counted = s"SELECT count(*) AS c FROM $plain WHERE id >= 35"
    val query = "WITH RECURSIVE walk(n, c) AS (SELECT 0, 0L UNION ALL " +
      s"SELECT n + 1, k.c FROM walk JOIN ($counted) k ON k.c > n WHERE n < 3) SELECT n, c FROM walk"
    assert(rows(sql(query)) == Seq("[0,0]", "[1,45]", "[2,45]", "[3,45]"))
  }

  test("a value that the type of the query cannot hold undoes the whole answer") {
    val plan = withoutAnswers(optimized(sql(s"SELECT b, min(n) FROM $plain WHERE id >= 35 GROUP BY b")))
    val found = plan.collectFirst { case AggregatedScan(found) => found }.get
    def answer(least: Long*) = {
      val groups = least.zipWithIndex.map { case (n, b) =>
        GroupAnswer(Seq(ZoneValues.ofLong(b.toLong)), Seq(ZoneValues.ofLong(n)))
      }
      new AnsweredPlan(found, groups).rows
    }
    assert(answer(5, Int.MaxValue.toLong).map(_.data.size).contains(2))
    assert(answer(5, Int.MaxValue + 1L).isEmpty)
  }

  test("a join by the partition, whose keys Spark takes from an aggregate twice, is right") {
    val t = make("aggregates_joined", partitioned = true)
    val query = s"SELECT f.id FROM $t f JOIN (SELECT p, max(id) AS top FROM $t WHERE id >= 35 GROUP BY p) k " +
      "ON f.p = k.p WHERE k.top > 60 AND f.id > 5"
    assert(rows(sql(query)) == stock(rows(sql(query))))
    val prefix = "spark.sql.optimizer.dynamicPartitionPruning"
    withConf(
      s"$prefix.reuseBroadcastOnly" -> "false",
      s"$prefix.fallbackFilterRatio" -> "100",
      "spark.sql.zonemap.join.runtime.enabled" -> "false") {
      val expressions = optimized(sql(query)).flatMap(_.expressions)
      val asked = expressions.flatMap(_.collect { case subquery: DynamicPruningSubquery => subquery })
      assert(asked.nonEmpty, "Spark runs a second copy of the aggregate for the keys")
      assert(rows(sql(query)) == stock(rows(sql(query))))
    }
  }

  test("cached results, frames run again, and writes of aggregates") {
    val query = s"SELECT g, count(*) AS c FROM $plain WHERE id >= 15 GROUP BY g"
    val expected = stock(rows(sql(query)))
    val frame = sql(query)
    assert(rows(frame) == expected && rows(frame) == expected && frame.count() == 4)
    val cached = sql(query).cache()
    try assert(rows(cached) == expected && rows(sql(query)) == expected && rows(sql(query).where("c > 5")).size == 3)
    finally cached.unpersist(): Unit
    sql(s"CREATE OR REPLACE TABLE lake.db.aggregates_written USING iceberg AS $query")
    sql(s"INSERT INTO lake.db.aggregates_written $query")
    assert(rows(sql("SELECT DISTINCT * FROM lake.db.aggregates_written")) == expected)
    assert(sql("SELECT g FROM lake.db.aggregates_written").collect().length == 8)
    assert(frame.queryExecution.optimizedPlan.schema == stock(sql(query)).queryExecution.optimizedPlan.schema)
  }

  private def optimized(frame: DataFrame): LogicalPlan = frame.queryExecution.optimizedPlan

  private def isAnswer(plan: LogicalPlan): Boolean =
    plan.isInstanceOf[LocalRelation] || plan.isInstanceOf[AnsweredRows]

  test("applied twice the rules give the same plan object") {
    for (from <- Seq(30, 35)) {
      val plan = optimized(sql(s"SELECT count(*) FROM $plain WHERE id >= $from"))
      assert(plan.exists(isAnswer) && (AggregateRule(plan) eq plan) && (SnapshotAggregateRule(plan) eq plan))
      assert(plan.exists(_.isInstanceOf[Union]) == (from == 35))
    }
  }

  test("plans that are left as they are: correlated subqueries, other engines, shadow mode, switched off") {
    val query = s"SELECT count(*) FROM $plain WHERE id >= 35"
    val whole = withoutAnswers(optimized(sql(query)))
    val unfiltered = s"SELECT count(*), max(id) FROM $plain"
    for (rule <- Seq(AggregateRule, SnapshotAggregateRule))
      assert(rule(Subquery(whole, correlated = true)).children.head eq whole)
    val beside = spark.sessionState.conf.clone()
    beside.setConfString("spark.plugins", "org.apache.spark.CometPlugin")
    SQLConf.withExistingConf(beside)(assert(AggregateRule(whole) eq whole))
    for (key <- Seq("spark.sql.zonemap.shadow.enabled" -> "true", "spark.sql.zonemap.aggregates.enabled" -> "false"))
      withConf(key)(assert(filesRead(sql(query)) == 5 && answered(sql(unfiltered)) == 0, key))
    assert(answered(sql(unfiltered)) == 1)
    val option = spark.read.option("zonemap.aggregates.enabled", "false").table(plain).where("id >= 35")
    assert(filesRead(option.groupBy().count()) == 5)
  }

  test("a table that nothing is known of") {
    val t = make("aggregates_unknown", indexed = false)
    val query = s"SELECT count(*) FROM $t WHERE id >= 35"
    assert(filesRead(sql(query)) == 5 && rows(sql(query)) == Seq("[45]"))
  }
}
