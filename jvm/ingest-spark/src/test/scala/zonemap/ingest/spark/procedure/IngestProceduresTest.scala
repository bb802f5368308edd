// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.spark.procedure

import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.FileTime

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Schema
import org.apache.iceberg.catalog.TableIdentifier
import org.apache.iceberg.spark.Spark3Util
import org.apache.iceberg.types.Types
import org.apache.spark.scheduler.SparkListenerApplicationEnd
import org.apache.spark.sql.Row
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.types.StringType

import zonemap.iceberg.report.{PlanMode, Tier}
import zonemap.ingest.spark.IngestSession
import zonemap.spark.PlanningCounters
import zonemap.spark.scan.IcebergScans

/** CALL zonemap.system.ingest_*: rows, mistakes, the committer of a driver, and the index of committed snapshots. */
class IngestProceduresTest extends IngestSession {

  private def appendIds(table: String, from: Long, until: Long): Unit =
    append(spark.range(from, until).toDF("id"), table)

  private def status(table: String): Row = call(s"ingest_status(table => '$table')")

  private def eventually(seconds: Int = 30)(holds: => Boolean): Unit = {
    val deadline = System.nanoTime() + seconds * 1000000000L
    while (!holds && System.nanoTime() < deadline) Thread.sleep(50)
    if (!holds) fail(s"does not hold after $seconds seconds")
  }

  private def inRoot(table: String, folder: String): Seq[Path] = {
    val root = Paths.get(status(table).getAs[String]("root").stripPrefix("file:")).resolve(folder)
    if (!Files.exists(root)) Nil
    else Files.walk(root).iterator().asScala.filter(Files.isRegularFile(_)).filter(_.toString.endsWith(".rec")).toSeq
  }

  test("status: an unused table, pending appends, committed appends") {
    val t = create("ingest_status", "id BIGINT")
    val unused = status(t)
    assert(unused.getAs[Long]("pending_records") == 0 && unused.getAs[Long]("oldest_pending_seconds") == -1)
    assert(unused.getAs[String]("pointer") == "" && unused.getAs[String]("problem") == "")
    appendIds(t, 0, 10)
    appendIds(t, 10, 20)
    val waiting = status(t)
    assert(waiting.getAs[Long]("pending_records") == 2 && waiting.getAs[Long]("pending_bytes") > 0)
    assert(waiting.getAs[Long]("oldest_pending_seconds") >= 0 && waiting.getAs[Long]("committed_records") == 0)
    commit(t)
    val done = status(t)
    assert(done.getAs[Long]("pending_records") == 0 && done.getAs[Long]("committed_records") == 2)
    assert(done.getAs[Long]("committed_rows") == 20 && done.getAs[String]("pointer").startsWith("v1|"))
    assert(done.getAs[String]("problem") == "" && done.getAs[String]("loop") == "")
  }

  test("commit: the row of a commit, and of one with nothing to do") {
    val t = create("ingest_commit", "id BIGINT")
    appendIds(t, 0, 10)
    val row = call(s"ingest_commit('$t')")
    assert(row.getAs[String]("branch") == "main" && row.getAs[String]("outcome") == "committed")
    assert(row.getAs[Long]("records") == 1 && row.getAs[Long]("rows") == 10 && row.getAs[Long]("files") >= 1)
    val current = sql(s"SELECT snapshot_id FROM $t.snapshots").head().getLong(0)
    assert(row.getAs[Long]("snapshot_id") == current && row.getAs[String]("message") == "")
    assert(call(s"ingest_commit('$t')").getAs[String]("outcome") == "idle")
  }

  test("commit: a batch whose table was replaced while it wrote is refused, if its columns do not fit any more") {
    val t = create("ingest_replaced", "id BIGINT")
    val replaced = new Schema(Types.NestedField.optional(1, "id", Types.StringType.get()))
    val table = Spark3Util
      .loadIcebergCatalog(spark, "lake")
      .buildTable(TableIdentifier.of("db", "ingest_replaced"), replaced)
    IngestProceduresTest.inTask = () => table.replaceTransaction().commitTransaction()
    val touched = udf { (id: Long) =>
      IngestProceduresTest.inTask()
      id
    }
    append(spark.range(0, 1, 1, 1).select(touched(col("id")).as("id")), t)
    val row = call(s"ingest_commit('$t')")
    assert(row.getAs[Long]("refused") == 1 && row.getAs[Long]("records") == 0, row)
    assert(sql(s"SELECT * FROM $t").schema("id").dataType == StringType && read(t).isEmpty)
  }

