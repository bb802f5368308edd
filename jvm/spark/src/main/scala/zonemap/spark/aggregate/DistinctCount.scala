// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.aggregate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}

/**
 * An aggregate whose only function is COUNT(DISTINCT x), as a count of the groups of x: SOUNDNESS, S205.
 *
 * @param groups an aggregate without functions, whose groups are those of the query, divided by x
 * @param counted the column of `groups` with x
 */
private[aggregate] final class DistinctCount private (aggregate: Aggregate, val groups: Aggregate, counted: Attribute) {

  /** Returns the aggregate over a plan with the output of `groups`. */
  def over(answered: LogicalPlan): LogicalPlan =
    aggregate.copy(
      aggregateExpressions = aggregate.aggregateExpressions.map(_.transform { case _: AggregateExpression =>
        Count(Seq(counted)).toAggregateExpression()
      }.asInstanceOf[NamedExpression]),
      child = answered
    )
}

private[aggregate] object DistinctCount {
  def unapply(aggregate: Aggregate): Option[DistinctCount] = {
    val functions = aggregate.aggregateExpressions
      .flatMap(_.collect { case function: AggregateExpression => function })
      .distinctBy(_.canonicalized)
    (functions, aggregate.groupingExpressions) match {
      case (Seq(AggregateExpression(Count(Seq(value)), Complete, true, None, _)), grouping)
          if value.deterministic && value.references.nonEmpty && grouping.forall(_.isInstanceOf[Attribute]) =>
        val (counted, child) = value match {
          case column: Attribute => (column, aggregate.child)
          case computed =>
            val alias = Alias(computed, "counted")()
            (alias.toAttribute, Project(aggregate.child.output :+ alias, aggregate.child))
        }
        val keys = (grouping.collect { case key: Attribute => key } :+ counted).distinctBy(_.exprId)
        Some(new DistinctCount(aggregate, Aggregate(keys, keys, child), counted))
      case _ => None
    }
  }
}
