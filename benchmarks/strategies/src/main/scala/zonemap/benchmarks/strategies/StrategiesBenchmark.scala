// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.strategies

import java.lang.management.ManagementFactory
import java.nio.file.{Path, Paths}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.apache.iceberg.hadoop.HadoopCatalog
import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession

import zonemap.benchmarks.planning.{BenchmarkFiles, BenchmarkSession, Measure, Run}
import zonemap.benchmarks.planning.BenchmarkFiles.deleteTree
import zonemap.iceberg.admin.IndexStatus
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * One stream, written under seven ways to index it: what each costs the writer, and what its queries cost.
 *
 * A layout's batches alternate with those of a table without an index (ABBA), so that both see the same machine.
 * Usage: `StrategiesBenchmark <work folder> <result.json> <rows a batch> <files of the past>:<pairs>[:<layout>]...`
 */
object StrategiesBenchmark {
  private val QueryRuns = 11
  private val PlanRuns = 21

  /** Commits of metadata before a layout is measured, by pair: fifty minutes of the stream before thirty pairs. */
  private def warmUpCommits(pairs: Int): Int = 10 * pairs
  private val threads = ManagementFactory.getThreadMXBean

  /** A batch of a stream: the whole of it, what the index cost on the writer's thread, and its requests there. */
  private final case class Batch(whole: Run, commitPathMillis: Double, commitPathCpuMillis: Double, requests: Long)

