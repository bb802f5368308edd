// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.history

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.Row
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart

import zonemap.iceberg.report.{CountedStep, CountedSteps, FileTotal, PlanStep}
import zonemap.iceberg.testing.LoggedWarnings
import zonemap.insight.StartedInsights
import zonemap.spark.SharedSession

/** `history`: the newest scans of this driver, with their files, or the reason why Iceberg planned. */
class HistoryTest extends SharedSession {

  private def history(arguments: String) = sql(s"CALL zonemap.system.planned_scans($arguments)").collect().toSeq

  test("the scans of a table, the newest first, with files and the reason of a stock plan") {
    val table = newTable("history")
    assert(history(s"table => '$table'").isEmpty)
    sql(s"SELECT * FROM $table WHERE id = 1").collect()
    build(table)
    sql(s"SELECT * FROM $table WHERE id = 33").collect()
    sql(s"SELECT * FROM $table WHERE p = 1 ORDER BY id LIMIT 2").collect()
    val rows = history(s"table => '$table'")
    assert(rows.map(_.getAs[String]("mode")) == Seq("EXACT", "EXACT", "STOCK"), rows)
    assert(
      rows.head.schema.fieldNames.take(7).toSeq ==
        Seq("planned_at", "table", "mode", "files_considered", "files_kept", "milliseconds", "predicate"))
    val (first, point, stock) = (rows.head, rows(1), rows(2))
    assert(first.getAs[String]("top_k").contains("id <= ") && first.getAs[Long]("limit") == -1, first)
    assert(
      Seq("files_considered", "files_after_bounds", "files_kept").map(point.getAs[Long]) == Seq(5L, 1L, 1L) &&
        point.getAs[String]("predicate") == "id = 33" && point.getAs[Double]("milliseconds") > 0,
      point
    )
    val sizes = sql(s"SELECT file_size_in_bytes FROM $table.files ORDER BY file_path").collect().map(_.getLong(0))
    assert(point.getAs[Long]("bytes_considered") == sizes.sum && sizes.contains(point.getAs[Long]("bytes_kept")), point)
    assert(Seq("bytes_considered", "bytes_kept").map(stock.getAs[Long]) == Seq(-1L, -1L), stock)
    assert(point.getAs[Long]("rows_considered") == 50 && point.getAs[Long]("rows_kept") == 10, point)
    assert(Seq("rows_considered", "rows_kept").map(stock.getAs[Long]) == Seq(-1L, -1L), stock)
    assert(stock.getSeq[Row](stock.fieldIndex("steps")).isEmpty, stock)
    assert(stock.getAs[String]("reason").startsWith("NOT_COVERED: ") && stock.getAs[Long]("files_kept") == -1, stock)
    assert(point.getAs[java.sql.Timestamp]("planned_at").getTime > System.currentTimeMillis() - 600000)
    assert(history(s"table => '$table', max_scans => 1").size == 1 && history("").size >= 3)
  }

  private def steps(row: Row): Seq[Row] = row.getSeq[Row](row.fieldIndex("steps"))

  private def newest(table: String): Row = history(s"table => '$table', max_scans => 1").head

  private def counting(run: => Any): Unit = withConf("spark.sql.zonemap.steps.enabled" -> "true")(run): Unit

  test("steps lead from all files to those that the plan keeps, in files and bytes, once the query has run") {
    val table = newTable("history_steps", partitioned = true)
    build(table)
    counting(sql(s"SELECT * FROM $table WHERE p = 1 AND id < 20 AND s < '5'").collect())
    val row = newest(table)
    val found = steps(row)
    assert(found.map(_.getString(0)) == Seq("partitions", "bounds", "bounds", "bounds"), row)
    assert(found.head.getAs[Long]("files_before") == 5 && found.head.getAs[Long]("files_after") == 2, row)
    for (measure <- Seq("files", "bytes")) {
      val (before, after) =
        (found.map(_.getAs[Long](s"${measure}_before")), found.map(_.getAs[Long](s"${measure}_after")))
      assert(before.head == row.getAs[Long](s"${measure}_considered"), row)
      assert(after.last == row.getAs[Long](s"${measure}_kept") && before.tail == after.init, row)
    }
    assert(found.map(_.getString(1)).contains("bounds of id"), row)
  }

  test("steps of a run include join keys and files that the index answers; EXPLAIN counts those of the plan") {
    val table = newTable("history_run")
    build(table)
    val join = s"SELECT /*+ BROADCAST(o) */ * FROM $table t JOIN (SELECT id FROM RANGE(7, 9)) o ON t.id = o.id"
    counting(sql(join).collect())
    assert(steps(newest(table)).exists(s => s.getString(0) == "join keys" && s.getAs[Long]("files_after") == 1))
    counting(sql(s"SELECT p, count(*) FROM $table WHERE id >= 15 GROUP BY p").collect())
    assert(steps(newest(table)).exists(_.getString(0) == "aggregates"), newest(table))
    sql(s"EXPLAIN SELECT * FROM $table WHERE id = 44").collect()
    assert(steps(newest(table)).last.getAs[Long]("files_after") == 1)
  }

