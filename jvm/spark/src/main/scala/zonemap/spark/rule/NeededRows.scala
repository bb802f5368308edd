// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.rule

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._

import zonemap.spark.scan.SparkMinor

/**
 * The input of an operator that depends on no other rows of it than the first ones of an order.
 *
 * @param order the first key of the order: a row that sorts after `rows` others by this key alone is not needed
 */
private[rule] final case class NeededRows(input: LogicalPlan, order: SortOrder, rows: Long)

/** Finds operators whose result depends only on the first rows of their input: SOUNDNESS, S93, S201 and S202. */
private[rule] object NeededRows extends PredicateHelper {

  def of(plan: LogicalPlan): Option[NeededRows] =
    plan match {
      case GlobalLimit(IntegerLiteral(rows), child) => ofSort(child, rows.toLong)
      case Filter(condition, window: Window) if window.partitionSpec.isEmpty && condition.deterministic =>
        for {
          first <- window.orderSpec.headOption
          rows <- ofRanks(splitConjunctivePredicates(condition), window.windowExpressions)
        } yield NeededRows(window.child, first, rows)
      case all: Aggregate if all.groupingExpressions.isEmpty && !SparkMinor.hasHint(all) =>
        ofExtremes(all.aggregateExpressions).map(NeededRows(all.child, _, 1))
      case _ => None
    }

  private def ofSort(plan: LogicalPlan, wanted: Long): Option[NeededRows] =
    plan match {
      case LocalLimit(_, child)                                     => ofSort(child, wanted)
      case Offset(IntegerLiteral(skipped), child)                   => ofSort(child, wanted + skipped)
      case Project(output, child) if output.forall(_.deterministic) => ofSort(child, wanted)
      case sort: Sort if sort.global => sort.order.headOption.map(NeededRows(sort.child, _, wanted))
      case _                         => None
    }

  /** The number of first rows that conditions on their ranks keep, if the functions of the window are only ranks. */
  private def ofRanks(conditions: Seq[Expression], functions: Seq[NamedExpression]): Option[Long] = {
    val mostOf = functions.map {
      case rank @ Alias(WindowExpression(_: RowNumber | _: Rank, _), _) => Some(rank.exprId -> Long.MaxValue)
      // without another value before it, a row has dense rank 1; k values may be of more than k rows
      case rank @ Alias(WindowExpression(_: DenseRank, _), _) => Some(rank.exprId -> 1L)
      case _                                                  => None
    }
    val most = mostOf.flatten.toMap
    val limits = conditions.flatMap(limit).collect { case (rank, rows) if most.get(rank).exists(rows <= _) => rows }
    Option.when(mostOf.forall(_.isDefined))(limits.minOption).flatten
  }

  /** The greatest value of an integer column that a condition keeps. */
  private def limit(condition: Expression): Option[(ExprId, Long)] =
    condition match {
      case EqualTo(column: Attribute, IntegerLiteral(n))            => Some(column.exprId -> n.toLong)
      case EqualTo(IntegerLiteral(n), column: Attribute)            => Some(column.exprId -> n.toLong)
      case LessThanOrEqual(column: Attribute, IntegerLiteral(n))    => Some(column.exprId -> n.toLong)
      case GreaterThanOrEqual(IntegerLiteral(n), column: Attribute) => Some(column.exprId -> n.toLong)
      case LessThan(column: Attribute, IntegerLiteral(n))           => Some(column.exprId -> (n.toLong - 1))
      case GreaterThan(IntegerLiteral(n), column: Attribute)        => Some(column.exprId -> (n.toLong - 1))
      case _                                                        => None
    }

  /** The order in which the first row has the results of all functions, if they are of the extreme of one key. */
  private def ofExtremes(output: Seq[NamedExpression]): Option[SortOrder] = {
    val orders = output.flatMap(_.collect { case function: AggregateExpression => orderOf(function) })
    orders.headOption.flatten.filter(first => orders.forall(_.exists(_.semanticEquals(first))))
  }

  private def orderOf(function: AggregateExpression): Option[SortOrder] =
    if (function.mode != Complete || function.filter.isDefined || !function.deterministic) None
    else
      function.aggregateFunction match {
        case Max(key)      => Some(order(key, Descending))
        case Min(key)      => Some(order(key, Ascending))
        case MaxBy(_, key) => Some(order(key, Descending))
        case MinBy(_, key) => Some(order(key, Ascending))
        case _             => None
      }

  private def order(key: Expression, direction: SortDirection): SortOrder = SortOrder(key, direction, NullsLast, Nil)
}
