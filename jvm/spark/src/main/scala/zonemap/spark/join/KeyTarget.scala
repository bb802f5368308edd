package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

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
   * @param change gets the relation, the conditions of the filters above it, and the relation's column
   */
  def changed(
      plan: LogicalPlan,
      column: Attribute,
      enters: (Join, LogicalPlan) => Boolean = (_, _) => true,
      ignored: Expression => Boolean = _ => false)(
      change: (LogicalPlan, Seq[Expression], Attribute) => Option[LogicalPlan]): Option[LogicalPlan] = {

    def below(node: LogicalPlan, wanted: Attribute, above: Seq[Expression] = Nil): Option[LogicalPlan] =
      node match {
        case project @ Project(list, child) if list.forall(e => e.deterministic || ignored(e)) =>
          KeySource.lineage(list, wanted).flatMap(below(child, _)).map(c => project.copy(child = c))
        case filter @ Filter(condition, child) if condition.deterministic =>
          below(child, wanted, condition +: above).map(c => filter.copy(child = c))
        case join @ Join(left, right, joinType, condition, _) if condition.forall(_.deterministic) =>
          if (left.outputSet.contains(wanted) && keepsLeft(joinType) && enters(join, left))
            below(left, wanted).map(c => join.copy(left = c))
          else if (right.outputSet.contains(wanted) && keepsRight(joinType) && enters(join, right))
            below(right, wanted).map(c => join.copy(right = c))
          else None
        case leaf: LeafNode => change(leaf, above, wanted)
        case _              => None
      }

    below(plan, column)
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
