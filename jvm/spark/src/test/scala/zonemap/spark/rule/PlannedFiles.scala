// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import zonemap.iceberg.plan.ZoneMapTable
import zonemap.spark.SharedSession

/** Counts the files that the scans of a query plan, and compares the rows with Spark's rows without the extension. */
trait PlannedFiles extends SharedSession with AdaptiveSparkPlanHelper {

  protected def tables(frame: DataFrame): Seq[ZoneMapTable] =
    collectWithSubqueries(frame.queryExecution.executedPlan) { case scan: BatchScanExec => scan.table }
      .collect { case t: SparkTable => t.table() }
      .collect { case t: ZoneMapTable => t }

  protected def kept(frame: DataFrame): Seq[Long] = tables(frame).map(_.lastPlan().kept)

  /** Checks that the rows equal those without the extension, and returns the number of files that each scan planned. */
  protected def checked(text: String): Seq[Long] = {
    val expected = withConf("spark.sql.zonemap.enabled" -> "false")(rows(sql(text)))
    val frame = sql(text)
    assert(rows(frame) == expected, text)
    kept(frame)
  }

  /**
   * The conditions that do not retain the expected number of files of the table, with the actual numbers. Compares the
   * rows of each condition with those that Spark finds among rows that are not in a table.
   */
  protected def wrong(table: String, cases: Seq[(String, Int)]): Seq[(String, Int, Seq[Long])] = {
    val all = withConf("spark.sql.zonemap.enabled" -> "false")(spark.table(table).collectAsList())
    spark.createDataFrame(all, spark.table(table).schema).createOrReplaceTempView("rows_without_files")
    cases
      .map { case (condition, files) =>
        val expected = rows(sql(s"SELECT * FROM rows_without_files WHERE $condition"))
        val frame = sql(s"SELECT * FROM $table WHERE $condition")
        assert(rows(frame) == expected, condition)
        (condition, files, kept(frame))
      }
      .filter { case (_, files, found) => found != Seq(files.toLong) }
  }
}
