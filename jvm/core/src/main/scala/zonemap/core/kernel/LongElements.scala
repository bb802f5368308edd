// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{Blocks, BoundsFlags, Dictionary, ExactRows, LongBounds, LongDictionary}

/**
 * Compares the elements of a set with exact bounds. Most rows lie between two neighbouring boundaries, in a gap that
 * holds few elements even of a large set. One word per gap records which parts of the gap hold elements. Comparing that
 * word with the distances of a row's bounds from the boundary before the gap decides most rows without computing the
 * bounds. For the other rows, a search covers only the elements that share the code of the lower bound.
 */
final private[kernel] class LongElements(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks)
    extends LongSet {
  import LongElements._

  private lazy val gaps = GapWords.of(values, dictionary, ranks)

  /** The rows that the words do not decide. */
  private val left = new Array[Int](Blocks.BlockRows)

  override def misses(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.readDistances(rows)
    val unsettled = missesByWords(rows)
    var next = 0
    while (next < unsettled) {
      val i = left(next)
      val code = rows.lowerCodes(i).toInt
      val floor = dictionary.floor(code)
      rows.proven(i) = missesAll(rows.flags(i).toInt, floor + rows.lowers(i), floor + rows.uppers(i), code)
      next += 1
    }
  }

  /**
   * Returns how many rows remain undecided. The loop has no branch, so that the processor overlaps the memory reads of
   * several rows.
   */
  private def missesByWords(rows: ExactRows): Int = {
    val words = gaps
    var count = 0
    var i = 0
    while (i < rows.size) {
      val gap = Dictionary.gap(rows.upperCodes(i).toInt)
      // a row without an upper bound reads the word `Outside`, and `others` keeps it undecided
      val word = words(Math.min(gap, words.length - 1))
      val first = GapWords.part(word, rows.lowers(i))
      val last = GapWords.part(word, rows.uppers(i))
      val touched = word & (-1L << first) & (-1L >>> (63 - last))
      // an element in a part between the first and the last lies within the bounds; one in the first or last part may
      val inside = touched & ~(1L << first | 1L << last)
      val others = (Dictionary.gap(rows.lowerCodes(i).toInt) ^ gap) | ((rows.flags(i) & Both) ^ Both)
      rows.proven(i) = touched == 0
      left(count) = i
      count += ((someBit(touched) & ~someBit(inside)) | someBit(others.toLong)).toInt
      i += 1
    }
    count
  }

  private def someBit(bits: Long): Long = (bits | -bits) >>> 63

  private def missesAll(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean = {
    val first = if (BoundsFlags.hasLower(flags)) firstAtLeast(lower, lowerCode) else 0
    first == values.length || (BoundsFlags.hasUpper(flags) && values(first) > upper)
  }

  override def contains(rows: ExactRows, bounds: LongBounds): Unit = {
    bounds.read(rows)
    var i = 0
    while (i < rows.size) {
      rows.proven(i) = (rows.flags(i) & Both) == Both && rows.lowers(i) == rows.uppers(i) && {
        val first = firstAtLeast(rows.lowers(i), rows.lowerCodes(i).toInt)
        first < values.length && values(first) == rows.lowers(i)
      }
      i += 1
    }
  }

  private def firstAtLeast(value: Long, code: Int): Int = {
    var low = ranks.before(code)
    var high = ranks.before(code + 1)
    while (high - low > Few) {
      val middle = (low + high) >>> 1
      if (values(middle) < value) low = middle + 1 else high = middle
    }
    // the last few elements are counted without a branch, because a mispredicted branch costs more than these
    // comparisons
    var below = low
    while (low < high) {
      below += (if (values(low) < value) 1 else 0)
      low += 1
    }
    below
  }
}

private object LongElements {
  private val Few = 8
  private val Both = BoundsFlags.Lower | BoundsFlags.Upper
}

/**
 * One word per gap, by the ordinal of the boundary behind the gap. The gap is divided into parts of 2^shift values,
 * counted from the boundary before it. A low bit is set if its part holds an element; the six highest bits hold the
 * shift.
 */
private object GapWords {

  /** The number of bits below the shift. */
  private val Parts = 58

  /** The part that holds a value, by the value's distance from the boundary before the gap. */
  def part(word: Long, distance: Long): Int = (distance >>> (word >>> Parts)).toInt

  /** The word of the two gaps outside the boundaries, where no bound lies: every part counts as holding an element. */
  private val Outside = -1L

  def of(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks): Array[Long] = {
    val words = new Array[Long](dictionary.size + 1)
    words(0) = Outside
    words(dictionary.size) = Outside
    var gap = 1
    while (gap < dictionary.size) {
      // elements that equal the boundary before the gap belong to its first part
      val end = ranks.before(2 * gap + 1)
      var i = ranks.before(2 * gap - 1)
      if (i < end) {
        val before = dictionary.number(gap - 1)
        val shift = dictionary.partShift(gap, Parts).toLong
        var word = shift << Parts
        while (i < end) {
          word |= 1L << ((values(i) - before) >>> shift)
          i += 1
        }
        words(gap) = word
      }
      gap += 1
    }
    words
  }
}