  test("pause and resume: nothing is committed between, and the reason is shown") {
    val t = create("ingest_pause", "id BIGINT")
    appendIds(t, 0, 10)
    assert(call(s"ingest_pause(table => '$t', reason => 'compaction')").getString(0) == "compaction")
    val paused = call(s"ingest_commit('$t')")
    assert(paused.getAs[String]("outcome") == "paused" && paused.getAs[String]("message").contains("compaction"))
    assert(status(t).getAs[String]("paused").contains("compaction") && read(t).isEmpty)
    assert(call(s"ingest_resume('$t')").getBoolean(0) && !call(s"ingest_resume('$t')").getBoolean(0))
    assert(commit(t)._2 == 10)
  }

  test("wait: pending, visible, unknown, everything in the queue") {
    val t = create("ingest_wait", "id BIGINT")
    appendIds(t, 0, 10)
    val lane = pending(t).head._1
    def waited(arguments: String) =
      sql(s"CALL zonemap.system.ingest_wait(table => '$t'$arguments)")
        .collect()
        .map(r => (r.getString(0), r.getString(2)))
    assert(waited(", timeout_seconds => 0").toSeq == Seq((lane, "pending")))
    assert(waited(s", lane => '$lane', seq => 0, timeout_seconds => 0").toSeq == Seq((lane, "pending")))
    commit(t)
    assert(waited(s", lane => '$lane', seq => 0").toSeq == Seq((lane, "visible")))
    assert(waited(s", lane => 'nobody', seq => 3, timeout_seconds => 0").toSeq == Seq(("nobody", "unknown")))
    assert(waited("").isEmpty)
  }

  test("a committer of the driver: started once, commits by itself, stopped") {
    val t = create("ingest_start", "id BIGINT")
    withConf("spark.sql.zonemap.ingest.interval" -> "100ms") {
      assert(call(s"ingest_start('$t')").getBoolean(0) && !call(s"ingest_start('$t')").getBoolean(0))
    }
    var stopped = false
    try {
      assert(status(t).getAs[String]("loop") == "running")
      for (k <- 0 until 3) {
        appendIds(t, k * 10L, k * 10L + 10)
        val states = sql(s"CALL zonemap.system.ingest_wait('$t')").collect().map(_.getString(2)).toSet
        assert(states.subsetOf(Set("visible")) && read(t).size == k * 10 + 10)
      }
    } finally stopped = call(s"ingest_stop('$t')").getBoolean(0)
    assert(stopped && status(t).getAs[String]("loop") == "" && !call(s"ingest_stop('$t')").getBoolean(0))
    appendIds(t, 30, 40)
    Thread.sleep(500)
    assert(read(t).size == 30 && commit(t)._2 == 10)
  }

  test("a committer of the driver keeps its table, if it was named without a namespace and the session moves on") {
    val t = create("ingest_short", "id BIGINT")
    sql("CREATE NAMESPACE IF NOT EXISTS lake.other")
    sql("USE lake.db")
    try {
      withConf("spark.sql.zonemap.ingest.interval" -> "100ms") {
        assert(call("ingest_start('ingest_short')").getBoolean(0))
      }
      sql("USE lake.other")
      appendIds(t, 0, 10)
      assert(sql(s"CALL zonemap.system.ingest_wait('$t')").collect().map(_.getString(2)).toSeq == Seq("visible"))
    } finally {
      sql("USE spark_catalog.default")
      call(s"ingest_stop('$t')"): Unit
    }
  }

  test("a committer of the driver is stopped after its table was dropped") {
    val t = create("ingest_dropped", "id BIGINT")
    call(s"ingest_start('$t')")
    sql(s"DROP TABLE $t")
    assert(call(s"ingest_stop('$t')").getBoolean(0))
    assert(intercept[Exception](call(s"ingest_stop('$t')")).getMessage.contains("Cannot stop the committer of"))
  }

  test("a committer of the driver ends with the Spark application") {
    val t = create("ingest_application", "id BIGINT")
    call(s"ingest_start('$t')")
    def threads = Thread.getAllStackTraces.keySet().asScala.filter(_.getName == s"zonemap-ingest-$t")
    eventually()(threads.size == 1)
    // the bus of the shared context; the test must not stop the context itself
    val bus = spark.sparkContext.getClass.getMethod("listenerBus").invoke(spark.sparkContext)
    val end = SparkListenerApplicationEnd(System.currentTimeMillis())
    bus.getClass.getMethods.find(_.getName == "post").get.invoke(bus, end)
    eventually()(threads.isEmpty)
    assert(status(t).getAs[String]("loop") == "" && !call(s"ingest_stop('$t')").getBoolean(0))
  }

