package zonemap.core.eval

import zonemap.core.segment.{Blocks, CodeLanes}

/**
 * What [[CodePairs]] say of all upper codes together, in ordinals: a lower code that is less than `first` above the upper
 * one is below its first limit, one that is at least `second` above it is not below its second limit. So rows are compared
 * four at a time, and where two columns have like values few are left to be looked up one by one. Belongs to one
 * evaluation; not thread-safe.
 */
final private[eval] class OrdinalLimits private (pairs: CodePairs, first: Int, second: Int) {
  import OrdinalLimits._

  /** Where the two are far from one another, most rows would be left; distances of 2^15 have no lanes. */
  private val mayPay = second - first <= Widest && second < Zero

  private val distances = new Array[Long](if (mayPay) CodeLanes.length(Blocks.BlockRows) else 0)

  /**
   * Sets the bits of the lower codes that are surely below the first limits of the upper codes, and of those that may be
   * below the second ones. Rows without an upper bound may get any. Returns whether few are left between the two; if not,
   * a table of the limits is cheaper.
   */
  def compare(
      upper: Array[Long],
      lower: Array[Long],
      count: Int,
      belowFirst: Array[Long],
      belowSecond: Array[Long]): Boolean =
    mayPay && {
      val length = CodeLanes.length(count)
      CodeLanes.ordinalDistances(lower, upper, length, distances)
      CodeLanes.atLeast(distances, Zero + first, length, compared)
      CodeLanes.bits(compared, length, belowFirst)
      var word = 0
      while (word < ((count + 63) >> 6)) {
        belowFirst(word) = ~belowFirst(word)
        belowSecond(word) = belowFirst(word)
        word += 1
      }
      CodeLanes.andBelow(distances, Zero + second, length, compared)
      CodeLanes.addFewBits(compared, length, belowSecond)
      between(count, belowFirst, belowSecond) <= count / 4
    }

  private val compared = new Array[Long](distances.length)

  /** How many rows are not settled; what stands behind the last one counts as well. */
  private def between(count: Int, belowFirst: Array[Long], belowSecond: Array[Long]): Int = {
    var rows = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      rows += java.lang.Long.bitCount(belowSecond(word) & ~belowFirst(word))
      word += 1
    }
    rows
  }

  /** Puts right the bits of rows that [[compare]] left. */
  def lookUp(
      upper: Array[Long],
      lower: Array[Long],
      count: Int,
      belowFirst: Array[Long],
      belowSecond: Array[Long]): Unit = {
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = belowSecond(word) & ~belowFirst(word) & (-1L >>> -Math.min(64, count - (word << 6)))
      while (left != 0) {
        val row = (word << 6) + java.lang.Long.numberOfTrailingZeros(left)
        val bit = left & -left
        val lowerCode = CodeLanes.get(lower, row)
        val upperCode = CodeLanes.get(upper, row)
        if (lowerCode < pairs.first(upperCode)) belowFirst(word) |= bit
        if (lowerCode >= pairs.second(upperCode)) belowSecond(word) &= ~bit
        left &= left - 1
      }
      word += 1
    }
  }
}

private[eval] object OrdinalLimits {

  /** No distance, in lanes. */
  private val Zero = 0x8000

  /** About so many of 32,767 ordinals. */
  private val Widest = 4096

  /** For the codes that present upper bounds have: from the first boundary to the last. */
  def of(pairs: CodePairs): OrdinalLimits = {
    val (least, greatest) = pairs.ordinalDistances
    // a code between two boundaries has the limits of the one before and of the one behind
    new OrdinalLimits(pairs, first = least - 1, second = greatest + 1)
  }
}
