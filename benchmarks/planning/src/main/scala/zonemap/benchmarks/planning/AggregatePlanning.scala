// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * Planning of COUNT, MIN and MAX by Spark, from SQL text to the splits of what is left to be read, and queries of
 * metadata tables, over metadata-only tables in one JVM, with the product off and on by turns.
 *
 * Usage: `AggregatePlanning <work folder> <result.json> <rounds> <files>...`
 */
object AggregatePlanning {

  def main(arguments: Array[String]): Unit = SqlTurns.run("AggregatePlanning", arguments.toSeq)(measureTable)

  private def measureTable(
      spark: SparkSession,
      folder: Path,
      files: Int,
      rounds: Int): Seq[java.util.Map[String, Any]] = {
    val location = folder.resolve(s"aggregates_$files")
    BenchmarkFiles.deleteTree(location)
    val atlas = AtlasTable.ofSize(files, columns = 30).copy(byEngine = true)
    val table = atlas.create(location.toString)
    val settings = PlannerSettings(upkeep = UpkeepMode.Off)
    new IndexAdmin(UpkeepProcess.ofJvm.index)
      .build(table, table.currentSnapshot(), settings, new LocalRunner(_)): Unit
    println(s"$files files")
    val name = s"lake.`${folder.getFileName}`.`${location.getFileName}`"
    val measured = queries(atlas, name).map { case (what, text) =>
      SqlTurns.measure(spark, what, rounds)(plan(spark, text))
    }
    val metadata = ofMetadata(name).map { case (what, text) =>
      SqlTurns.measure(spark, what, rounds)(spark.sql(text).collect().length)
    }
    BenchmarkFiles.deleteTree(location)
    Seq(Map[String, Any]("files" -> files, "queries" -> measured.asJava, "metadata" -> metadata.asJava).asJava)
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

  /** Queries of metadata tables, which are run: Iceberg reads manifests of `files` in Spark's tasks. */
  private def ofMetadata(table: String): Seq[(String, String)] =
    Seq(
      "newest partition" -> s"SELECT max(partition.ts_day) FROM $table.partitions",
      "list of partitions" -> s"SELECT partition, file_count FROM $table.partitions",
      "partitions, all columns" -> s"SELECT * FROM $table.partitions",
      "files and rows" -> s"SELECT count(*), sum(record_count) FROM $table.files",
      "paths of a partition" -> (s"SELECT file_path FROM $table.files WHERE partition.ts_day = " +
        s"(SELECT max(partition.ts_day) FROM $table.partitions)")
    )

  /** Plans the query up to the splits of what is left to be read; the number of splits. */
  private def plan(spark: SparkSession, text: String): Int = {
    val execution = spark.sql(text).asInstanceOf[Dataset[_]].queryExecution
    SQLExecution.withNewExecutionId(execution) {
      execution.executedPlan.collect { case scan: BatchScanExec => scan.inputRDD.getNumPartitions }.sum
    }
  }
}
