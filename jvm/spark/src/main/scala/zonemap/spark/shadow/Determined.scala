package zonemap.spark.shadow

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, IntegerLiteral, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * What of a query's rows the query determines, where a LIMIT takes some of them: of `ORDER BY x LIMIT k` the values of `x`, as
 * rows with equal ones may be taken in any order; of a LIMIT without an order their number (SOUNDNESS, S171).
 *
 * @param plan gives the determined columns, or as many rows
 */
private[shadow] final case class Determined(plan: LogicalPlan, countOnly: Boolean)

private[shadow] object Determined {

  /** The part of the rows that can be compared, or why nothing can. */
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
      Right(below.collectFirst { case sort: Sort if sort.global => sort } match {
        case Some(sort) => Determined(keysOf(sort, limits), countOnly = false)
        case None       => Determined(plan, countOnly = true)
      })
  }

  /** The limits over the sort again, and of its rows the keys only. */
  private def keysOf(sort: Sort, limits: Seq[LogicalPlan]): LogicalPlan = {
    val cut = limits.foldRight[LogicalPlan](sort)((limit, child) => limit.withNewChildren(Seq(child)))
    Project(sort.order.zipWithIndex.map { case (key, i) => Alias(key.child, s"key$i")() }, cut)
  }

  /** The operators at the top that change neither the number nor the order of rows, with limits and sorts, and what is below. */
  private def spine(plan: LogicalPlan): (Seq[LogicalPlan], LogicalPlan) =
    plan match {
      case _: Project | _: SubqueryAlias | _: View | _: Sort | _: GlobalLimit | _: LocalLimit | _: Offset =>
        val (above, rest) = spine(plan.children.head)
        (plan +: above, rest)
      case other => (Nil, other)
    }

  /** Whether some rows are left out by their place: a limit that a plan cannot exceed leaves out none. */
  private def cuts(plan: LogicalPlan): Boolean =
    plan match {
      case GlobalLimit(IntegerLiteral(most), child)   => child.maxRows.forall(_ > most) && !isWithin(child, most)
      case LocalLimit(IntegerLiteral(most), child)    => child.maxRows.forall(_ > most)
      case _: GlobalLimit | _: LocalLimit | _: Offset => true
      case _                                          => false
    }

  /** A global limit stands over its local part, whose own rows do not bound it. */
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
