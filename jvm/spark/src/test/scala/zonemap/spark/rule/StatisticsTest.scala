// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}

import zonemap.spark.SharedSession

/** The statistics that the optimizer receives for scans whose files the index has pruned. */
class StatisticsTest extends SharedSession {

  private lazy val t: String = {
    val table = newTable("estimated")
    build(table)
    table
  }

  private def scans(frame: DataFrame): Seq[DataSourceV2ScanRelation] =
    frame.queryExecution.optimizedPlan.collect { case scan: DataSourceV2ScanRelation => scan }

  private def estimate(condition: String, enabled: Boolean, columns: String = "*"): Statistics =
    withConf("spark.sql.zonemap.enabled" -> enabled.toString) {
      scans(sql(s"SELECT $columns FROM $t WHERE $condition")).head.stats
    }

  /** Each condition with the number of files that it retains, of five files with ten rows each. */
  private val conditions = Seq(
    "id = 15" -> 1,
    "id + 1 BETWEEN 3 AND 5" -> 1,
    "id * 2 > 75" -> 2,
    "s LIKE '4%'" -> 2,
    "CAST(id AS STRING) = '7' OR id - 1 = 33" -> 2,
    "p = 1 AND id < 20" -> 1,
    "id > 1000" -> 0,
    "hash(id) = 3" -> 5
  )

  for ((condition, files) <- conditions)
    test(s"rows of the files left: $condition") {
      val (ours, stock) = (estimate(condition, enabled = true), estimate(condition, enabled = false))
      val matching = sql(s"SELECT * FROM $t WHERE $condition").count()
      assert(ours.rowCount.contains(BigInt(10 * files)) && ours.rowCount.get >= matching)
      assert(stock.rowCount.get >= ours.rowCount.get && stock.sizeInBytes >= ours.sizeInBytes)
    }

  test("rows that are deleted do not make an estimate too small") {
    val deleted = newTable("estimated_deletes")
    sql(s"ALTER TABLE $deleted SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    sql(s"DELETE FROM $deleted WHERE id % 10 = 3")
    build(deleted)
    val frame = sql(s"SELECT * FROM $deleted WHERE id + 1 > 35")
    assert(frame.count() == 14 && scans(frame).head.stats.rowCount.exists(_ >= 14))
  }

  test("a side that a function of a column makes small is broadcast") {
    val other = newTable("estimated_other")
    val query = s"SELECT a.id FROM $t a JOIN $other b ON a.id = b.id WHERE a.id + 1 BETWEEN 3 AND 5"
    val threshold = (estimate("id = 15", enabled = true, columns = "id").sizeInBytes * 2).toString
    def joins(enabled: Boolean) =
      withConf(
        "spark.sql.zonemap.enabled" -> enabled.toString,
        "spark.sql.adaptive.enabled" -> "false",
        "spark.sql.zonemap.join.static.enabled" -> "false",
        "spark.sql.autoBroadcastJoinThreshold" -> threshold
      ) {
        val plan = sql(query).queryExecution.executedPlan
        (plan.exists(_.isInstanceOf[BroadcastHashJoinExec]), plan.exists(_.isInstanceOf[SortMergeJoinExec]))
      }
    assert(joins(enabled = false) == ((false, true)), "Iceberg keeps every file")
    assert(joins(enabled = true) == ((true, false)))
    assert(sql(query).count() == 3)
  }
}
