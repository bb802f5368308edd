// SPDX-License-Identifier: Apache-2.0
package zonemap.spark.expression

import zonemap.core.predicate._
import zonemap.core.value.ZoneValue

/** A set of values of an expression: values in ranges, with or without NaN and null. Immutable. */
private[expression] final case class Wanted(ranges: ValueRanges, nan: Boolean, nulls: Boolean) {

  def holds(value: Encoded): Boolean =
    value match {
      case Encoded.Null     => nulls
      case Encoded.NaN      => nan
      case Encoded.Value(v) => ranges.contains(v)
    }

  def isEverything: Boolean = ranges.isEverything && nan && nulls

  def withoutNulls: Wanted = copy(nulls = false)

  /** Returns all values that are not null and not in this set. */
  def otherValues: Wanted = Wanted(ranges.complement, !nan, nulls = false)

  /** Returns a predicate for exactly the rows whose value of `column` is in the set. */
  def on(column: ColumnRef): Predicate =
    if (ranges.isEverything && (nan || !column.columnType.mayHoldNaN)) { if (nulls) True else NotNull(column) }
    else
      Predicate.or(
        if (ranges.isEmpty) False else InRanges(column, ranges),
        if (nan && column.columnType.mayHoldNaN) IsNaN(column) else False,
        if (nulls) IsNull(column) else False)
}

private[expression] object Wanted {
  val nothing: Wanted = Wanted(ValueRanges.empty, nan = false, nulls = false)
  val everything: Wanted = Wanted(ValueRanges.everything, nan = true, nulls = true)
  val onlyNull: Wanted = nothing.copy(nulls = true)
  val notNull: Wanted = everything.copy(nulls = false)

  /** Returns the values equal to `value`, which is not null. */
  def point(value: Encoded): Wanted =
    value match {
      case Encoded.Null     => nothing
      case Encoded.NaN      => nothing.copy(nan = true)
      case Encoded.Value(v) => nothing.copy(ranges = ValueRanges.point(v))
    }

  /** Returns the values `x` with `x op value` in Spark's order, in which NaN is the greatest value. */
  def compared(op: CompareOp, value: Encoded): Wanted =
    (op, value) match {
      case (_, Encoded.Null)                  => nothing
      case (CompareOp.Eq, _)                  => point(value)
      case (CompareOp.NotEq, _)               => point(value).otherValues
      case (CompareOp.Lt, Encoded.NaN)        => nothing.copy(ranges = ValueRanges.everything)
      case (CompareOp.LtEq, Encoded.NaN)      => notNull
      case (CompareOp.Gt, Encoded.NaN)        => nothing
      case (CompareOp.GtEq, Encoded.NaN)      => point(value)
      case (CompareOp.Lt, Encoded.Value(v))   => nothing.copy(ranges = ValueRanges.between(null, v))
      case (CompareOp.LtEq, Encoded.Value(v)) => nothing.copy(ranges = ValueRanges.closed(null, v))
      case (CompareOp.GtEq, Encoded.Value(v)) => Wanted(from(v), nan = true, nulls = false)
      case (CompareOp.Gt, Encoded.Value(v))   => Wanted(above(v), nan = true, nulls = false)
    }

  private def from(value: ZoneValue): ValueRanges = ValueRanges.between(value, null)

  private def above(value: ZoneValue): ValueRanges =
    Option(ValueRanges.successor(value)).fold(ValueRanges.empty)(from)
}
