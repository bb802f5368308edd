// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Blocks, CodeLanes}

/**
 * Summarises the limits of [[CodePairs]] for all upper codes as two differences of ordinals: a lower code whose ordinal
 * is less than `first` above the ordinal of the upper code is below the first limit, and one that is at least `second`
 * above it is not below the second limit. Rows are therefore compared four at a time. Where two columns hold similar
 * values, few rows remain to be looked up one by one. Belongs to one evaluation; not thread-safe.
 */
final private[kernel] class OrdinalLimits private (pairs: CodePairs, first: Int, second: Int) {
  import OrdinalLimits._

  /**
   * Whether `compare` can decide most rows: if the two differences are far apart, most rows would remain undecided, and
   * a difference of 2^15 does not fit in a lane.
   */
  private val canDecideMost = second - first <= Widest && second < Zero

  private val distances = new Array[Long](if (canDecideMost) CodeLanes.length(Blocks.BlockRows) else 0)

  /**
   * Sets in `belowFirst` the bits of rows whose lower code is proven to be below the first limit, and in `belowSecond`
   * the bits of rows whose lower code may be below the second limit. Rows without an upper bound may get any bits.
   * Returns whether few rows remain undecided; if not, a table of the limits is cheaper.
   */
  def compare(
      upper: Array[Long],
      lower: Array[Long],
      count: Int,
      belowFirst: Array[Long],
      belowSecond: Array[Long]): Boolean =
    canDecideMost && {
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

  /** How many rows are undecided. Bits behind the last row are counted as well. */
  private def between(count: Int, belowFirst: Array[Long], belowSecond: Array[Long]): Int = {
    var rows = 0
    var word = 0
    while (word < ((count + 63) >> 6)) {
      rows += java.lang.Long.bitCount(belowSecond(word) & ~belowFirst(word))
      word += 1
    }
    rows
  }

  /** Corrects the bits of the rows that [[compare]] left undecided. */
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

private[kernel] object OrdinalLimits {

  /** The value of a lane for two equal ordinals. */
  private val Zero = 0x8000

  /** The largest useful distance between the two differences, of 32,767 possible ordinals. */
  private val Widest = 4096

  /** The limits for the codes of present upper bounds, which lie between the first boundary and the last. */
  def of(pairs: CodePairs): OrdinalLimits = {
    val (least, greatest) = pairs.ordinalDistances
    // an even code takes its limits from the boundaries on both sides, so the differences widen by one
    new OrdinalLimits(pairs, first = least - 1, second = greatest + 1)
  }
}
