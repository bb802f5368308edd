// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.Path

import scala.jdk.CollectionConverters._

import org.apache.iceberg.Table
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.iceberg.admin.IndexAdmin
import zonemap.iceberg.build.LocalRunner
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepProcess

/**
 * Planning of UPDATE, DELETE and MERGE by Spark, from SQL text to the physical plan, over metadata-only tables in one
 * JVM, with the product off and on by turns. The physical plan holds the planned tasks of the scan of the target and,
 * for copy-on-write, of the search for matching rows. No command is run.
 *
 * Usage: `CommandPlanning <work folder> <result.json> <rounds> <files>...`
 */
object CommandPlanning {

  private val Modes = Seq("copy-on-write", "merge-on-read")

  def main(arguments: Array[String]): Unit = SqlTurns.run("CommandPlanning", arguments.toSeq)(measureTable)

  private def measureTable(
      spark: SparkSession,
      folder: Path,
      files: Int,
      rounds: Int): Seq[java.util.Map[String, Any]] = {
    val location = folder.resolve(s"commands_$files")
    BenchmarkFiles.deleteTree(location)
    val table = AtlasTable.ofSize(files, columns = 30).copy(byEngine = true).create(location.toString)
    new IndexAdmin(UpkeepProcess.ofJvm.index)
      .build(table, table.currentSnapshot(), PlannerSettings(upkeep = UpkeepMode.Off), new LocalRunner(_)): Unit
    val name = s"lake.`${folder.getFileName}`.`${location.getFileName}`"
    val measured = Modes.map { mode =>
      set(table, mode)
      spark.sql(s"REFRESH TABLE $name")
      println(s"$files files, $mode")
      val results = commands(name, files).map { case (what, text) =>
        SqlTurns.measure(spark, what, rounds)(plan(spark, text))
      }
      Map[String, Any]("files" -> files, "mode" -> mode, "queries" -> results.asJava).asJava
    }
    BenchmarkFiles.deleteTree(location)
    measured
  }

  private def set(table: Table, mode: String): Unit = {
    val change = table.updateProperties()
    Seq("delete", "update", "merge").foreach(command => change.set(s"write.$command.mode", mode))
    change.commit()
  }

  private def commands(table: String, files: Int): Seq[(String, String)] = {
    val key = files.toLong * 100000 * 35 / 100 + 500
    val keys = s"(SELECT id * ${files.toLong * 1000} + 500 AS k FROM RANGE(100))"
    Seq(
      "SELECT by key" -> s"SELECT * FROM $table WHERE seq = $key",
      "UPDATE by key" -> s"UPDATE $table SET type = 'x' WHERE seq = $key",
      "DELETE by key" -> s"DELETE FROM $table WHERE seq = $key",
      "UPDATE by key + 1" -> s"UPDATE $table SET type = 'x' WHERE seq + 1 = $key",
      "MERGE of 100 keys" ->
        s"MERGE INTO $table t USING $keys s ON t.seq = s.k WHEN MATCHED THEN UPDATE SET type = 'x'",
      "UPDATE of each row" -> s"UPDATE $table SET type = 'x'"
    )
  }

  /** Plans a statement without running it; the number of splits of its scans before they are pruned at run time. */
  private def plan(spark: SparkSession, text: String): Int = {
    val state = spark.asInstanceOf[ClassicSession].sessionState
    val execution = state.executePlan(state.sqlParser.parsePlan(text), CommandExecutionMode.SKIP)
    execution.executedPlan.collect { case scan: BatchScanExec => scan.batch.planInputPartitions().length }.sum
  }
}
