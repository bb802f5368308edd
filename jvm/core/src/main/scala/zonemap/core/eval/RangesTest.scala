package zonemap.core.eval

import zonemap.core.predicate.ValueRanges
import zonemap.core.segment.Dictionary
import zonemap.core.value.ZoneValue

/**
 * What the codes say of ranges [from, until), by the code of a lower bound: the code of an upper bound to stay below for a
 * proof, and whether the lower bound itself leaves it open. O(boundaries) memory.
 */
final private[eval] class RangeLimits(val below: Array[Int], val openLower: Array[Boolean])

private[eval] object RangeLimits {
  private val Always = Dictionary.NoUpper + 1

  /** An interval misses the ranges when its upper bound is below the first range that does not end by its lower bound. */
  def misses(ranges: ValueRanges, dictionary: Dictionary): RangeLimits = {
    val open = openAt(ranges.iterator.map(_.until), dictionary)
    val below = new Array[Int](open.length)
    var range = 0
    below.indices.foreach { code =>
      def ended = {
        val until = ranges(range).until
        until != null && { val u = dictionary.code(until); u < code || (u == code && Dictionary.isExact(code)) }
      }
      while (range < ranges.size && ended) range += 1
      below(code) =
        if (range == ranges.size) Always
        else Option(ranges(range).from).fold(0)(dictionary.code)
    }
    new RangeLimits(below, open)
  }

  /** An interval is inside when its upper bound is below the end of the last range that starts by its lower bound. */
  def contains(ranges: ValueRanges, dictionary: Dictionary): RangeLimits = {
    val open = openAt(ranges.iterator.map(_.from), dictionary)
    val below = new Array[Int](open.length)
    var started = 0
    below.indices.foreach { code =>
      def starts = {
        val from = ranges(started).from
        from == null || { val f = dictionary.code(from); f < code || (f == code && Dictionary.isExact(code)) }
      }
      while (started < ranges.size && starts) started += 1
      below(code) =
        if (started == 0) 0
        else Option(ranges(started - 1).until).fold(Always)(dictionary.code)
    }
    new RangeLimits(below, open)
  }

  private def openAt(ends: Iterator[ZoneValue], dictionary: Dictionary): Array[Boolean] = {
    val open = new Array[Boolean](2 * dictionary.size + 1)
    ends.filter(_ != null).map(dictionary.code).filterNot(Dictionary.isExact).foreach(open(_) = true)
    open
  }
}

/** Proven when the upper code is below the limit of the lower code. */
final private[eval] class RangesTest(limits: RangeLimits, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    val below = limits.below
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        bits |= ((upper(row) - below(lower(row))) >>> 31).toLong << row
        row += 1
      }
      out(word) = bits
    }
  }

  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      val low = lower(row).toInt
      val high = upper(row).toInt
      if (limits.openLower(low) || (high == limits.below(low) && !Dictionary.isExact(high))) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}
