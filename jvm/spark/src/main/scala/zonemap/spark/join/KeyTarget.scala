// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.optimizer.PushPredicateThroughNonJoin
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

import zonemap.iceberg.report.OperatorReason
import zonemap.spark.expression.ExpressionSql
import zonemap.spark.scan.UnionBranch

/**
 * Finds the relations from whose columns a plan computes a key, if pruning rows of a relation by the values of the key
 * removes exactly the plan's rows with these values. The search continues below operators through which Spark itself
 * would push a filter on the key: deterministic projections and filters, unions, the grouping columns of aggregates, the
 * partition columns of windows, and the sides of joins that the join never fills with nulls. SOUNDNESS, S115.
 */
private[join] object KeyTarget {

  /** A key that projections have made larger than this is not followed further. */
  private val MaxNodes = 200

  /**
   * Returns the plan with the relations replaced; `None` if there is no such relation or `change` returns `None` for
   * each.
   *
   * @param key a deterministic expression of the plan's columns
   * @param enters true if the search may continue below this side of the join
   * @param ignored non-deterministic expressions that a projection may contain
   * @param stopped gets the plan at which the search ends above a relation, with the reason
   * @param beside gets each join that the search enters, the side that it enters, and the key as an expression of the
   *   columns of this side; it can change the other side
   * @param change gets a relation, the conditions of the filters above it, and the key as an expression of its columns
   */
  def changed(
      plan: LogicalPlan,
      key: Expression,
      enters: (Join, LogicalPlan) => Boolean = (_, _) => true,
      ignored: Expression => Boolean = _ => false,
      stopped: (LogicalPlan, OperatorReason) => Unit = (_, _) => (),
      beside: (Join, LogicalPlan, Expression) => Join = (join, _, _) => join)(
      change: (LogicalPlan, Seq[Expression], Expression) => Option[LogicalPlan]): Option[LogicalPlan] = {

    def stop(node: LogicalPlan, reason: OperatorReason): Option[LogicalPlan] = {
      stopped(node, reason)
      None
    }

    def ofSide(
        join: Join,
        side: LogicalPlan,
        wanted: Expression,
        keeps: Boolean,
        withSide: (Join, LogicalPlan) => Join): Option[LogicalPlan] =
      if (!keeps) stop(side, OperatorReason.JoinBetween(s"a join of type ${join.joinType.sql}"))
      else if (!enters(join, side)) stop(side, OperatorReason.JoinBroadcastSide(ExpressionSql.of(wanted)))
      else {
        val changed = beside(join, side, wanted)
        below(side, wanted, Nil).map(withSide(changed, _)).orElse(Option.when(changed ne join)(changed))
      }

    def ofUnion(union: Union, wanted: Expression): Option[LogicalPlan] = {
      val changed = union.children.map { child =>
        UnionBranch.of(union, child, wanted).flatMap(below(child, _, Nil))
      }
      Option.when(changed.exists(_.isDefined)) {
        union.copy(children = changed.zip(union.children).map { case (found, child) => found.getOrElse(child) })
      }
    }

    def below(node: LogicalPlan, wanted: Expression, above: Seq[Expression]): Option[LogicalPlan] =
      node match {
        case project @ Project(list, child) if list.forall(e => e.deterministic || ignored(e)) =>
          val source = ExpressionSql.below(wanted, list)
          if (isKey(source)) below(child, source, Nil).map(c => project.copy(child = c))
          else stop(child, OperatorReason.JoinCondition)
        case filter @ Filter(condition, child) if condition.deterministic =>
          below(child, wanted, condition +: above).map(c => filter.copy(child = c))
        case join @ Join(left, right, joinType, condition, _) if condition.forall(_.deterministic) =>
          if (wanted.references.subsetOf(left.outputSet))
            ofSide(join, left, wanted, keepsLeft(joinType), (j, c) => j.copy(left = c))
          else if (wanted.references.subsetOf(right.outputSet))
            ofSide(join, right, wanted, keepsRight(joinType), (j, c) => j.copy(right = c))
          else stop(join, OperatorReason.JoinCondition)
        case union: Union => ofUnion(union, wanted)
        case aggregate: Aggregate if aggregate.aggregateExpressions.forall(_.deterministic) =>
          val source = ExpressionSql.below(wanted, aggregate.aggregateExpressions)
          if (isKey(source) && isOf(source, aggregate.groupingExpressions))
            below(aggregate.child, source, Nil).map(c => aggregate.copy(child = c))
          else stop(aggregate, OperatorReason.JoinBetween("an aggregate"))
        case window: Window if isPassed(window, window.child, wanted) && isOf(wanted, window.partitionSpec) =>
          below(window.child, wanted, Nil).map(c => window.copy(child = c))
        case limit @ WindowGroupLimit(partition, _, _, _, child) if isOf(wanted, partition) =>
          below(child, wanted, Nil).map(c => limit.copy(child = c))
        case unary: UnaryNode
            if PushPredicateThroughNonJoin.canPushThrough(unary) && isPassed(unary, unary.child, wanted) =>
          below(unary.child, wanted, Nil).map(c => unary.withNewChildren(Seq(c)))
        case leaf: LeafNode => change(leaf, above, wanted)
        case other          => stop(other, OperatorReason.JoinBetween(named(other)))
      }

    if (isKey(key)) below(plan, key, Nil) else stop(plan, OperatorReason.JoinCondition)
  }

  /** True if pruning by the values of the expression can be possible. */
  private def isKey(expression: Expression): Boolean =
    expression.deterministic && expression.references.nonEmpty && !expression.exists(isAggregate) &&
      expression.collect { case node => node }.sizeIs <= MaxNodes

  private def isAggregate(expression: Expression): Boolean = expression.isInstanceOf[AggregateExpression]

  /** True if all rows of a group or of a window's partition have one value of the key. */
  private def isOf(key: Expression, columns: Seq[Expression]): Boolean =
    key.references.subsetOf(AttributeSet(columns.collect { case column: Attribute => column }))

  /** True if a deterministic operator passes the columns of the key on from its child. */
  private def isPassed(node: LogicalPlan, child: LogicalPlan, key: Expression): Boolean =
    node.expressions.forall(_.deterministic) && key.references.subsetOf(child.outputSet)

  private def named(node: LogicalPlan): String =
    node match {
      case _: Window | _: WindowGroupLimit                 => "a window"
      case _: GlobalLimit | _: LocalLimit                  => "a LIMIT"
      case _: Project | _: Filter | _: Join | _: Aggregate => "an expression that is not deterministic"
      case other                                           => s"the operator ${other.nodeName}"
    }

  private def keepsLeft(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | LeftOuter | LeftSemi | LeftAnti | ExistenceJoin(_) => true
      case _                                                                  => false
    }

  private def keepsRight(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | RightOuter => true
      case _                          => false
    }
}