  test("a committer of the driver that fails says why, tries again, and goes on") {
    val t = create("ingest_failing", "id BIGINT")
    appendIds(t, 0, 10)
    val queueId = Paths.get(status(t).getAs[String]("root").stripPrefix("file:")).resolve("queue-id.json")
    val content = Files.readAllBytes(queueId)
    Files.write(queueId, "damaged".getBytes)
    withConf("spark.sql.zonemap.ingest.interval" -> "100ms")(call(s"ingest_start('$t')"))
    try {
      val loop = () => ingest.status(Spark3Util.loadIcebergTable(spark, t)).get
      eventually()(loop().problem.exists(_.contains("queue-id.json")))
      Files.write(queueId, content)
      eventually()(status(t).getAs[String]("loop") == "running" && read(t).size == 10)
    } finally call(s"ingest_stop('$t')"): Unit
  }

  for (byLoop <- Seq(false, true))
    test(
      s"a query after a commit is planned from the index, ${if (byLoop) "committer of the driver" else "ingest_commit"}") {
      val t = create(s"ingest_fresh_$byLoop", "id BIGINT")
      appendIds(t, 0, 10)
      commit(t)
      build(t)
      withConf("spark.sql.zonemap.upkeep.mode" -> "memory", "spark.sql.zonemap.upkeep.maxCpuShare" -> "1") {
        assert(sql(s"SELECT * FROM $t WHERE id = 3").count() == 1)
        withConf("spark.sql.zonemap.ingest.interval" -> "100ms")(if (byLoop) call(s"ingest_start('$t')"))
        try {
          appendIds(t, 100, 110)
          if (byLoop) sql(s"CALL zonemap.system.ingest_wait('$t')").collect(): Unit else commit(t): Unit
          eventually() {
            PlanningCounters.awaitUpkeep(10000)
            call(s"index_status('$t')").getAs[Boolean]("covered")
          }
          val plan = sql(s"SELECT * FROM $t WHERE id = 105").queryExecution.executedPlan
          val report = plan.collectFirst { case scan: BatchScanExec => IcebergScans.report(scan.scan) }.flatten.get
          assert(report.mode == PlanMode.Exact && report.tier.contains(Tier.Hot) && report.kept == 1, report)
          assert(sql(s"SELECT * FROM $t WHERE id = 105").count() == 1)
        } finally if (byLoop) call(s"ingest_stop('$t')"): Unit
      }
    }

  test("commits within the pause of upkeep are covered at once") {
    val t = create("ingest_paused_upkeep", "id BIGINT")
    appendIds(t, 0, 10)
    commit(t)
    build(t)
    withConf("spark.sql.zonemap.upkeep.mode" -> "memory", "spark.sql.zonemap.upkeep.maxCpuShare" -> "0.000001") {
      (1 to 3).foreach { i =>
        assert(sql(s"SELECT * FROM $t WHERE id = 3").count() == 1)
        appendIds(t, 100 * i, 100 * i + 10)
        commit(t)
        eventually()(call(s"index_status('$t')").getAs[Boolean]("covered"))
      }
    }
  }

  test("a damaged record: quarantined with a reason, listed, discarded") {
    val t = create("ingest_damaged", "id BIGINT")
    appendIds(t, 0, 10)
    val record = inRoot(t, "pending").head
    Files.write(record, Files.readAllBytes(record).dropRight(5))
    val lane = pending(t).head._1
    appendIds(t, 10, 20)
    commit(t)
    assert(read(t).size == 10)
    val rows = sql(s"CALL zonemap.system.ingest_quarantined('$t')").collect()
    assert(rows.map(r => (r.getString(0), r.getLong(1))).toSeq == Seq((lane, 0L)))
    assert(rows.head.getAs[String]("code").nonEmpty && rows.head.getAs[String]("message").nonEmpty)
    assert(status(t).getAs[Long]("quarantined") == 1)
    assert(call(s"ingest_discard(table => '$t', lane => '$lane', seq => 0)").getString(0) == lane)
    assert(status(t).getAs[Long]("quarantined") == 0)
  }

