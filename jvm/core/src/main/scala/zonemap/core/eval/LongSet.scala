package zonemap.core.eval

import zonemap.core.predicate.ValueRanges
import zonemap.core.segment.BoundsFlags
import zonemap.core.value.{LongValue, ZoneValue}

/**
 * A [[ValueSet]] over a column of longs, asked of exact bounds without an object a row. The flags of the row say which
 * bound is there. Immutable.
 */
sealed abstract private[eval] class LongSet {

  /** As [[ValueSet.misses]]; the code is the lower bound's. */
  def misses(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean

  /** As [[ValueSet.contains]]. */
  def contains(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean
}

private[eval] object LongSet {

  /** @param ranks where the codes of the column stand among the elements; asked for a set of elements only */
  def of(set: ValueSet, ranks: => CodeRanks): Option[LongSet] = set match {
    case Interval(start, end) => Some(new LongInterval(start, end))
    case Elements(values)     => values.longs.map(new LongElements(_, ranks))
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

  override def misses(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean =
    (hasStart && BoundsFlags.hasUpper(flags) && !above(upper)) || (hasEnd && BoundsFlags.hasLower(flags) && !below(
      lower))

  override def contains(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean =
    (!hasStart || (BoundsFlags.hasLower(flags) && above(lower))) && (!hasEnd || (BoundsFlags.hasUpper(flags) && below(
      upper)))
}

/** Of a large set only the elements that share the code of the lower bound are searched, one or a few. */
final private class LongElements(values: Array[Long], ranks: CodeRanks) extends LongSet {

  override def misses(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean = {
    val first = if (BoundsFlags.hasLower(flags)) firstAtLeast(lower, lowerCode) else 0
    first == values.length || (BoundsFlags.hasUpper(flags) && values(first) > upper)
  }

  override def contains(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean =
    BoundsFlags.hasLower(flags) && BoundsFlags.hasUpper(flags) && lower == upper && {
      val first = firstAtLeast(lower, lowerCode)
      first < values.length && values(first) == lower
    }

  private def firstAtLeast(value: Long, code: Int): Int = {
    var low = ranks.before(code)
    var high = ranks.before(code + 1)
    while (high - low > LongElements.Few) {
      val middle = (low + high) >>> 1
      if (values(middle) < value) low = middle + 1 else high = middle
    }
    // counted rather than searched: a branch that is as often taken as not costs more than a few comparisons
    var below = low
    while (low < high) {
      below += (if (values(low) < value) 1 else 0)
      low += 1
    }
    below
  }
}

private object LongElements {
  val Few = 8
}

final private class LongRanges(ranges: ValueRanges) extends LongSet {
  private val openStart = ranges.size > 0 && ranges(0).from == null
  private val openEnd = ranges.size > 0 && ranges(ranges.size - 1).until == null
  private val froms = ends(_.from)
  private val untils = ends(_.until)

  private def ends(end: zonemap.core.predicate.ValueRange => ZoneValue): Array[Long] =
    ranges.iterator.map(r => if (end(r) == null) 0L else LongSet.number(end(r))).toArray

  override def misses(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean = {
    val range = firstEndingAbove(flags, lower)
    range == froms.length || (BoundsFlags.hasUpper(flags) && !isOpenStart(range) && froms(range) > upper)
  }

  override def contains(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean = {
    val range = firstEndingAbove(flags, lower)
    range < froms.length &&
    (isOpenStart(range) || (BoundsFlags.hasLower(flags) && froms(range) <= lower)) &&
    (isOpenEnd(range) || (BoundsFlags.hasUpper(flags) && upper < untils(range)))
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
