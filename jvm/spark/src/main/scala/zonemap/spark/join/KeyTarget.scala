package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * Finds the relation that a column of a plan is read from, where leaving out rows of the relation by that column leaves
 * out just the rows of the plan with these values: below projections, filters and the kept sides of joins that are all
 * deterministic. Limits, windows, aggregates and unions end the search. SOUNDNESS, S65.
 */
private[join] object KeyTarget {

  /**
   * The plan with another relation at the bottom, or `None` when there is none or `change` declines.
   *
   * @param change gets the relation, the conditions of the filters right above it, and the relation's column
   * @param enters whether the search may go on below a side of a join
   * @param ignored what a projection may make of whatever rows there are
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
