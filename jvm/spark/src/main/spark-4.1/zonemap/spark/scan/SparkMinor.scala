// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.spark.SparkTableUtil
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.EvalMode
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What is written in another way for each minor version of Spark; here, for Spark 4.1. */
private[zonemap] object SparkMinor extends SparkFour {

  /** How Spark's node of a scan joins by storage partitions. */
  type JoinParams = org.apache.spark.sql.execution.joins.StoragePartitionJoinParams

  /** What a sum does when it overflows. */
  def evalMode(sum: Sum): EvalMode.Value = sum.evalContext.evalMode

  /** The branch that a write with these options goes to; null for the main branch. */
  def writeBranch(spark: SparkSession, table: SparkTable, options: CaseInsensitiveStringMap): String =
    SparkTableUtil.determineWriteBranch(spark, table.table(), table.branch(), options)

  /** Rules that run between the swap of tables and the rules that ask the index: Iceberg has pinned the tables. */
  def rulesAfterSwap(tables: PlannableTables): Seq[Rule[LogicalPlan]] = Nil
}

/** A query execution that reads the tables of its plan as they are: Spark does not load them again. */
private[zonemap] abstract class UnrefreshedExecution(session: ClassicSession, plan: LogicalPlan)
    extends QueryExecution(session, plan, refreshPhaseEnabled = false)
