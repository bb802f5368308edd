// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._

import zonemap.spark.expression.CatalystValues.isIntegral

/**
 * One equality of a join condition: an expression of the left plan's columns that must equal one of the right plan's.
 * Both have one type.
 */
private[join] final case class JoinKey(left: Expression, right: Expression) {
  def swapped: JoinKey = JoinKey(right, left)
}

private[join] object JoinKey extends PredicateHelper {

  /** Returns the equalities between expressions of `left` and of `right` that the conditions require. */
  def of(conditions: Seq[Expression], left: LogicalPlan, right: LogicalPlan): Seq[JoinKey] =
    conditions
      .flatMap(splitConjunctivePredicates)
      .collect { case EqualTo(a, b) if a.references.nonEmpty && b.references.nonEmpty => JoinKey(a, b) }
      .flatMap { key =>
        if (isOf(key.left, left) && isOf(key.right, right)) Some(key)
        else if (isOf(key.left, right) && isOf(key.right, left)) Some(key.swapped)
        else None
      }

  private def isOf(expression: Expression, plan: LogicalPlan): Boolean =
    expression.references.subsetOf(plan.outputSet)

  /** True if values of the two types are equal exactly if their encodings are equal. */
  def shareOrder(left: DataType, right: DataType): Boolean =
    left == right || (isIntegral(left) && isIntegral(right)) || (isFloating(left) && isFloating(right))

  private def isFloating(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType
}

/**
 * Matches a column, also within expressions that preserve whether two values are equal: widening casts, and Spark's
 * normalization of NaN and zero.
 */
private[zonemap] object Column {
  def unapply(expression: Expression): Option[Attribute] =
    within(expression) match {
      case attribute: AttributeReference => Some(attribute)
      case _                             => None
    }

  /** Removes the outer expressions that preserve whether two values are equal. */
  def within(expression: Expression): Expression =
    expression match {
      case cast: Cast if widens(cast.child.dataType, cast.dataType) => within(cast.child)
      case KnownFloatingPointNormalized(NormalizeNaNAndZero(child)) => within(child)
      case other                                                    => other
    }

  private def widens(from: DataType, to: DataType): Boolean =
    (from, to) match {
      case (ByteType, ShortType | IntegerType | LongType) => true
      case (ShortType, IntegerType | LongType)            => true
      case (IntegerType, LongType)                        => true
      case (FloatType, DoubleType)                        => true
      case _                                              => false
    }
}
