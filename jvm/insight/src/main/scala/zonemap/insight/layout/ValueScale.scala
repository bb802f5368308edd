// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import zonemap.core.predicate.{ValueRange, ValueRanges}
import zonemap.core.value._

/**
 * Places values of one column on a line, so that an estimate can compare the widths of intervals. The places keep the
 * order of the values. Only estimates use it: two values may have the same place.
 *
 * @param unit the width of a single value: 1 for whole numbers and dates, 0 for values without a next value
 * @param sharedBytes the number of leading bytes that all texts share; the places are of the bytes after them
 */
private[layout] final class ValueScale private (val unit: Double, val sharedBytes: Int, place: ZoneValue => Double) {

  def placeOf(value: ZoneValue): Double = place(value)

  /** The width of the interval from `lower` to `upper`, both included; 0 for a single value without a width. */
  def width(lower: ZoneValue, upper: ZoneValue): Double = place(upper) - place(lower) + unit

  /** False for an interval with an end at infinity, and for one that is wider than the largest number. */
  def knowsWidth(lower: ZoneValue, upper: ZoneValue): Boolean = java.lang.Double.isFinite(width(lower, upper))

  /** The share of the interval from `lower` to `upper`, 0 to 1, that is in the ranges. O(log(ranges) + ranges within). */
  def share(ranges: ValueRanges, lower: ZoneValue, upper: ZoneValue): Double = {
    val whole = width(lower, upper)
    if (!ranges.intersects(lower, upper)) 0.0
    else if (ranges.contains(lower, upper) || whole <= 0) 1.0
    else {
      val (start, end) = (place(lower), place(upper) + unit)
      val inside = ranges.iterator.map(within(_, start, end)).sum
      Math.max(0.0, Math.min(1.0, inside / whole))
    }
  }

  private def within(range: ValueRange, start: Double, end: Double): Double = {
    val from = if (range.from == null) start else Math.max(start, place(range.from))
    val until = if (range.until == null) end else Math.min(end, place(range.until))
    Math.max(0.0, until - from)
  }
}

private[layout] object ValueScale {
  private val Bytes = 8

  /** @param ends all ends of the intervals that are compared */
  def of(columnType: ColumnType, ends: => Iterator[ZoneValue]): ValueScale =
    columnType match {
      case FloatType | DoubleType =>
        new ValueScale(0.0, 0, { case LongValue(v) => ZoneValues.toDouble(v); case _ => 0.0 })
      case other if other.encoding == Encoding.Longs =>
        new ValueScale(1.0, 0, { case LongValue(v) => v.toDouble; case _ => 0.0 })
      case _ =>
        val shared = sharedBytes(ends)
        new ValueScale(
          0.0,
          shared,
          { case BytesValue(bytes) => leading(bytes, shared); case LongValue(v) => v.toDouble })
    }

  /** The number of leading bytes that all values share. */
  private def sharedBytes(values: Iterator[ZoneValue]): Int = {
    val texts = values.collect { case BytesValue(bytes) => bytes }
    if (!texts.hasNext) 0
    else {
      val first = texts.next()
      texts.foldLeft(first.length) { (common, bytes) =>
        val differs = java.util.Arrays.mismatch(first, bytes)
        if (differs < 0) common else Math.min(common, differs)
      }
    }
  }

  /** The bytes after the shared ones, as a number. */
  private def leading(bytes: Array[Byte], shared: Int): Double =
    (shared until shared + Bytes).foldLeft(0.0)((sum, i) => sum * 256 + (if (i < bytes.length) bytes(i) & 0xff else 0))
}
