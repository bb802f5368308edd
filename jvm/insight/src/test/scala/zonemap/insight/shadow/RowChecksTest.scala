// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.iceberg.Table
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.expressions.AttributeSet
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.functions.{col, udf}

import zonemap.insight.StartedInsights
import zonemap.spark.{PlanningCounters, SharedSession}

/** Sampled queries are repeated with and without the index after they have run: SOUNDNESS, S139 and S140. */
class RowChecksTest extends SharedSession {
  private val Sample = "spark.sql.zonemap.shadow.sample"
  private val Patience = 60000L

  private def checks = StartedInsights.of(runtime.parts).rowChecks

  private def until(what: String)(condition: => Boolean): Unit = {
    val deadline = System.currentTimeMillis() + Patience
    while (!condition && System.currentTimeMillis() < deadline) Thread.sleep(20)
    assert(condition, what): Unit
  }

  private def handled: Long = checks.compared + checks.skipped + checks.dropped

  /**
   * Listeners receive a query after it has finished, with the confs of that later moment. This method waits until all
   * earlier queries have been delivered.
   */
  private def awaitListeners(): Unit = {
    val bus = classOf[SparkContext].getMethod("listenerBus").invoke(spark.sparkContext)
    bus.getClass.getMethod("waitUntilEmpty").invoke(bus): Unit
  }

  /** Runs one action with every query sampled, waits for the check of the query, and returns the outcome. */
  private def sampled(confs: (String, String)*)(action: => Any): Seen = {
    awaitListeners()
    val (all, compared, skipped, wrong) =
      (handled, checks.compared, checks.skipped, PlanningCounters.shadowMismatches())
    withConf((Sample -> "1.0") +: confs: _*) {
      action
      until("the query is looked at")(handled > all)
    }
    Seen(checks.compared - compared, checks.skipped - skipped, PlanningCounters.shadowMismatches() - wrong)
  }

  private def load(table: String): Table = Spark3Util.loadIcebergTable(spark, table)
  private def problem(table: String): Option[String] = runtime.process.iceberg.index.tables.of(load(table)).quarantined

  /** Creates and indexes a table, and loads its index into the JVM. */
  private def held(name: String): String = {
    val table = newTable(name)
    build(table)
    assert(planned(sql(s"SELECT * FROM $table").collect()) == 1)
    table
  }

  private def assertFound(table: String, rule: String, confs: (String, String)*)(query: String): Unit = {
    val expected = rowsWith(Seq("spark.sql.zonemap.enabled" -> "false"))(query)
    assert(rowsWith(confs)(query) != expected, s"the index makes no difference to $query")
    assert(sampled(confs: _*)(sql(query).collect()) == Seen(1, 0, 1), query)
    assert(problem(table).exists(_.contains(s"(rule: $rule)")), s"${problem(table)} for $query")
    assert(planned(assert(rowsWith(confs)(query) == expected)) == 0, "Iceberg plans from now on")
    build(table)
    assert(problem(table).isEmpty && sampled(confs: _*)(sql(query).collect()) == Seen(1, 0, 0)): Unit
  }

  /** The rows of the query. For a LIMIT without an order only their number, because any rows are correct. */
  private def rowsWith(confs: Seq[(String, String)])(query: String): Seq[String] = {
    val found = withConf(confs: _*)(rows(sql(query)))
    if (query.contains(" LIMIT ") && !query.contains(" ORDER BY ")) Seq(found.size.toString) else found
  }

  test("a wrong bound of first rows is found, and named topk") {
    val t = held("shadow_topk")
    // The index now reports more rows per file than the files hold.
    WrongIndex.put(load(t), rows = 3)
    assertFound(t, "topK.enabled")(s"SELECT id, s FROM $t ORDER BY id DESC LIMIT 15")
  }

  test("a wrong cut for a LIMIT is found by the number of rows") {
    val t = held("shadow_limit")
    WrongIndex.put(load(t), rows = 3)
    assertFound(t, "limit.enabled")(s"SELECT * FROM $t LIMIT 15")
  }

