// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{BoundsFlags, ExactRows, LongBounds, LongDictionary}
import zonemap.core.predicate.ValueRanges
import zonemap.core.rule.{Elements, Endpoint, Interval, Ranges, UuidElements, ValueSet}
import zonemap.core.value.{LongValue, ZoneValue}

/**
 * A [[ValueSet]] over a column of longs, which compares exact bounds without allocating an object per row. The flags of
 * a row determine which of its bounds are present. Each subclass has its own loops, so that no method is called per
 * row. Belongs to one evaluation.
 */
abstract private[kernel] class LongSet {

  /** Reads the bounds of the rows and sets `proven` as [[ValueSet.misses]] for each row. */
  def misses(rows: ExactRows, bounds: LongBounds): Unit

  /** Reads the bounds of the rows and sets `proven` as [[ValueSet.contains]] for each row. */
  def contains(rows: ExactRows, bounds: LongBounds): Unit
}

private[kernel] object LongSet {

  /** @param ranks the positions of the column's codes among the elements; computed only for a set of elements */
  def of(set: ValueSet, dictionary: LongDictionary, ranks: => CodeRanks): Option[LongSet] = set match {
    case Interval(start, end) => Some(new LongInterval(start, end))
    case Elements(values)     => values.longs.map(new LongElements(_, dictionary, ranks))
    case Ranges(ranges)       => Some(new LongRanges(ranges))
    case _: UuidElements      => None
  }

  def number(value: ZoneValue): Long = value match {
    case LongValue(v) => v
    case other        => throw new IllegalArgumentException(s"$other for a column of longs")
  }
}

final private class LongInterval(start: Option[Endpoint], end: Option[Endpoint]) extends LongSet {
  private val hasStart = start.isDefined
  private val hasEnd = end.isDefined
  private val from = start.fold(0L)(s => LongSet.number(s.value))
  private val to = end.fold(0L)(e => LongSet.number(e.value))
  private val fromInclusive = start.exists(_.inclusive)
  private val toInclusive = end.exists(_.inclusive)

  private def above(value: Long) = value > from || (fromInclusive && value == from)
  private def below(value: Long) = value < to || (toInclusive && value == to)

  override def misses(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.read(rows)
    var i = 0
    while (i < rows.size) {
      val flags = rows.flags(i).toInt
      rows.proven(i) = (hasStart && BoundsFlags.hasUpper(flags) && !above(rows.uppers(i))) ||
        (hasEnd && BoundsFlags.hasLower(flags) && !below(rows.lowers(i)))
      i += 1
    }
  }

  override def contains(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.read(rows)
    var i = 0
    while (i < rows.size) {
      val flags = rows.flags(i).toInt
      rows.proven(i) = (!hasStart || (BoundsFlags.hasLower(flags) && above(rows.lowers(i)))) &&
        (!hasEnd || (BoundsFlags.hasUpper(flags) && below(rows.uppers(i))))
      i += 1
    }
  }
}

final private class LongRanges(ranges: ValueRanges) extends LongSet {
  private val openStart = ranges.size > 0 && ranges(0).from == null
  private val openEnd = ranges.size > 0 && ranges(ranges.size - 1).until == null
  private val froms = ends(_.from)
  private val untils = ends(_.until)

  private def ends(end: zonemap.core.predicate.ValueRange => ZoneValue): Array[Long] =
    ranges.iterator.map(r => if (end(r) == null) 0L else LongSet.number(end(r))).toArray

  override def misses(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.read(rows)
    var i = 0
    while (i < rows.size) {
      val flags = rows.flags(i).toInt
      val range = firstEndingAbove(flags, rows.lowers(i))
      rows.proven(i) = range == froms.length ||
        (BoundsFlags.hasUpper(flags) && !isOpenStart(range) && froms(range) > rows.uppers(i))
      i += 1
    }
  }

  override def contains(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.read(rows)
    var i = 0
    while (i < rows.size) {
      val flags = rows.flags(i).toInt
      val range = firstEndingAbove(flags, rows.lowers(i))
      rows.proven(i) = range < froms.length &&
        (isOpenStart(range) || (BoundsFlags.hasLower(flags) && froms(range) <= rows.lowers(i))) &&
        (isOpenEnd(range) || (BoundsFlags.hasUpper(flags) && rows.uppers(i) < untils(range)))
      i += 1
    }
  }

  private def isOpenStart(range: Int) = range == 0 && openStart
  private def isOpenEnd(range: Int) = range == untils.length - 1 && openEnd

  private def firstEndingAbove(flags: Int, lower: Long): Int =
    if (!BoundsFlags.hasLower(flags)) 0
    else {
      var low = 0
      var high = if (openEnd) untils.length - 1 else untils.length
      while (low < high) {
        val middle = (low + high) >>> 1
        if (untils(middle) <= lower) low = middle + 1 else high = middle
      }
      low
    }
}
