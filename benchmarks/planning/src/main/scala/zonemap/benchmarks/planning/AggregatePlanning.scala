// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.lang.management.ManagementFactory
import java.nio.file.{Path, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.benchmarks.planning.Measure.median
import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * Planning of COUNT, MIN and MAX by Spark, from SQL text to the splits of what is left to be read, over metadata-only
 * tables in one JVM, with the product off and on by turns.
 *
 * Usage: `AggregatePlanning <work folder> <result.json> <rounds> <files>...`
 */
object AggregatePlanning {

  /** The runs of each variant before the measured ones. */
  private val WarmUp = 8

  private val Variants: Seq[(String, Map[String, String])] =
    Seq("stock" -> Map("spark.sql.zonemap.enabled" -> "false"), "index" -> Map("spark.sql.zonemap.enabled" -> "true"))

  /** @param threadMillis CPU time of the calling thread */
  private final case class Planned(run: Run, threadMillis: Double, splits: Int)

  def main(arguments: Array[String]): Unit = {
    require(arguments.length >= 4, "Usage: AggregatePlanning <work folder> <result.json> <rounds> <files>...")
    val folder = Paths.get(arguments(0)).toAbsolutePath
    val spark = BenchmarkSession.withLake(
      folder.getParent.toString,
      Map("spark.sql.zonemap.upkeep.mode" -> "off", "spark.sql.adaptive.enabled" -> "false", SlowFileSystem.sparkConf))
    val tables =
      try arguments.drop(3).toSeq.map(files => measureTable(spark, folder, files.toInt, arguments(2).toInt))
      finally spark.stop()
    BenchmarkFiles.write(Paths.get(arguments(1)), Map[String, Any]("tables" -> tables.asJava).asJava)
  }

  private def measureTable(spark: SparkSession, folder: Path, files: Int, rounds: Int): java.util.Map[String, Any] = {
    val location = folder.resolve(s"aggregates_$files")
    BenchmarkFiles.deleteTree(location)
    val atlas = AtlasTable.ofSize(files, columns = 30).copy(byEngine = true)
    val table = atlas.create(location.toString)
    val settings = PlannerSettings(upkeep = UpkeepMode.Off)
    new IndexAdmin(UpkeepProcess.ofJvm.index)
      .build(table, table.currentSnapshot(), settings, new LocalRunner(_)): Unit
    println(s"$files files")
    val name = s"lake.`${folder.getFileName}`.`${location.getFileName}`"
    val measured = queries(atlas, name).map { case (what, text) => measureQuery(spark, what, text, rounds) }
    BenchmarkFiles.deleteTree(location)
    Map[String, Any]("files" -> files, "queries" -> measured.asJava).asJava
  }

  private def queries(atlas: AtlasTable, table: String): Seq[(String, String)] = {
    val (day, next) = (atlas.dayMicros(atlas.dayCount / 3), atlas.dayMicros(atlas.dayCount / 3 + 1))
    def between(from: Long) = s"ts >= timestamp_micros($from) AND ts < timestamp_micros($next)"
    Seq(
      "empty query" -> "SELECT count(*), min(id), max(id) FROM RANGE(0)",
      "count(*)" -> s"SELECT count(*) FROM $table",
      "count(*), min, max" -> s"SELECT count(*), min(seq), max(seq), min(ts), max(ts) FROM $table",
      "count(*), max of a day" -> s"SELECT count(*), max(seq) FROM $table WHERE ${between(day)}",
      "count(*) of a part of a day" ->
        s"SELECT count(*) FROM $table WHERE ${between(day)} AND seq >= ${atlas.files.toLong * 100000 * 35 / 100 + 500}",
      "count(*) by region" -> s"SELECT region, count(*), max(seq) FROM $table GROUP BY region"
    )
  }

  private def measureQuery(spark: SparkSession, what: String, text: String, rounds: Int): java.util.Map[String, Any] = {
    // planning of a large table takes seconds with the product off, so one warm-up run suffices there
    val runs = Variants.map(_ => scala.collection.mutable.ArrayBuffer.empty[Planned])
    (0 until WarmUp + rounds).foreach { round =>
      val order = if (round % 2 == 0) Variants.indices else Variants.indices.reverse
      order.foreach(i =>
        if (round >= WarmUp || i == Variants.size - 1 || round == 0) {
          runs(i) += plan(spark, text, Variants(i)._2): Unit
        })
    }
    val of = Variants.indices.map { i =>
      val kept = runs(i).takeRight(rounds).toSeq
      val figures = Map[String, Any](
        "threadMillis" -> median(kept.map(_.threadMillis)),
        "cpuMillis" -> median(kept.map(_.run.cpuMillis)),
        "wallMillis" -> median(kept.map(_.run.wallMillis)),
        "allocatedMegabytes" -> median(kept.map(_.run.allocatedBytes / 1e6)),
        "splits" -> kept.last.splits
      )
      Variants(i)._1 -> figures.asJava
    }
    println(f"  $what%-30s " + of
      .map { case (name, f) =>
        f"$name: thread ${f.get("threadMillis").asInstanceOf[Double]}%.1f, CPU ${f.get("cpuMillis").asInstanceOf[Double]}%.1f, " +
          f"wall ${f.get("wallMillis").asInstanceOf[Double]}%.1f ms, ${f.get("splits")} splits"
      }
      .mkString("; "))
    (Map[String, Any]("query" -> what) ++ of).asJava
  }

  private def plan(spark: SparkSession, text: String, confs: Map[String, String]): Planned = {
    confs.foreach { case (key, value) => spark.conf.set(key, value) }
    val threads = ManagementFactory.getThreadMXBean
    val before = threads.getCurrentThreadCpuTime
    val (splits, run) = Measure.run {
      val execution = spark.sql(text).asInstanceOf[Dataset[_]].queryExecution
      SQLExecution.withNewExecutionId(execution) {
        execution.executedPlan.collect { case scan: BatchScanExec => scan.inputRDD.getNumPartitions }.sum
      }
    }
    Planned(run, (threads.getCurrentThreadCpuTime - before) / 1e6, splits)
  }
}