  test("a wrong answer to an aggregate is found") {
    val t = held("shadow_max")
    WrongIndex.put(load(t), moved = 1000)
    assertFound(t, "aggregates.enabled")(s"SELECT max(id) FROM $t WHERE p >= 0")
  }

  test("a wrong range of a function is found") {
    val t = held("shadow_function")
    WrongIndex.put(load(t), moved = 1000)
    assertFound(t, "expressions.enabled")(s"SELECT id, s FROM $t WHERE id + 1 = 8")
  }

  test("wrong keys of joins are found, at plan time and at run time") {
    val (t, d) = (held("shadow_join"), held("shadow_dimension"))
    WrongIndex.put(load(t), moved = 1000)
    assertFound(t, "join.static.enabled", "spark.sql.autoBroadcastJoinThreshold" -> "-1")(
      s"SELECT t.id FROM $t t JOIN $d d ON t.id = d.id WHERE d.s = '7'")
    build(d)
    assert(planned(sql(s"SELECT * FROM $t").collect()) == 1)
    WrongIndex.put(load(t), moved = 1000)
    assertFound(t, "join.runtime.enabled")(
      s"SELECT /*+ BROADCAST(d) */ t.id FROM $t t JOIN (SELECT id FROM RANGE(7, 9)) d ON t.id = d.id")
  }

  test("wrong bounds below an ordinary filter are the planning of files") {
    val t = held("shadow_plain")
    WrongIndex.put(load(t), moved = 1000)
    assertFound(t, "planning of files")(s"SELECT id FROM $t WHERE id = 7")
  }

  test("a right index has no difference, whatever prunes") {
    val (t, d) = (held("shadow_right"), held("shadow_right_dimension"))
    sql(s"DELETE FROM $t WHERE id = 33")
    val queries = Seq(
      s"SELECT * FROM $t",
      s"SELECT * FROM $t WHERE id > 25 AND p = 1",
      s"SELECT id, s FROM $t ORDER BY id DESC LIMIT 15",
      s"SELECT s FROM $t ORDER BY p, id LIMIT 3 OFFSET 2",
      s"SELECT * FROM $t LIMIT 15",
      s"SELECT max(id), count(*), min(s) FROM $t WHERE id >= 5",
      s"SELECT p, sum(id / 3D), avg(id) FROM $t GROUP BY p",
      s"SELECT p, CAST(sum(id / 3D) AS STRING) FROM $t GROUP BY p HAVING sum(id / 3D) > 0.5",
      s"SELECT round(stddev(id), 2), sign(sum(id - 20.5D)), CAST(min(id * 0D) AS STRING) FROM $t WHERE id > 3",
      s"SELECT id FROM $t ORDER BY id * -0D, id LIMIT 3",
      s"SELECT * FROM $t WHERE id + 1 = 8",
      s"SELECT t.id FROM $t t JOIN $d d ON t.id = d.id WHERE d.s = '7'",
      s"SELECT * FROM $t WHERE id IN (SELECT id FROM $d WHERE s LIKE '1%')",
      s"WITH w AS (SELECT * FROM $t WHERE id < 9) SELECT a.id, b.s FROM w a LEFT JOIN w b ON a.id = b.id + 1",
      s"SELECT id, current_timestamp() FROM $t WHERE id = 1 AND current_date() > DATE'2020-01-01'",
      s"SELECT id, IF(id = 7, NULL, s) FROM $t WHERE id < 20 UNION ALL SELECT p, s FROM $t WHERE id = 4"
    )
    queries.foreach(query => assert(sampled()(sql(query).collect()) == Seen(1, 0, 0), query))
    assert(problem(t).isEmpty && problem(d).isEmpty)
  }

