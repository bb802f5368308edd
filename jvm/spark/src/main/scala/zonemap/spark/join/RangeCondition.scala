// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Predicate => _, _}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import zonemap.core.predicate.{CompareOp, Predicate}
import zonemap.spark.expression.{CatalystValues, RowRanges}

/**
 * Comparisons of one expression of a side of a join with expressions of the other side, as in
 * `e.ts BETWEEN m.first AND m.last`. Each row of the other side restricts the expression to a range.
 *
 * @param tested the expression of this side
 * @param bounds the comparisons `tested op bound`
 */
private[join] final case class RangeCondition(tested: Expression, bounds: Seq[(CompareOp, Expression)]) {
  def operators: Seq[CompareOp] = bounds.map(_._1)

  /**
   * The bounds of a row of the other side, as one value. A bound that fails is null: the join may not evaluate it for
   * any pair of rows, and a row of which a comparison fails has no counterpart.
   */
  def ofRow: Expression = struct(bounds.map { case (_, bound) => TryEval(bound) })

  /** What Spark compares with [[ofRow]] and passes to a scan: the tested expression at the place of each bound. */
  def over(key: Expression): Expression = struct(bounds.map(_ => key))

  private def struct(values: Seq[Expression]): Expression =
    CreateNamedStruct(values.zipWithIndex.flatMap { case (value, i) => Seq(Literal(s"bound$i"), value) })
}

private[join] object RangeCondition extends PredicateHelper {

  /** Returns the ranges in which a join condition requires expressions of `probe` to be, by rows of `build`. */
  def of(condition: Option[Expression], probe: LogicalPlan, build: LogicalPlan): Seq[RangeCondition] = {
    val comparisons = for {
      conjunct <- condition.toSeq.flatMap(splitConjunctivePredicates)
      if conjunct.deterministic
      (tested, op, bound) <- sides(conjunct)
      if isOf(tested, probe) && isOf(bound, build)
      if tested.dataType == bound.dataType && CatalystValues.isOrdered(tested.dataType)
    } yield (tested, op, bound)
    comparisons.groupBy(_._1.canonicalized).values.toSeq.map { same =>
      RangeCondition(same.head._1, same.map { case (_, op, bound) => (op, bound) })
    }
  }

  /** A comparison as one of each of its sides with the other. */
  private def sides(condition: Expression): Seq[(Expression, CompareOp, Expression)] =
    condition match {
      case LessThan(a, b)           => Seq((a, CompareOp.Lt, b), (b, CompareOp.Gt, a))
      case LessThanOrEqual(a, b)    => Seq((a, CompareOp.LtEq, b), (b, CompareOp.GtEq, a))
      case GreaterThan(a, b)        => Seq((a, CompareOp.Gt, b), (b, CompareOp.Lt, a))
      case GreaterThanOrEqual(a, b) => Seq((a, CompareOp.GtEq, b), (b, CompareOp.LtEq, a))
      case _                        => Nil
    }

  private def isOf(expression: Expression, plan: LogicalPlan): Boolean =
    expression.references.nonEmpty && expression.references.subsetOf(plan.outputSet)
}

/** A key of a scan that gets ranges while the query runs: SOUNDNESS, S206. */
private[join] final class RangeKey(key: ScanKey, range: RangeCondition) extends RuntimeKey {
  private val passed = range.over(key.expression)

  override val name: String = s"the range of ${key.name}"
  override val ofOne: String = "range"
  override val passedAs: AttributeReference = AttributeReference(name, passed.dataType)()
  override def isFor(expression: Expression): Boolean = expression.semanticEquals(passed)

  override def whenAmong(values: Seq[Literal]): Predicate = {
    val rows = values.iterator.map(_.value.asInstanceOf[InternalRow]).map { row =>
      range.bounds.zipWithIndex.map { case ((op, bound), i) =>
        op -> CatalystValues.encode(bound.dataType, row.get(i, bound.dataType))
      }
    }
    val found = RowRanges.of(rows)
    key.within(found.ranges, found.nan)
  }

  private def same: (ScanKey, Seq[CompareOp]) = (key, range.operators)

  override def equals(other: Any): Boolean =
    other match {
      case that: RangeKey => same == that.same
      case _              => false
    }

  override def hashCode(): Int = same.hashCode
}