  test("gc lists the files that no append names, and waits for the queue") {
    val t = create("ingest_collect_garbage", "id BIGINT")
    appendIds(t, 0, 10)
    assert(errorOf(call(s"ingest_collect_garbage(table => '$t', older_than_hours => 0)")).contains("older_than_hours"))
    commit(t)
    val committed = dataFiles(t)
    val orphan = Files.copy(Paths.get(committed.head), Paths.get(committed.head).resolveSibling("orphan.parquet"))
    val orphans = Set(orphan.toString)
    def collected(hours: Int, dryRun: Boolean) =
      sql(s"CALL zonemap.system.ingest_collect_garbage(table => '$t', older_than_hours => $hours, dry_run => $dryRun)")
        .collect()
        .map(_.getString(0).stripPrefix("file:"))
        .filter(_.endsWith(".parquet"))
        .toSet
    assert(collected(0, dryRun = true) == orphans && dataFiles(t) == committed ++ orphans)
    val young = errorOf(call(s"ingest_collect_garbage(table => '$t', older_than_hours => 71, dry_run => false)"))
    assert(young.contains("Give at least 72") && dataFiles(t) == committed ++ orphans)
    val old = FileTime.fromMillis(System.currentTimeMillis() - 80L * 3600 * 1000)
    dataFiles(t).foreach(file => Files.setLastModifiedTime(Paths.get(file), old))
    assert(collected(72, dryRun = false) == orphans && dataFiles(t) == committed && read(t).size == 10)
  }

  test("mistakes: the message names the value, the reason and what to do") {
    val t = create("ingest_mistakes", "id BIGINT")
    val procedures =
      Seq("commit", "status", "start", "stop", "pause", "resume", "wait", "quarantined", "reset", "collect_garbage")
    for (name <- procedures) {
      val error = errorOf(call(s"ingest_$name(table => 'lake.db.nope')"))
      assert(error.contains("'lake.db.nope'") && error.contains("Name an existing Iceberg table"), name)
    }
    val cases = Seq(
      s"ingest_commit(table => '$t', timeout_seconds => -1)" -> Seq("'timeout_seconds'", "0 or more"),
      s"ingest_wait(table => '$t', lane => 'a')" -> Seq("'a'", "'seq' is missing"),
      s"ingest_wait(table => '$t', seq => 1)" -> Seq("append 1", "'lane' is missing"),
      s"ingest_wait(table => '$t', lane => 'a', seq => -1)" -> Seq("'seq'", "0 or more"),
      s"ingest_requeue(table => '$t', lane => 'a', seq => 1)" -> Seq("record 1 of lane 'a'", "ingest_quarantined"),
      s"ingest_discard(table => '$t', lane => 'a', seq => 1)" -> Seq("record 1 of lane 'a'", "ingest_quarantined"),
      s"ingest_requeue(table => '$t', lane => CAST(NULL AS STRING), seq => 1)" -> Seq("NULL", "'lane'"),
      s"ingest_reset(table => '$t', watermarks => map('a', CAST(NULL AS BIGINT)))" -> Seq("NULL", "'watermarks'"),
      s"ingest_collect_garbage(table => '$t', older_than_hours => -1)" -> Seq("'older_than_hours'", "0 or more"),
      s"ingest_pause(table => '$t', reason => CAST(NULL AS STRING))" -> Seq("NULL", "'reason'"),
      s"ingest_status(table => '$t.files')" -> Seq("metadata")
    )
    for ((text, parts) <- cases) {
      val error = errorOf(sql(s"CALL zonemap.system.$text").collect())
      parts.foreach(part => assert(error.contains(part), s"$text: $error"))
    }
    withConf("spark.sql.zonemap.ingest.root" -> "relative") {
      val error = errorOf(call(s"ingest_status('$t')"))
      assert(error.contains("'relative'") && error.contains("spark.sql.zonemap.ingest.root"), error)
    }
    withConf("spark.sql.zonemap.ingest.maxDutyCycle" -> "2")(
      assert(errorOf(call(s"ingest_commit('$t')")).contains("spark.sql.zonemap.ingest.maxDutyCycle='2'")))
  }

  test("a root by conf: writers and committers that use it meet there") {
    val t = create("ingest_root", "id BIGINT")
    val root = newFolder("root").toString
    withConf("spark.sql.zonemap.ingest.root" -> root) {
      appendIds(t, 0, 10)
      assert(status(t).getAs[String]("root").startsWith(root) && inRoot(t, "pending").size == 1)
    }
    assert(status(t).getAs[Long]("pending_records") == 0)
    withConf("spark.sql.zonemap.ingest.root" -> root)(assert(commit(t)._2 == 10))
  }
}

private object IngestProceduresTest {

  /** What a task of a test does once it runs. */
  @volatile var inTask: () => Unit = () => ()
}