  test("what may give other rows by itself is not run again") {
    val t = held("shadow_skipped")
    val foreign = udf((id: Long) => id + 1)
    val queries = Seq[(String, () => Any)](
      "a user-defined function" -> (() => spark.table(t).select(foreign(col("id"))).collect()),
      "random" -> (() => sql(s"SELECT id, rand() FROM $t").collect()),
      "a random filter" -> (() => sql(s"SELECT id FROM $t WHERE rand() < 0.5").collect()),
      "the first of a group" -> (() => sql(s"SELECT first(s) FROM $t GROUP BY p").collect()),
      "a list of a group" -> (() => sql(s"SELECT collect_list(s) FROM $t GROUP BY p").collect()),
      "a limit within" -> (() => sql(s"SELECT max(id) FROM (SELECT id FROM $t LIMIT 5)").collect()),
      "a limit in a subquery" -> (() => sql(s"SELECT id FROM $t WHERE id IN (SELECT id FROM $t LIMIT 5)").collect()),
      "first rows by texts that are equal in a collation" -> (() =>
        sql(s"SELECT id FROM $t ORDER BY s COLLATE UTF8_LCASE LIMIT 3").collect()),
      "the sign of a zero within the least array" -> (() =>
        sql(s"SELECT CAST(min(array(id / 3D)) AS STRING) FROM $t").collect()),
      "the least of texts that are equal in a collation" -> (() =>
        sql(s"SELECT CAST(min(s COLLATE UTF8_LCASE) AS STRING COLLATE UTF8_BINARY) FROM $t").collect()),
      "groups of a collation" -> (() =>
        sql(s"SELECT CAST(c AS STRING COLLATE UTF8_BINARY) FROM (SELECT DISTINCT s COLLATE UTF8_LCASE AS c FROM $t)")
          .collect()),
      "a sum that is NULL if it overflows on the way" -> (() => sql(s"SELECT try_sum(id) FROM $t").collect()),
      "a sum of the largest decimals" -> (() => sql(s"SELECT sum(CAST(id AS DECIMAL(38, 0))) FROM $t").collect()),
      "a function that fails for a hash in place of an average" -> (() =>
        sql(s"SELECT element_at(array(1, 2), CAST(avg(id / 3D) > 1 AS INT)) FROM $t").collect()),
      "a text whose length depends on an average" -> (() =>
        sql(s"SELECT lpad('x', CAST(avg(id / 3D) AS INT), 'y') FROM $t").collect()),
      "a map" -> (() => sql(s"SELECT map(id, s) FROM $t").collect()),
      "a window" -> (() => sql(s"SELECT row_number() OVER (ORDER BY p) FROM $t").collect()),
      "a metadata table" -> (() => sql(s"SELECT a.file_path FROM $t.files a JOIN $t b ON b.id = 3").collect())
    )
    queries.foreach { case (what, action) => assert(sampled()(action()) == Seen(0, 1, 0), what) }
    Seq(s"SELECT id, rand() FROM $t", s"SELECT id FROM $t WHERE rand() < 0.5").foreach { query =>
      val obstacle = RepeatableQuery.obstacle(sql(query).queryExecution.analyzed)
      assert(obstacle.exists(_.endsWith("is not deterministic")), query)
    }
  }

  private val pairs = "VALUES (1, 2), (3, 2), (5, 6) AS t(a, b)"

  test("of first rows the sorted values are determined, of other limits the number of rows, of inner limits nothing") {
    def determined(query: String) =
      Determined.rows(sql(query).queryExecution.analyzed).map(found => (found.countOnly, found.plan.output.size))
    assert(determined(s"SELECT a, b FROM $pairs") == Right((false, 2)))
    assert(determined(s"SELECT a, b FROM $pairs ORDER BY b LIMIT 1") == Right((false, 1)))
    assert(determined(s"SELECT a, b FROM $pairs LIMIT 1") == Right((true, 2)))
    assert(determined(s"SELECT max(a) FROM (SELECT a FROM $pairs LIMIT 1)").isLeft)
    assert(determined(s"SELECT a FROM $pairs WHERE a IN (SELECT b FROM $pairs LIMIT 1)").isLeft)
  }

