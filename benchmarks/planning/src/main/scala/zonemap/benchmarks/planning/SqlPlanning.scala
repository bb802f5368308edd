// SPDX-License-Identifier: Apache-2.0
package zonemap.benchmarks.planning

import java.nio.file.Path

import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

/**
 * Planning by Spark, from SQL text to the splits of a scan. The query is an execution of the SQL tab, with the text and
 * the metrics of its plan, and reads no file.
 *
 * @param folder the work folder of [[MatrixTables]]
 */
private[planning] final class SqlPlanning(folder: Path) extends AutoCloseable {
  private val spark =
    BenchmarkSession.withLake(
      folder.getParent.toString,
      Map("spark.sql.zonemap.upkeep.mode" -> "off", SlowFileSystem.sparkConf))

  /** The number of splits of the planned query. */
  def splits(location: String, query: Query, byIndex: Boolean, countsSteps: Boolean): Int = {
    spark.conf.set("spark.sql.zonemap.enabled", byIndex)
    spark.conf.set("spark.sql.zonemap.steps.enabled", countsSteps)
    spark.conf.set("spark.sql.zonemap.store.location", MatrixTables.storeOf(location, MatrixTables.Indexed))
    val table = s"lake.`${folder.getFileName}`.`${folder.relativize(Path.of(location))}`"
    val text = s"SELECT seq FROM $table VERSION AS OF '${MatrixTables.Indexed}' WHERE ${query.sql.get}"
    val execution = spark.sql(text).asInstanceOf[Dataset[_]].queryExecution
    SQLExecution.withNewExecutionId(execution) {
      val scans = execution.executedPlan.collect { case scan: BatchScanExec => scan }
      require(scans.size == 1, s"${scans.size} scans: $text")
      scans.head.inputRDD.getNumPartitions
    }
  }

  override def close(): Unit = spark.stop()
}
