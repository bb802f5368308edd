package zonemap.core.eval

import zonemap.core.segment.{Blocks, BoundsFlags, Dictionary, ExactRows, LongBounds, LongDictionary}

/**
 * The elements of a set against exact bounds. Most rows lie between two boundaries, where a large set has a few elements:
 * a word for each such gap says in which parts of it they are, which settles most rows by how far their bounds are from
 * the boundary before, without the bounds themselves. For the others only the elements that share the code of the lower
 * bound are searched.
 */
final private[eval] class LongElements(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks)
    extends LongSet {
  import LongElements._

  private lazy val gaps = GapWords.of(values, dictionary, ranks)

  /** Rows that words do not settle. */
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

  /** Returns how many rows are left. No branch: rows wait for words together, not one after the other. */
  private def missesByWords(rows: ExactRows): Int = {
    val words = gaps
    var count = 0
    var i = 0
    while (i < rows.size) {
      val gap = Dictionary.gap(rows.upperCodes(i).toInt)
      // rows without an upper bound are outside, and left whatever is found
      val word = words(Math.min(gap, words.length - 1))
      val first = GapWords.part(word, rows.lowers(i))
      val last = GapWords.part(word, rows.uppers(i))
      val touched = word & (-1L << first) & (-1L >>> (63 - last))
      // an element in a part between the first and the last is a hit, one in either of those may be
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
  private val Few = 8
  private val Both = BoundsFlags.Lower | BoundsFlags.Upper
}

/**
 * By the ordinal of the boundary behind a gap: a bit for each part of 2^shift values, from the boundary before on, that
 * holds an element, and the shift above these bits.
 */
private object GapWords {

  /** Bits below those of the shift. */
  private val Parts = 58

  /** The part of a value by its distance from the boundary before. */
  def part(word: Long, distance: Long): Int = (distance >>> (word >>> Parts)).toInt

  /** Outside the boundaries, where no bound lies, every distance meets an element. */
  private val Outside = -1L

  def of(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks): Array[Long] = {
    val words = new Array[Long](dictionary.size + 1)
    words(0) = Outside
    words(dictionary.size) = Outside
    var gap = 1
    while (gap < dictionary.size) {
      // those that are the boundary before are in its first part
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
