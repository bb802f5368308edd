// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Bitmap, CodeLanes}

/**
 * Two limits for the code of one side of an interval, looked up by the code of the other side. A code below the first
 * limit proves one result, a code from the second limit on proves the other result, and exact bounds must decide for
 * the codes between. Every kind of leaf costs one look-up for each row. O(boundaries) memory.
 *
 * @param first the first limits, by code; no code reaches a limit of [[CodeLimits.Always]]. The arrays are not copied.
 */
final private[kernel] class CodeLimits(first: Array[Char], second: Array[Char]) {

  /** Sets the bit of each row whose code is below the first limit of its key. */
  def belowFirst(keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit =
    CodeLimits.below(first, keys, codes, count, out)

  /** Sets the bit of each row whose code is below the second limit of its key. */
  def belowSecond(keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit =
    CodeLimits.below(second, keys, codes, count, out)

  def isBelowSecond(key: Int, code: Int): Boolean = Math.min(code, CodeLimits.Greatest) < second(key)
}

private[kernel] object CodeLimits {

  /** A limit above every code, including the code of an absent bound. */
  val Always: Char = 0xffff

  /** Replaces the code of an absent upper bound in comparisons: it is above every limit but [[CodeLimits.Always]]. */
  private val Greatest = Always - 1

  private def present(codes: Long): Long = codes - ((CodeLanes.equal(codes, -1L) & CodeLanes.Highest) >>> 15)

  private def below(limits: Array[Char], keys: Array[Long], codes: Array[Long], count: Int, out: Array[Long]): Unit = {
    // lanes behind the last code hold no valid key, so the last incomplete long is compared code by code
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
        // the sign bit of each difference is the result, so the loop has no branch
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

/**
 * Proven when the upper code is below the first limit of the lower code; open when the upper code lies between the two
 * limits.
 */
final private[kernel] class LimitCheck(limits: CodeLimits, exactCodes: Boolean) extends CodeCheck {
  override def mayBeOpen: Boolean = !exactCodes

  override def check(zones: ZoneBuffer, count: Int): Unit = {
    limits.belowFirst(zones.lower, zones.upper, count, zones.bits)
    if (mayBeOpen && !isMostly(zones.bits, count)) limits.belowSecond(zones.lower, zones.upper, count, zones.open)
    else if (mayBeOpen) findOpen(zones, count)
  }

  /**
   * Whether more than three quarters of the rows are proven, so that looking up the other rows one by one is cheaper.
   */
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
