package zonemap.spark.join

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types._

import zonemap.spark.expression.CatalystValues.isIntegral

/** Columns that have to be equal for a row of one plan to meet a row of another. */
private[join] final case class JoinKey(left: Attribute, right: Attribute)

private[join] object JoinKey extends PredicateHelper {

  /** The equalities of plain columns that a condition asks for, as pairs of (column of left, column of right). */
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
      .filter(key => shareOrder(key.left.dataType, key.right.dataType))

  /** Whether values of the two types are equal exactly when their encodings are. */
  def shareOrder(left: DataType, right: DataType): Boolean =
    left == right || (isIntegral(left) && isIntegral(right)) || (isFloating(left) && isFloating(right))

  private def isFloating(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType
}

/** A column, bare or in what keeps its values apart and equal: a widening cast, Spark's one form of NaN and zero. */
private[join] object Column {
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
