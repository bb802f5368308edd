// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, ScalarSubquery}
import org.apache.spark.sql.catalyst.optimizer.ConstantFolding
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, ReplaceData, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern

/**
 * Replaces a scalar subquery in a filter by its value if [[SnapshotAggregateRule]] has answered it from the index, as
 * Spark has optimized the plans of subqueries before. Filters with the value are then pushed down like all filters with
 * literals. SOUNDNESS, S182.
 */
private[zonemap] object SubqueryAnswerRule extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.exists(isCommand)) plan else inFilters(plan)

  /** Iceberg checks later commits by the filters that are pushed to a command's target, which must stay as they are. */
  private def isCommand(node: LogicalPlan): Boolean =
    node match {
      case _: WriteDelta | _: ReplaceData => true
      case _                              => false
    }

  private def inFilters(plan: LogicalPlan): LogicalPlan = {
    val answered = plan.transformWithPruning(_.containsPattern(TreePattern.SCALAR_SUBQUERY)) { case filter: Filter =>
      filter.transformExpressions(value)
    }
    // a function of the value may fail, as in 100 / 0: then Spark evaluates it only for the rows that need it
    if (answered eq plan) plan else Try(ConstantFolding(answered)).getOrElse(plan)
  }

  private val value: PartialFunction[Expression, Expression] = { case Answered(value) =>
    value
  }

  private object Answered {
    def unapply(subquery: ScalarSubquery): Option[Literal] =
      subquery.plan match {
        case AnsweredRows(Seq(column), rows)
            if subquery.children.isEmpty && rows.sizeIs <= 1 && column.dataType == subquery.dataType =>
          Some(Literal(rows.headOption.map(_.get(0, column.dataType)).orNull, column.dataType))
        case _ => None
      }
  }
}
