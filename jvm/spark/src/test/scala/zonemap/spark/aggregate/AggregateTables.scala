// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec

import org.scalatest.Assertion

import zonemap.spark.SharedSession
import zonemap.spark.scan.{ForwardingScan, IcebergScans}

/**
 * Tables of eight files of ten rows with ascending ids; every column is a function of the id. Helpers count the files
 * that a plan reads.
 */
trait AggregateTables extends SharedSession {
  protected val Columns: String =
    "id BIGINT, n INT, d DOUBLE, f FLOAT, dt DATE, ts TIMESTAMP, m DECIMAL(9, 2), b BOOLEAN, s STRING, g STRING, p INT"

  /**
   * Column n is null in part of the third file and in all of the fourth; column d has NaN in the fifth file and both
   * zeros in the sixth.
   */
  private val select: String = Seq(
    "id",
    "IF(id BETWEEN 27 AND 39, NULL, CAST(id AS INT))",
    "CASE WHEN id IN (42, 44) THEN double('NaN') WHEN id = 50 THEN -0.0D WHEN id = 55 THEN 0.0D ELSE abs(id - 50) / 2D END",
    "CAST((id - 45) / 2 AS FLOAT)",
    "date_add(DATE'2026-01-01', CAST(id AS INT))",
    "timestamp_seconds(1767225600 + id * 3600)",
    "CAST((id - 40) / 4 AS DECIMAL(9, 2))",
    "id >= 40",
    "concat(lpad(id, 5, '0'), '-cut-off-after-sixteen')",
    "CAST(id DIV 20 AS STRING)",
    "CAST(id DIV 30 AS INT)"
  ).mkString(", ")

  protected def fill(table: String, first: Int, files: Int): Unit =
    sql(s"INSERT INTO $table SELECT $select FROM RANGE($first, ${first + files * 10}, 1, $files)"): Unit

  protected def make(
      name: String,
      partitioned: Boolean = false,
      deletes: String = "copy-on-write",
      indexed: Boolean = true): String = {
    val table = s"lake.db.$name"
    sql(s"DROP TABLE IF EXISTS $table")
    sql(
      s"CREATE TABLE $table ($Columns) USING iceberg ${if (partitioned) "PARTITIONED BY (p)" else ""} TBLPROPERTIES " +
        s"('write.delete.mode' = '$deletes', 'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true')")
    fill(table, 0, 8)
    if (indexed) build(table)
    table
  }

  /** The number of data files in the tasks of the plan's scans; the query is not executed. */
  protected def filesRead(frame: DataFrame): Int = Plans.scans(frame).map(scan => files(scan.scan)).sum

  private def files(scan: Scan): Int =
    scan match {
      case remaining: RemainingFilesScan => files(remaining.inner)
      case other                         => IcebergScans.fileTasks(ForwardingScan.unwrapped(other)).fold(0)(_.size)
    }

  /** One query that returns the rows of all queries as texts, each with the number of its query. */
  protected def together(queries: Seq[String]): String =
    queries.zipWithIndex
      .map { case (query, i) => s"SELECT $i AS query, CAST(struct(*) AS STRING) AS result FROM ($query)" }
      .mkString(" UNION ALL ")

  /** Fails unless Iceberg returns the same rows for all queries. */
  protected def assertRowsAreIcebergs(queries: Seq[String]): Assertion = {
    val all = together(queries)
    val (ours, theirs) = (rows(sql(all)), stock(rows(sql(all))))
    assert(ours == theirs, s"only with answers: ${ours.diff(theirs)}, only without: ${theirs.diff(ours)}")
  }

  /** The notes of the aggregates in the plan that the index answered, fully or partly. */
  protected def answers(frame: DataFrame): Seq[String] = Answers.of(frame.queryExecution.executedPlan)

  protected def answered(frame: DataFrame): Int = answers(frame).size

  protected def withoutAnswers[A](body: => A): A =
    withConf("spark.sql.zonemap.aggregates.enabled" -> "false", "spark.sql.zonemap.topK.enabled" -> "false")(body)
  protected def stock[A](body: => A): A = withConf("spark.sql.zonemap.enabled" -> "false")(body)
}

private object Plans extends AdaptiveSparkPlanHelper {
  def scans(frame: DataFrame): Seq[BatchScanExec] =
    collectWithSubqueries(frame.queryExecution.executedPlan) { case scan: BatchScanExec => scan }
}

private object Answers extends AdaptiveSparkPlanHelper {
  def of(plan: SparkPlan): Seq[String] =
    collectWithSubqueries(plan) {
      case scan: BatchScanExec => Option(scan.scan).collect { case remaining: RemainingFilesScan => remaining.note }
      case rows: LocalTableScanExec => AnsweredRows.scanOf(rows).map(_.note)
    }.flatten
}
