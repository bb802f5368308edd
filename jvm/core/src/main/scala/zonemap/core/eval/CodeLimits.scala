package zonemap.core.eval

import zonemap.core.segment.CodeLanes

/**
 * Two limits of one side's code for each code of the other side: below the first the answer is one, from the second on it
 * is another, between them codes leave it open. A row costs one read of a table, whatever the question. O(boundaries)
 * memory.
 *
 * @param first by code; limits of [[CodeLimits.Always]] are never reached. Both are taken over.
 */
final private[eval] class CodeLimits(first: Array[Char], second: Array[Char]) {

  /** Sets the bits of the codes below the first limits. */
  def belowFirst(keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit =
    CodeLimits.below(first, keys, codes, count, out)

  /** Sets the bits of the codes below the second limits. */
  def belowSecond(keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit =
    CodeLimits.below(second, keys, codes, count, out)

  def isBelowSecond(key: Int, code: Int): Boolean = Math.min(code, CodeLimits.Greatest) < second(key)
}

private[eval] object CodeLimits {

  /** Above every code, that of an absent bound too. */
  val Always: Char = 0xffff

  /** In place of "no upper bound", above all literals that are not above all boundaries. */
  private val Greatest = Always - 1

  private def present(codes: Long): Long = codes - ((CodeLanes.equal(codes, -1L) & CodeLanes.Highest) >>> 15)

  private def below(limits: Array[Char], keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit = {
    // what is behind the last code is no key
    val whole = count >> 2
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
    var lane = 0
    while (lane < whole) {
      val stop = Math.min(whole, lane + 16)
      val word = lane >> 4
      var bits = 0L
      while (lane < stop) {
        val key = keys(lane)
        val code = present(codes(lane))
        // sign bits: no branch
        val one = ((code & 0xffff) - limits((key & 0xffff).toInt)) >>> 63
        val two = (((code >>> 16) & 0xffff) - limits(((key >>> 16) & 0xffff).toInt)) >>> 63
        val three = (((code >>> 32) & 0xffff) - limits(((key >>> 32) & 0xffff).toInt)) >>> 63
        val four = ((code >>> 48) - limits((key >>> 48).toInt)) >>> 63
        bits |= (one | two << 1 | three << 2 | four << 3) << (lane << 2)
        lane += 1
      }
      out(word) = bits
    }
    var i = whole << 2
    while (i < count) {
      val isBelow = Math.min(CodeLanes.get(codes, i), Greatest) < limits(CodeLanes.get(keys, i))
      out(i >> 6) |= (if (isBelow) 1L else 0L) << i
      i += 1
    }
  }
}

/** Proven when the upper code is below the first limit of the lower code, not any more from the second on. */
final private[eval] class LimitCheck(limits: CodeLimits, exactCodes: Boolean) extends CodeCheck {
  override def mayBeOpen: Boolean = !exactCodes

  override def check(zones: ZoneBuffer, count: Int): Unit = {
    limits.belowFirst(zones.lower, zones.upper, count, zones.bits)
    if (mayBeOpen && !isMostly(zones.bits, count)) limits.belowSecond(zones.lower, zones.upper, count, zones.open)
    else if (mayBeOpen) findOpen(zones, count)
  }

  /** Whether few rows are left, so that they are better looked up one by one. */
  private def isMostly(proven: Array[Long], count: Int): Boolean =
    Bitmap.cardinality(proven, 0, (count + 63) >> 6) > count * 3 / 4

  private def findOpen(zones: ZoneBuffer, count: Int): Unit = {
    var word = 0
    while (word < ((count + 63) >> 6)) {
      val rows = Math.min(64, count - (word << 6))
      var left = ~zones.bits(word) & (-1L >>> -rows)
      var open = 0L
      while (left != 0) {
        val row = (word << 6) + java.lang.Long.numberOfTrailingZeros(left)
        val isOpen = limits.isBelowSecond(CodeLanes.get(zones.lower, row), CodeLanes.get(zones.upper, row))
        open |= (if (isOpen) 1L else 0L) << row
        left &= left - 1
      }
      zones.open(word) = open
      word += 1
    }
  }
}
