// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._

import zonemap.spark.expression.CatalystValues.isIntegral

/** One equality of a join condition: a column of the left plan that must equal a column of the right plan. */
private[join] final case class JoinKey(left: Attribute, right: Attribute)

private[join] object JoinKey extends PredicateHelper {

  /** Returns the equalities between a column of `left` and a column of `right` that the conditions require. */
  def of(conditions: Seq[Expression], left: LogicalPlan, right: LogicalPlan): Seq[JoinKey] =
    conditions
      .flatMap(splitConjunctivePredicates)
      .collect { case EqualTo(Column(a), Column(b)) => JoinKey(a, b) }
      .flatMap { key =>
        if (left.outputSet.contains(key.left) && right.outputSet.contains(key.right)) Some(key)
        else if (left.outputSet.contains(key.right) && right.outputSet.contains(key.left))
          Some(JoinKey(key.right, key.left))
        else None
      }

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
    expression match {
      case attribute: AttributeReference                            => Some(attribute)
      case cast: Cast if widens(cast.child.dataType, cast.dataType) => unapply(cast.child)
      case KnownFloatingPointNormalized(NormalizeNaNAndZero(child)) => unapply(child)
      case _                                                        => None
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