  test("steps.enabled: a run and its text count steps only if it is on; EXPLAIN always does") {
    val table = newTable("history_no_steps", partitioned = true)
    build(table)
    val query = s"SELECT * FROM $table WHERE p = 1 AND id = 33"
    def textOfRun(): String = {
      val execution = sql(query).asInstanceOf[Dataset[_]].queryExecution
      SQLExecution.withNewExecutionId(execution)(runtime.explain(execution.executedPlan))
    }
    sql(query).collect()
    assert(steps(newest(table)).isEmpty && newest(table).getAs[Long]("files_kept") == 1, newest(table))
    val text = textOfRun()
    assert(text.contains("kept after zones: 1") && !text.contains("kept after partitions"), text)
    assert(text.contains(": evaluated by bounds of id"), text)
    assert(steps(newest(table)).isEmpty, newest(table))
    val explained = sql(s"EXPLAIN $query").collect().head.getString(0)
    assert(explained.contains("kept after partitions: 2") && explained.contains(": used by bounds of id"), explained)
    assert(steps(newest(table)).nonEmpty, newest(table))
    counting(assert(textOfRun().contains("kept after partitions: 2")))
  }

  test("a query that fails before it has a plan tells its own error only") {
    val warned = LoggedWarnings.of("zonemap") {
      intercept[Exception](sql("SELECT * FROM lake.db.nowhere").collect())
      intercept[Exception](sql("CALL zonemap.system.index_status(table => 'lake.db.nowhere')").collect())
      history("max_scans => 1")
    }
    assert(warned.isEmpty, warned)
  }

  test("many steps are retained as few, and long texts are cut") {
    val steps = new CountedSteps
    steps.put((0 until 40).map { k =>
      val step = PlanStep.Bounds(Seq(s"c$k" * 200))
      CountedStep(step, FileTotal(100L - k, Some(1000L - k)), FileTotal(99L - k, Some(999L - k)))
    })
    assert(steps.all.size == 16 && steps.all.forall(_.text.length <= 200))
    assert(steps.all.last.text == "25 more steps")
    assert(steps.all.head.filesBefore == 100 && steps.all.last.filesBefore == 85 && steps.all.last.bytesAfter == 960)
  }

  private def runs(table: String): Seq[Long] = history(s"table => '$table'").map(_.getAs[Long]("runs"))

  private def built(name: String): String = {
    val table = newTable(name)
    build(table)
    table
  }

  test("runs: the executions of a query, and none of its explanations") {
    val table = built("history_runs")
    val query = s"SELECT * FROM $table WHERE id = 33"
    sql(s"EXPLAIN $query").collect()
    sql(s"CALL zonemap.system.why_not(query => '$query')").collect()
    sql(s"CALL zonemap.system.advise(table => '$table')").collect()
    sql(query).queryExecution.executedPlan
    assert(runs(table).size >= 3 && runs(table).forall(_ == 0), runs(table))
    val frame = sql(query)
    frame.collect()
    assert(runs(table).head == 1)
    frame.collect()
    assert(runs(table).head == 2)
    frame.count()
    assert(runs(table).take(2) == Seq(1, 2), "another plan")
    sql(s"SELECT count(*) FROM $table WHERE id >= 30").collect()
    assert(runs(table).head == 1 && newest(table).getAs[Long]("files_kept") == 2, "answered from the index")
    sql(s"INSERT INTO $table SELECT id + 100, p, s FROM $table WHERE id = 44")
    assert(runs(table).head == 1, "a command that reads the table")
  }

  test("runs: a query counts though Spark's listeners are late") {
    val table = built("history_late")
    // delays all listeners of the queue, and so the end of the execution that has started
    val slow = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit =
        event match {
          case _: SparkListenerSQLExecutionStart => Thread.sleep(2000)
          case _                                 => ()
        }
    }
    spark.sparkContext.addSparkListener(slow)
    try {
      sql(s"SELECT * FROM $table WHERE id = 33").collect()
      assert(runs(table) == Seq(1))
    } finally spark.sparkContext.removeSparkListener(slow)
  }

  test("runs: adaptive execution plans the stages of a query again, and its scans run once") {
    val table = built("history_adaptive")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1", "spark.sql.adaptive.enabled" -> "true") {
      val text = s"SELECT a.id FROM $table a JOIN $table b ON a.id = b.id WHERE a.p = 1 AND b.s < '4' ORDER BY a.s"
      assert(sql(text).collect().nonEmpty)
      assert(runs(table) == Seq(1, 1), history(s"table => '$table'"))
    }
  }

  test("runs: a cached query reads its files once") {
    val table = built("history_cached")
    val cached = sql(s"SELECT * FROM $table WHERE id < 20").cache()
    try {
      (0 until 3).foreach(_ => assert(cached.count() == 20))
      assert(runs(table).sum == 1, runs(table))
    } finally cached.unpersist(): Unit
  }

  test("runs: a query that fails has run") {
    val table = built("history_failed")
    intercept[Exception](sql(s"SELECT raise_error(s) FROM $table WHERE id = 33").collect())
    assert(runs(table) == Seq(1))
    intercept[Exception](sql(s"SELECT nope FROM $table WHERE id = 33").collect())
    assert(runs(table) == Seq(1), "a query that cannot be planned has not")
  }

  test("shadow mode runs queries again, which are neither planned scans nor runs") {
    val table = built("history_shadow")
    val checks = StartedInsights.of(runtime.parts).rowChecks
    val compared = checks.compared
    withConf("spark.sql.zonemap.shadow.sample" -> "1", "spark.sql.zonemap.shadow.enabled" -> "true") {
      sql(s"SELECT * FROM $table WHERE id = 33").collect()
      val deadline = System.nanoTime() + 60000000000L
      while (checks.compared == compared && System.nanoTime() < deadline) Thread.sleep(50)
      assert(checks.compared > compared)
    }
    assert(runs(table) == Seq(1), history(s"table => '$table'"))
  }

  test("mistakes") {
    val unknown = intercept[Exception](history("table => 'lake.db.nope'"))
    assert(unknown.toString.contains("Cannot show the planned scans of 'lake.db.nope'"), unknown)
    assert(intercept[Exception](history("max_scans => -1")).toString.contains("'max_scans'"))
  }
}
