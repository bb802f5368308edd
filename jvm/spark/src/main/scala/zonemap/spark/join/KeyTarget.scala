// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

import zonemap.iceberg.report.OperatorReason

/**
 * Finds the relation that provides a column of a plan, if pruning rows of the relation by values of this column removes
 * exactly the plan's rows with these values. The search continues below deterministic projections, filters and joins,
 * and in joins only on a side that the join never fills with nulls. It ends at limits, windows, aggregates and unions.
 * SOUNDNESS, S115.
 */
private[join] object KeyTarget {

  /**
   * Returns the plan with the relation replaced; `None` if there is no such relation or `change` returns `None`.
   *
   * @param enters true if the search may continue below this side of the join
   * @param ignored non-deterministic expressions that a projection may contain
   * @param stopped gets the plan at which the search ends above a relation, with the reason
   * @param change gets the relation, the conditions of the filters above it, and the relation's column
   */
  def changed(
      plan: LogicalPlan,
      column: Attribute,
      enters: (Join, LogicalPlan) => Boolean = (_, _) => true,
      ignored: Expression => Boolean = _ => false,
      stopped: (LogicalPlan, OperatorReason) => Unit = (_, _) => ())(
      change: (LogicalPlan, Seq[Expression], Attribute) => Option[LogicalPlan]): Option[LogicalPlan] = {

    def stop(node: LogicalPlan, reason: OperatorReason): Option[LogicalPlan] = {
      stopped(node, reason)
      None
    }

    def ofSide(
        join: Join,
        side: LogicalPlan,
        wanted: Attribute,
        keeps: Boolean,
        changed: LogicalPlan => Join): Option[LogicalPlan] =
      if (!keeps) stop(side, OperatorReason.JoinBetween(s"a join of type ${join.joinType.sql}"))
      else if (!enters(join, side)) stop(side, OperatorReason.JoinBroadcastSide(wanted.name))
      else below(side, wanted).map(changed)

    def below(node: LogicalPlan, wanted: Attribute, above: Seq[Expression] = Nil): Option[LogicalPlan] =
      node match {
        case project @ Project(list, child) if list.forall(e => e.deterministic || ignored(e)) =>
          KeySource.lineage(list, wanted) match {
            case Some(source) => below(child, source).map(c => project.copy(child = c))
            case None         => stop(child, OperatorReason.JoinCondition)
          }
        case filter @ Filter(condition, child) if condition.deterministic =>
          below(child, wanted, condition +: above).map(c => filter.copy(child = c))
        case join @ Join(left, right, joinType, condition, _) if condition.forall(_.deterministic) =>
          if (left.outputSet.contains(wanted))
            ofSide(join, left, wanted, keepsLeft(joinType), c => join.copy(left = c))
          else ofSide(join, right, wanted, keepsRight(joinType), c => join.copy(right = c))
        case leaf: LeafNode => change(leaf, above, wanted)
        case other          => stop(other, OperatorReason.JoinBetween(named(other)))
      }

    below(plan, column)
  }

  private def named(node: LogicalPlan): String =
    node match {
      case _: Aggregate                     => "an aggregate"
      case _: Union                         => "a union"
      case _: Window                        => "a window"
      case _: GlobalLimit | _: LocalLimit   => "a LIMIT"
      case _: Project | _: Filter | _: Join => "an expression that is not deterministic"
      case other                            => s"the operator ${other.nodeName}"
    }

  private def keepsLeft(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | LeftOuter | LeftSemi => true
      case _                                    => false
    }

  private def keepsRight(joinType: JoinType): Boolean =
    joinType match {
      case Inner | Cross | RightOuter => true
      case _                          => false
    }
}