  test("a digest tells apart the column of a null, and how often a row occurs") {
    def digest(values: String): RowDigest = {
      val texts = sql(s"SELECT CAST(a AS STRING), CAST(b AS STRING) FROM VALUES $values AS t(a, b)")
      val plan = texts.queryExecution.analyzed
      val compared = Comparable(plan, Nil, AttributeSet(plan.output), values)
      val query = spark.asInstanceOf[ClassicSession].sessionState.executePlan(RowDigest.planOf(compared))
      RowDigest.read(query.executedPlan.executeCollectPublic().head)
    }
    def differ(left: String, right: String): Boolean = digest(left).differenceTo(digest(right)).isDefined
    assert(!differ("('a', 'b'), ('c', NULL)", "('c', NULL), ('a', 'b')"))
    assert(differ("('a', NULL)", "(NULL, 'a')"))
    assert(differ("('a', 'b')", "('a', 'b'), ('a', 'b')"))
    assert(differ("('a', 'b')", "('a', 'c')"))
  }

  test("what is added and compared in any order has one digest, and other numbers have another") {
    def digest(query: String, numbers: String*): RowDigest = {
      val rows = numbers.zipWithIndex.map { case (number, i) => s"($i, $number)" }.mkString(", ")
      // partitions are added in their order
      val text = s"SELECT $query FROM (SELECT * FROM VALUES $rows AS t(i, x) DISTRIBUTE BY i SORT BY i)"
      val plan = OrderFree.of(sql(text).queryExecution.analyzed)
      val check = RowDigest.planOf(Comparable(plan, Nil, AttributeSet(plan.output), text))
      RowDigest.read(
        spark.asInstanceOf[ClassicSession].sessionState.executePlan(check).executedPlan.executeCollectPublic().head)
    }
    val results =
      Seq("sum(x)", "avg(x)", "sum(CAST(x AS FLOAT))", "stddev(x)", "sign(sum(x))", "IF(sum(x) > 0.5, 'a', 'b')") :+
        "sum(x) FILTER (WHERE x > -2)" :+ "CAST(sum(DISTINCT x) AS STRING)" :+ "CAST(stddev(x) AS STRING)"
    results.foreach { result =>
      val numbers =
        if (result.contains("stddev(x)")) Seq("0.1D", "0.7D", "1000.3D", "-33.33D", "NULL")
        else Seq("1e16D", "1D", "-1e16D", "0.1D", "NULL")
      val orders = numbers.permutations.zipWithIndex.collect { case (order, i) if i % 19 == 0 => order }
      val digests = orders.map(digest(result, _: _*)).toSet
      assert(digests.size == 1, result)
      if (!result.contains("sign") && !result.contains("IF"))
        assert(digest(result, numbers :+ "2D": _*) != digests.head, result)
    }
    for (extreme <- Seq("min", "max"); zero <- Seq("x", "CAST(x AS FLOAT)")) {
      val least = s"CAST($extreme($zero) AS STRING)"
      assert(digest(least, "0D", "-0D") == digest(least, "-0D", "0D"), least)
      assert(digest(least, "0D") != digest(least, "1D"), least)
    }
  }

  test("writes are not run again") {
    val (t, target) = (held("shadow_written"), newTable("shadow_target"))
    val before = load(target).currentSnapshot().sequenceNumber()
    assert(sampled()(sql(s"INSERT INTO $target SELECT * FROM $t WHERE id = 3")).compared == 0)
    sampled()(sql(s"SELECT * FROM $t").collect())
    assert(load(target).currentSnapshot().sequenceNumber() == before + 1)
  }

  test("nothing runs at sample 0, and the checks leave the session's confs alone") {
    val t = held("shadow_none")
    sampled()(sql(s"SELECT * FROM $t").collect())
    val (before, confs) = (handled, spark.conf.getAll)
    (0 until 5).foreach(_ => sql(s"SELECT * FROM $t WHERE id = 3").collect())
    awaitListeners()
    assert(handled == before)
    sampled()(sql(s"SELECT * FROM $t WHERE id = 4").collect())
    awaitListeners()
    assert(handled == before + 1, "the runs of a check are not queries to sample")
    assert(spark.conf.getAll == confs)
  }
}

/** The number of sampled queries by outcome. */
private final case class Seen(compared: Long, skipped: Long, mismatches: Long)
