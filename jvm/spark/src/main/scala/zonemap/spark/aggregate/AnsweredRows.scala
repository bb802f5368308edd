// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan, SparkStrategy}

import zonemap.spark.scan.SparkMinor

/**
 * Rows from the index in the place of an aggregate. Unlike a LocalRelation, no rule of Spark replaces this node, so
 * EXPLAIN finds what was answered.
 */
private[zonemap] final case class AnsweredRows(output: Seq[Attribute], rows: Seq[InternalRow])(
    val answered: AnsweredScan)
    extends LeafNode
    with MultiInstanceRelation {
  override protected def otherCopyArgs: Seq[AnyRef] = Seq(answered)
  override def newInstance(): AnsweredRows = copy(output = output.map(_.newInstance()))(answered)
  override def maxRows: Option[Long] = Some(rows.size.toLong)
  override protected def stringArgs: Iterator[Any] = Iterator(output, answered.note)
  override def computeStats(): Statistics =
    Statistics(EstimationUtils.getSizePerRow(output) * rows.size, Some(BigInt(rows.size)))
}

private[zonemap] object AnsweredRows {

  /** Returns the scan whose results the rows of a physical plan's leaf are. */
  def scanOf(rows: LocalTableScanExec): Option[AnsweredScan] =
    rows.logicalLink.collect { case found: AnsweredRows => found.answered }
}

/** Plans [[AnsweredRows]]. */
private[zonemap] object AnsweredRowsStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    plan match {
      case answered: AnsweredRows => Seq(SparkMinor.localScan(answered.output, answered.rows))
      case _                      => Nil
    }
}
