// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.convert

import java.time.{LocalDate, YearMonth}

import scala.util.Try

import org.apache.iceberg.expressions.Expression
import org.apache.iceberg.transforms.Transform

import zonemap.core.predicate.{And, ColumnRef, Compare, CompareOp, IsNull, Or, Predicate}
import zonemap.core.value._

/**
 * Converts comparisons of an order-preserving Iceberg transform of a column to ranges of the column itself.
 *
 * `year`, `month`, `day`, `hour` and numeric `truncate[W]` map an interval `[start(v), start(v + step))` of source
 * values to each of their values `v`. A comparison with `v` is therefore equivalent to a range that starts or ends at
 * an end of this interval. Truncation overflows for the lowest values of the type and maps them to the highest
 * values: every range includes them.
 *
 * @param wrapsBelow the transform may map values below this one out of order
 */
private[convert] final class TransformRanges private (
    column: ColumnRef,
    step: Long,
    start: Long => Option[Long],
    wrapsBelow: Option[Long] = None) {

  /**
   * The range that is equivalent to `transform(column) op value`; `None` if one of its ends does not fit the column's
   * type.
   */
  def compare(op: Expression.Operation, value: Long): Option[Predicate] =
    inOrder(op, value).map { range =>
      wrapsBelow.fold(range)(at => Or(Seq(range, Compare(column, CompareOp.Lt, ZoneValues.ofLong(at)))))
    }

  private def inOrder(op: Expression.Operation, value: Long): Option[Predicate] = {
    def from: Option[Predicate] = start(value).map(at => Compare(column, CompareOp.GtEq, ZoneValues.ofLong(at)))
    def below: Option[Predicate] = start(value).map(at => Compare(column, CompareOp.Lt, ZoneValues.ofLong(at)))
    def beyond: Option[Predicate] = end(value).map(at => Compare(column, CompareOp.GtEq, ZoneValues.ofLong(at)))
    def within: Option[Predicate] = end(value).map(at => Compare(column, CompareOp.Lt, ZoneValues.ofLong(at)))
    op match {
      case Expression.Operation.LT     => below
      case Expression.Operation.LT_EQ  => within
      case Expression.Operation.GT     => beyond
      case Expression.Operation.GT_EQ  => from
      case Expression.Operation.EQ     => for (a <- from; b <- within) yield And(Seq(a, b))
      case Expression.Operation.NOT_EQ => for (a <- below; b <- beyond) yield Or(Seq(IsNull(column), a, b))
      case _                           => None
    }
  }

  private def end(value: Long): Option[Long] = Try(Math.addExact(value, step)).toOption.flatMap(start)
}

private[convert] object TransformRanges {
  private val HoursPerDay = 24L
  private val FirstYear = 1970L
  private val MonthsPerYear = 12L

  /** `None` for a transform that does not preserve the order of `column`, or whose ranges are unknown. */
  def of(column: ColumnRef, transform: Transform[_, _]): Option[TransformRanges] =
    (transform.toString, unitsPerDay(column.columnType)) match {
      case ("year", Some(units)) =>
        Some(new TransformRanges(column, 1, v => startOfDay(LocalDate.of((FirstYear + v).toInt, 1, 1), units)))
      case ("month", Some(units)) =>
        Some(new TransformRanges(column, 1, v => startOfDay(firstOfMonth(v), units)))
      case ("day", Some(units)) =>
        Some(new TransformRanges(column, 1, v => Try(Math.multiplyExact(v, units)).toOption))
      case ("hour", Some(units)) if units % HoursPerDay == 0 && units > 1 =>
        Some(new TransformRanges(column, 1, v => Try(Math.multiplyExact(v, units / HoursPerDay)).toOption))
      case (Truncate(width), _) if column.columnType == IntType || column.columnType == LongType =>
        val lowest = if (column.columnType == IntType) Int.MinValue.toLong else Long.MinValue
        val wraps = Option.when(lowest % width.toLong != 0)(lowest + width.toLong)
        Some(new TransformRanges(column, width.toLong, v => Option.when(v % width.toLong == 0)(v), wraps))
      case _ => None
    }

  private val Truncate = """truncate\[(\d{1,9})]""".r

  private def firstOfMonth(monthsSince1970: Long): LocalDate =
    YearMonth
      .of((FirstYear + Math.floorDiv(monthsSince1970, MonthsPerYear)).toInt, 1)
      .plusMonths(Math.floorMod(monthsSince1970, MonthsPerYear))
      .atDay(1)

  private def startOfDay(day: LocalDate, unitsPerDay: Long): Option[Long] =
    Try(Math.multiplyExact(day.toEpochDay, unitsPerDay)).toOption

  /** The number of units of the stored value (days, microseconds or nanoseconds) in one day. */
  private def unitsPerDay(columnType: ColumnType): Option[Long] =
    columnType match {
      case DateType                            => Some(1L)
      case TimestampType | TimestampTzType     => Some(86400L * 1000 * 1000)
      case TimestampNsType | TimestampTzNsType => Some(86400L * 1000 * 1000 * 1000)
      case _                                   => None
    }
}