  def main(arguments: Array[String]): Unit = {
    require(
      arguments.length >= 4,
      "Usage: StrategiesBenchmark <work folder> <result.json> <rows> <files>:<pairs>[:<layout>]...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    deleteTree(folder)
    val spark = session(folder)
    val catalog = new HadoopCatalog()
    catalog.setConf(spark.sparkContext.hadoopConfiguration)
    catalog.initialize("lake", Map("warehouse" -> folder.toString, "io-impl" -> classOf[CountingFileIO].getName).asJava)
    val rows = arguments(2).toInt
    val sizes = arguments.drop(3).toSeq.map { size =>
      val (numbers, only) = size.split(':').toSeq.splitAt(2)
      val Seq(files, pairs) = numbers.map(_.toInt)
      val stream = new StreamTable(spark, catalog, folder.toString, files, rows)
      println(s"$files files, $pairs pairs of batches of $rows rows")
      if (files == arguments(3).takeWhile(_ != ':').toInt) warmUp(spark, stream)
      val layouts = Layout.indexed
        .filter(layout => only.isEmpty || only.contains(tableOf(layout)))
        .map(layout => measure(spark, stream, layout, pairs))
      Map[String, Any](
        "files" -> files,
        "pairs" -> pairs,
        "rowsABatch" -> rows,
        "warmUpCommits" -> warmUpCommits(pairs),
        "layouts" -> layouts.map(_.asJava).asJava)
    }
    write(Paths.get(arguments(1)), sizes)
    spark.stop()
    deleteTree(folder)
  }

  private def session(folder: Path): SparkSession =
    BenchmarkSession.withLake(
      folder.toString,
      Map("spark.sql.shuffle.partitions" -> "2", "spark.sql.catalog.lake.io-impl" -> classOf[CountingFileIO].getName))

  private def warmUp(spark: SparkSession, stream: StreamTable): Unit = {
    stream.create("warm")
    (0 until 5).foreach(n => stream.batch(n).writeTo("lake.db.warm").append())
  }

  /** A stream runs for days: what indexes it is compiled before it is measured, with commits of metadata only. */
  private def warmUp(spark: SparkSession, stream: StreamTable, layout: Layout, commits: Int): Unit = {
    val name = s"warm_${tableOf(layout)}"
    stream.createEmpty(name)
    val table = Spark3Util.loadIcebergTable(spark, s"lake.db.$name") // as Spark's writers commit to it
    stream.commitFiles(table, 0)
    layout.prepare(table)
    under(spark, layout) {
      planned(spark, coldQuery(stream, name))
      (1 to commits).foreach { number =>
        stream.commitFiles(table, number)
        layout.afterCommit(table)
        UpkeepProcess.ofJvm.upkeep.await(600000)
      }
    }
    drop(spark, table, name)
  }

  private def drop(spark: SparkSession, table: Table, name: String): Unit = {
    spark.sql(s"DROP TABLE lake.db.$name")
    deleteTree(Paths.get(table.location()))
  }

  private def measure(spark: SparkSession, stream: StreamTable, layout: Layout, pairs: Int): Map[String, Any] = {
    warmUp(spark, stream, layout, warmUpCommits(pairs))
    UpkeepProcess.ofJvm.index.clear()
    val name = tableOf(layout)
    val (indexed, plain) = (stream.create(name), stream.create(s"plain_$name"))
    layout.prepare(indexed)
    under(spark, layout)(planned(spark, coldQuery(stream, name))) // the driver has seen the table
    UpkeepProcess.ofJvm.upkeep.await(600000)
    val upkeepBefore = upkeepCpuMillis
    val ours, theirs = mutable.ArrayBuffer.empty[Batch]
    (0 until pairs).foreach { n =>
      def writeOurs(): Unit = ours += under(spark, layout)(batch(stream, indexed, name, n, layout))
      def writeTheirs(): Unit =
        theirs += under(spark, Layout.NoIndex)(batch(stream, plain, s"plain_$name", n, Layout.NoIndex))
      if (n % 2 == 0) { writeOurs(); writeTheirs() }
      else { writeTheirs(); writeOurs() }
    }
    UpkeepProcess.ofJvm.upkeep.await(600000)
    val backgroundMillis = upkeepCpuMillis - upkeepBefore
    val memory = UpkeepProcess.ofJvm.index.tables.residentBytes
    val status = new IndexStatus(UpkeepProcess.ofJvm)
      .of(refreshed(indexed), Some(indexed.currentSnapshot()), PlannerSettings(upkeep = UpkeepMode.Off))
    def runs(number: Int, text: String => String, execute: Boolean) =
      (0 until number).map { _ =>
        (query(spark, layout, text(name), execute), query(spark, Layout.NoIndex, text(s"plain_$name"), execute))
      }.unzip
    val (hot, hotPlain) = runs(QueryRuns, hotQuery(stream, _, pairs), execute = true)
    val (hotPlan, hotPlanPlain) = runs(PlanRuns, hotRows(stream, _, pairs), execute = false)
    val (cold, coldPlain) = runs(PlanRuns, coldQuery(stream, _), execute = false)
    require(hot.map(_._2).toSet == hotPlain.map(_._2).toSet, s"${layout.name}: other rows than without an index")
    drop(spark, indexed, name)
    drop(spark, plain, s"plain_$name")

    def median(runs: Seq[(Double, String)]) = Measure.median(runs.map(_._1))
    val (hotMillis, hotPlainMillis) = (median(hot), median(hotPlain))
    val (hotPlanMillis, hotPlanPlainMillis) = (median(hotPlan), median(hotPlanPlain))
    val (coldMillis, coldPlainMillis) = (median(cold), median(coldPlain))
    val (loss, from, to) =
      Stats.interval(ours.indices.map(i => 1 - theirs(i).whole.wallMillis / ours(i).whole.wallMillis))
    val indexCpu = (ours.map(_.commitPathCpuMillis).sum + backgroundMillis) / pairs
    val batchCpu = Measure.median(theirs.map(_.whole.cpuMillis).toSeq)
    val result = Map[String, Any](
      "layout" -> layout.name,
      "reported" -> layout.reported,
      "rowsPerSecond" -> stream.batch(0).count() / (Measure.median(ours.map(_.whole.wallMillis).toSeq) / 1000),
      "rowsPerSecondWithoutIndex" -> stream.batch(0).count() / (Measure.median(
        theirs.map(_.whole.wallMillis).toSeq) / 1000),
      "writeLoss" -> loss,
      "writeLossFrom" -> from,
      "writeLossTo" -> to,
      "indexCpuMillisABatch" -> indexCpu,
      "batchCpuMillis" -> batchCpu,
      "indexCpuShare" -> indexCpu / batchCpu,
      "commitPathRequests" -> Measure.median(ours.map(_.requests.toDouble).toSeq),
      "commitPathMillisP50" -> Measure.median(ours.map(_.commitPathMillis).toSeq),
      "commitPathMillisP99" -> Stats.quantile(ours.map(_.commitPathMillis).toSeq, 0.99),
      "hotQueryMillis" -> hotMillis,
      "hotQueryMillisWithoutIndex" -> hotPlainMillis,
      "hotPlanMillis" -> hotPlanMillis,
      "hotPlanMillisWithoutIndex" -> hotPlanPlainMillis,
      "coldPlanMillis" -> coldMillis,
      "coldPlanMillisWithoutIndex" -> coldPlainMillis,
      "indexBytes" -> status.bytes,
      "segments" -> status.segments,
      "memoryBytes" -> memory
    )
    println(
      f"  ${layout.name}%-20s loss ${loss * 100}%6.1f %% [${from * 100}%.1f, ${to * 100}%.1f]  index/batch CPU ${indexCpu / batchCpu * 100}%6.2f %%  " +
        f"requests ${result("commitPathRequests")}  hot ms $hotPlainMillis%.0f -> $hotMillis%.0f, of it planning $hotPlanPlainMillis%.0f -> $hotPlanMillis%.0f  " +
        f"cold plan ms $coldPlainMillis%.0f -> $coldMillis%.0f  segments ${status.segments}")
    result
  }

  private def tableOf(layout: Layout): String = layout.getClass.getSimpleName.stripSuffix("$").toLowerCase

  private def batch(stream: StreamTable, table: Table, name: String, number: Int, layout: Layout): Batch = {
    val rows = stream.batch(number)
    var millis, cpu = 0.0
    var requests = 0L
    val (_, whole) = Measure.run {
      rows.writeTo(s"lake.db.$name").append()
      val (started, cpuBefore) = (System.nanoTime(), threads.getCurrentThreadCpuTime)
      val current = refreshed(table)
      requests = CountingFileIO.counted(layout.afterCommit(current))
      millis = (System.nanoTime() - started) / 1e6
      cpu = (threads.getCurrentThreadCpuTime - cpuBefore) / 1e6
    }
    Batch(whole, millis, cpu, requests)
  }

  private def refreshed(table: Table): Table = { table.refresh(); table }

  /** Milliseconds, and the rows when the query is executed; without a hot tier the driver remembers nothing. */
  private def query(spark: SparkSession, layout: Layout, text: String, execute: Boolean): (Double, String) =
    under(spark, layout) {
      if (!layout.hasHotTier) UpkeepProcess.ofJvm.index.clear()
      val started = System.nanoTime()
      val rows = if (execute) spark.sql(text).collect().mkString else { planned(spark, text); "" }
      ((System.nanoTime() - started) / 1e6, rows)
    }

  /** Plans files and tasks of a query of one stage, and runs none of them. */
  private def planned(spark: SparkSession, text: String): Unit =
    spark.sql(text).queryExecution.toRdd.getNumPartitions: Unit

  /** The last minute of the stream. */
  private def hotQuery(stream: StreamTable, table: String, batches: Int): String =
    s"SELECT count(*), max(value) FROM (${hotRows(stream, table, batches)})"

  private def hotRows(stream: StreamTable, table: String, batches: Int): String =
    s"SELECT * FROM lake.db.$table WHERE ts >= timestamp_seconds(${stream.streamStart + math.max(0, batches - 6) * StreamTable.SecondsABatch}) AND metric = 77"

  /** A minute of the past. */
  private def coldQuery(stream: StreamTable, table: String): String = {
    val from = stream.streamStart - stream.past / 2
    s"SELECT * FROM lake.db.$table WHERE ts >= timestamp_seconds($from) AND ts < timestamp_seconds(${from + 60}) AND metric = 77"
  }

  private def under[A](spark: SparkSession, layout: Layout)(work: => A): A = {
    layout.set(spark)
    work
  }

  private def upkeepCpuMillis: Double =
    threads
      .getThreadInfo(threads.getAllThreadIds)
      .iterator
      .filter(info => info != null && info.getThreadName == "zonemap-upkeep")
      .map(info => threads.getThreadCpuTime(info.getThreadId) / 1e6)
      .sum

  private def write(result: Path, sizes: Seq[Map[String, Any]]): Unit = {
    val document = Map[String, Any](
      "benchmark" -> "strategies",
      "java" -> System.getProperty("java.version"),
      "spark" -> org.apache.spark.SPARK_VERSION,
      "iceberg" -> org.apache.iceberg.IcebergBuild.version(),
      "cores" -> Runtime.getRuntime.availableProcessors,
      "sizes" -> sizes.map(_.asJava).asJava
    )
    BenchmarkFiles.write(result, document.asJava)
  }
}
