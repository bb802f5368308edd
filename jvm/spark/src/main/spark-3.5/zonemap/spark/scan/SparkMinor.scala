// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.iceberg.spark.SparkWriteConf
import org.apache.iceberg.spark.source.SparkTable
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningSubquery, EvalMode, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.{LocalTableScanExec, QueryExecution}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What is written in another way for each minor version of Spark; here, for Spark 3.5. */
private[zonemap] object SparkMinor extends JoinSelectionHelper {
  type ClassicSession = SparkSession

  /** How Spark's node of a scan joins by storage partitions. */
  type JoinParams = org.apache.spark.sql.execution.datasources.v2.StoragePartitionJoinParams

  /** What a sum does when it overflows. */
  def evalMode(sum: Sum): EvalMode.Value = sum.evalMode

  /** The branch that a write with these options goes to; null for the main branch. */
  def writeBranch(spark: SparkSession, table: SparkTable, options: CaseInsensitiveStringMap): String =
    new SparkWriteConf(spark, table.table(), table.branch(), options).branch()

  /** Rules that run between the swap of tables and the rules that ask the index. */
  def rulesAfterSwap(tables: PlannableTables): Seq[Rule[LogicalPlan]] = Seq(new PinRule(tables))

  /** This Spark has no recursive queries. */
  def isRecursive(node: LogicalPlan): Boolean = false

  /** Spark's node of these rows. */
  def localScan(output: Seq[Attribute], rows: Seq[InternalRow]): LocalTableScanExec =
    LocalTableScanExec(output, rows)

  def foreachWithSubqueries(plan: LogicalPlan)(f: LogicalPlan => Unit): Unit =
    plan.foreach { node =>
      f(node)
      node.subqueries.foreach(foreachWithSubqueries(_)(f))
    }

  /** Whether a hint above the aggregate is pushed into it: this Spark has no such hints. */
  def hasHint(aggregate: Aggregate): Boolean = false

  def broadcastSide(join: Join, hintOnly: Boolean, conf: SQLConf): Option[BuildSide] =
    getBroadcastBuildSide(join.left, join.right, join.joinType, join.hint, hintOnly, conf)

  /** The keys in a broadcast: column `index` of `build`. */
  def keysOfBroadcast(key: Expression, build: LogicalPlan, all: Seq[Expression], index: Int): DynamicPruningSubquery =
    DynamicPruningSubquery(key, build, all, index, onlyInBroadcast = true)

  /** The condition of Spark's errors; null for none. */
  def conditionOf(error: SparkThrowable): String = error.getErrorClass

  /** The condition as Spark pushes it to a source. */
  def pushed(condition: Expression): Option[Predicate] =
    new V2ExpressionBuilder(condition, true).build().collect { case predicate: Predicate => predicate }
}

/** A query execution that reads the tables of its plan as they are. */
private[zonemap] abstract class UnrefreshedExecution(session: SparkSession, plan: LogicalPlan)
    extends QueryExecution(session, plan)
