// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import org.apache.spark.sql.catalyst.expressions.{BinaryComparison, EqualNullSafe, EqualTo, Expression, GreaterThan}
import org.apache.spark.sql.catalyst.expressions.{GreaterThanOrEqual, LessThan, LessThanOrEqual, Literal}
import org.apache.spark.sql.types.DataType

import zonemap.core.predicate.CompareOp

/**
 * Matches a comparison of an expression with a literal that is not null, and returns the expression and its matching
 * values. A comparison with NULL is NULL for every row, whatever the value of the expression.
 */
private[expression] object Comparison {
  def unapply(condition: Expression): Option[(Expression, Wanted)] =
    condition match {
      case c: BinaryComparison if !c.isInstanceOf[EqualNullSafe] =>
        (c.left, c.right) match {
          case (tested, Literal(value, dataType)) => wanted(c, tested, value, dataType, flipped = false)
          case (Literal(value, dataType), tested) => wanted(c, tested, value, dataType, flipped = true)
          case _                                  => None
        }
      case _ => None
    }

  private def wanted(c: BinaryComparison, tested: Expression, value: Any, dataType: DataType, flipped: Boolean) =
    for {
      op <- operator(c, flipped)
      if value != null && tested.dataType == dataType && CatalystValues.isOrdered(dataType)
    } yield (tested, Wanted.compared(op, CatalystValues.encode(dataType, value)))

  private def operator(c: BinaryComparison, flipped: Boolean): Option[CompareOp] =
    c match {
      case _: EqualTo            => Some(CompareOp.Eq)
      case _: LessThan           => Some(if (flipped) CompareOp.Gt else CompareOp.Lt)
      case _: LessThanOrEqual    => Some(if (flipped) CompareOp.GtEq else CompareOp.LtEq)
      case _: GreaterThan        => Some(if (flipped) CompareOp.Lt else CompareOp.Gt)
      case _: GreaterThanOrEqual => Some(if (flipped) CompareOp.LtEq else CompareOp.GtEq)
      case _                     => None
    }
}
