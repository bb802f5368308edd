// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.scan

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, DynamicPruningSubquery, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildSide, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan, UnionLoop}
import org.apache.spark.sql.catalyst.util.V2ExpressionBuilder
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.LocalTableScanExec
import org.apache.spark.sql.internal.SQLConf

/** What the minor versions of Spark 4 write alike, and Spark 3.5 in another way. */
private[scan] trait SparkFour extends JoinSelectionHelper {

  /** A session that runs queries itself: Spark 4 has sessions of Spark Connect beside it. */
  type ClassicSession = org.apache.spark.sql.classic.SparkSession

  def isRecursive(node: LogicalPlan): Boolean = node.isInstanceOf[UnionLoop]

  /** Spark's node of these rows. */
  def localScan(output: Seq[Attribute], rows: Seq[InternalRow]): LocalTableScanExec =
    LocalTableScanExec(output, rows, None)

  def foreachWithSubqueries(plan: LogicalPlan)(f: LogicalPlan => Unit): Unit = plan.foreachWithSubqueries(f)

  /** Whether a hint above the aggregate is pushed into it. */
  def hasHint(aggregate: Aggregate): Boolean = aggregate.hint.isDefined

  def broadcastSide(join: Join, hintOnly: Boolean, conf: SQLConf): Option[BuildSide] =
    getBroadcastBuildSide(join, hintOnly, conf)

  /** The keys in a broadcast: column `index` of `build`. */
  def keysOfBroadcast(key: Expression, build: LogicalPlan, all: Seq[Expression], index: Int): DynamicPruningSubquery =
    DynamicPruningSubquery(key, build, all, Seq(index), onlyInBroadcast = true)

  /** The condition of Spark's errors; null for none. */
  def conditionOf(error: SparkThrowable): String = error.getCondition

  /** The condition as Spark pushes it to a source. */
  def pushed(condition: Expression): Option[Predicate] = new V2ExpressionBuilder(condition, true).buildPredicate()
}
