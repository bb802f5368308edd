// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, IntegerLiteral, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * The part of a query's rows that is equal in each correct run. `ORDER BY x LIMIT k` determines only the values of `x`,
 * because it may return any of the rows with equal `x`. A LIMIT without an order determines only the number of rows
 * (SOUNDNESS, S140).
 *
 * @param plan returns the determined columns, or rows of which only the number is determined
 * @param countOnly true if only the number of rows is determined
 */
private[shadow] final case class Determined(plan: LogicalPlan, countOnly: Boolean)

private[shadow] object Determined {

  /** Returns the part of the rows that can be compared, or the reason why no part can. */
  def rows(plan: LogicalPlan): Either[String, Determined] =
    plan match {
      case cte: WithCTE if !cte.cteDefs.exists(isCut) =>
        rows(cte.plan).map(found => found.copy(plan = cte.copy(plan = found.plan)))
      case _ if !isCut(plan) => Right(Determined(plan, countOnly = false))
      case _                 => ofCut(plan)
    }

  private def ofCut(plan: LogicalPlan): Either[String, Determined] = {
    val (above, rest) = spine(plan)
    val limits = above.collect { case cut if cuts(cut) => cut }
    val sortedAfterwards = above.takeWhile(!cuts(_)).exists(_.isInstanceOf[Sort])
    val below = above.reverse.takeWhile(!cuts(_)).reverse
    val between = above.slice(above.indexWhere(cuts), above.lastIndexWhere(cuts)).exists(_.isInstanceOf[Sort])
    if (isCut(rest) || above.exists(node => node.expressions.exists(hasCut)) || between || sortedAfterwards)
      Left("it has a LIMIT below other operators")
    else
      below.collectFirst { case sort: Sort if sort.global => sort } match {
        case Some(sort) if sort.order.exists(key => !OrderFree.isDistinguished(key.child.dataType)) =>
          Left("its order takes different values for equal")
        case Some(sort) => Right(Determined(keysOf(sort, limits), countOnly = false))
        case None       => Right(Determined(plan, countOnly = true))
      }
  }

  /** Returns a plan that applies the limits to the sort and projects the rows to the sort keys. */
  private def keysOf(sort: Sort, limits: Seq[LogicalPlan]): LogicalPlan = {
    val cut = limits.foldRight[LogicalPlan](sort)((limit, child) => limit.withNewChildren(Seq(child)))
    Project(sort.order.zipWithIndex.map { case (key, i) => Alias(key.child, s"key$i")() }, cut)
  }

  /**
   * Splits a plan into its topmost operators and the plan below them. The topmost operators are limits, sorts, and
   * operators that change neither the number nor the order of rows.
   */
  private def spine(plan: LogicalPlan): (Seq[LogicalPlan], LogicalPlan) =
    plan match {
      case _: Project | _: SubqueryAlias | _: View | _: Sort | _: GlobalLimit | _: LocalLimit | _: Offset =>
        val (above, rest) = spine(plan.children.head)
        (plan +: above, rest)
      case other => (Nil, other)
    }

  /** True if the operator may drop rows by their position. A limit that its child cannot exceed drops no row. */
  private def cuts(plan: LogicalPlan): Boolean =
    plan match {
      case GlobalLimit(IntegerLiteral(most), child)   => child.maxRows.forall(_ > most) && !isWithin(child, most)
      case LocalLimit(IntegerLiteral(most), child)    => child.maxRows.forall(_ > most)
      case _: GlobalLimit | _: LocalLimit | _: Offset => true
      case _                                          => false
    }

  /**
   * True if the child of the local limit below a global limit has at most `most` rows. The row count of the local limit
   * itself is not an upper bound.
   */
  private def isWithin(plan: LogicalPlan, most: Int): Boolean =
    plan match {
      case LocalLimit(_, child) => child.maxRows.exists(_ <= most)
      case _                    => false
    }

  private def isCut(plan: LogicalPlan): Boolean =
    plan.exists(node => cuts(node) || node.expressions.exists(hasCut))

  private def hasCut(expression: Expression): Boolean =
    expression.exists {
      case subquery: PlanExpression[_] =>
        subquery.plan match {
          case inner: LogicalPlan => isCut(inner)
          case _                  => true
        }
      case _ => false
    }
}
