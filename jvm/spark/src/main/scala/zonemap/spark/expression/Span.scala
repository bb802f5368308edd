// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import scala.util.control.ControlThrowable

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/**
 * What an expression may be for the rows of a file: values from `lower` to `upper` in Spark's order, and beside them
 * null and NaN. Values are Catalyst's; an end that is null is not known.
 *
 * @param hasValues false only if the expression is null or NaN for every row
 * @param hasNulls false only if the expression is null for no row
 * @param hasNaN false only if the expression is NaN for no row
 */
private[expression] final case class Span(
    lower: Any,
    upper: Any,
    hasValues: Boolean,
    hasNulls: Boolean,
    hasNaN: Boolean) {

  /** True unless the expression is null for every row. */
  def isAny: Boolean = hasValues || hasNaN

  /**
   * True if the expression has a single value for all rows that are not null. A floating-point zero is not one, because
   * it may be 0.0 or -0.0.
   */
  def isPoint(dataType: DataType): Boolean =
    hasValues && !hasNaN && lower != null && lower == upper && (dataType match {
      case FloatType | DoubleType => lower.asInstanceOf[Number].doubleValue != 0
      case _                      => true
    })

  def mayBeTrue: Boolean = hasValues && upper != false
  def mayBeFalse: Boolean = hasValues && lower != true
}

private[expression] object Span {

  /** Thrown where a span is not known, or where Spark may report an error for a row. */
  object NotKnown extends ControlThrowable {
    override def getMessage: String = "the span of an expression is not known"
  }

  val OnlyNull: Span = Span(null, null, hasValues = false, hasNulls = true, hasNaN = false)

  def between(lower: Any, upper: Any, hasNulls: Boolean): Span =
    Span(lower, upper, hasValues = true, hasNulls, hasNaN = false)

  def truth(mayBeTrue: Boolean, mayBeFalse: Boolean, hasNulls: Boolean): Span =
    Span(!mayBeFalse, mayBeTrue, hasValues = mayBeTrue || mayBeFalse, hasNulls, hasNaN = false)

  /** The span of one value of a type. */
  def point(value: Any): Span =
    value match {
      case null                 => OnlyNull
      case d: Double if d.isNaN => Span(null, null, hasValues = false, hasNulls = false, hasNaN = true)
      case f: Float if f.isNaN  => Span(null, null, hasValues = false, hasNulls = false, hasNaN = true)
      case other                => between(other, other, hasNulls = false)
    }
}

/** Compares and joins the spans of one type. Spark's order: NaN is the greatest value, and both zeros are equal. */
private[expression] final class SpanOrder(dataType: DataType) {
  private lazy val order = TypeUtils.getInterpretedOrdering(dataType)

  def compare(left: Any, right: Any): Int = order.compare(left, right)

  /** Whether some value of `left` may be less than some value of `right`. */
  def mayBeLess(left: Span, right: Span): Boolean = left.hasValues && (right.hasNaN || isBelow(left, right, 0))

  /** Whether some value of `left` may be less than or equal to some value of `right`. */
  def mayBeLessOrEqual(left: Span, right: Span): Boolean =
    left.isAny && (right.hasNaN || (left.hasValues && isBelow(left, right, 1)))

  def mayBeEqual(left: Span, right: Span): Boolean =
    (left.hasNaN && right.hasNaN) || (left.hasValues && right.hasValues && isBelow(left, right, 1) &&
      isBelow(right, left, 1))

  private def isBelow(left: Span, right: Span, limit: Int): Boolean =
    right.hasValues && (left.lower == null || right.upper == null || compare(left.lower, right.upper) < limit)

  def sorted(values: Seq[Any]): Array[Any] = values.sorted(order).toArray

  /** Whether one of some sorted values lies within the ends of a span. */
  def isAnyWithin(sorted: Array[Any], span: Span): Boolean = {
    var first = 0
    var end = if (span.lower == null) 0 else sorted.length
    while (first < end) {
      val middle = (first + end) >>> 1
      if (compare(sorted(middle), span.lower) < 0) first = middle + 1 else end = middle
    }
    first < sorted.length && (span.upper == null || compare(sorted(first), span.upper) <= 0)
  }

  /** The span of rows of which each is in one of two spans. */
  def union(left: Span, right: Span): Span = {
    val others = Span(null, null, hasValues = true, left.hasNulls || right.hasNulls, left.hasNaN || right.hasNaN)
    if (!left.hasValues) right.copy(hasNulls = others.hasNulls, hasNaN = others.hasNaN)
    else if (!right.hasValues) left.copy(hasNulls = others.hasNulls, hasNaN = others.hasNaN)
    else others.copy(lower = least(Seq(left.lower, right.lower)), upper = greatest(Seq(left.upper, right.upper)))
  }

  /** The least of some values; null if one of them is not known. */
  def least(values: Seq[Any]): Any = extreme(values, -1)

  /** The greatest of some values; null if one of them is not known. */
  def greatest(values: Seq[Any]): Any = extreme(values, 1)

  private def extreme(values: Seq[Any], sign: Int): Any =
    values.reduce { (a, b) =>
      if (a == null || b == null) null
      else if (sign * compare(a, b) >= 0) a
      else b
    }
}
