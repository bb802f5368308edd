package zonemap.core.eval

import zonemap.core.segment.{BoundsFlags, Dictionary, ExactRows, LongDictionary}

/**
 * The elements of a set against exact bounds. Most rows lie between two boundaries, where a large set has a few elements:
 * a word for each such gap says in which parts of it they are, which settles most rows without a branch. For the others
 * only the elements that share the code of the lower bound are searched.
 */
final private[eval] class LongElements(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks)
    extends LongSet {
  import LongElements._

  private lazy val gaps = new Gaps(values, dictionary, ranks)

  override def misses(rows: ExactRows): Unit = {
    val words = gaps.words
    val shifts = gaps.shifts
    var i = 0
    while (i < rows.size) {
      val flags = rows.flags(i).toInt
      val code = rows.lowerCodes(i).toInt
      val lower = rows.lowers(i)
      val upper = rows.uppers(i)
      rows.proven(i) =
        if (code == rows.upperCodes(i) && !Dictionary.isExact(code) && (flags & Both) == Both && lower <= upper) {
          val shift = shifts(code >> 1)
          // the parts of the gap that the interval touches, as bits that go round
          val parts = (upper >> shift) - (lower >> shift)
          val touched = java.lang.Long.rotateLeft(-1L >>> (63 - parts), (lower >> shift).toInt)
          (words(code >> 1) & touched) == 0 || missesAll(flags, lower, upper, code)
        } else missesAll(flags, lower, upper, code)
      i += 1
    }
  }

  private def missesAll(flags: Int, lower: Long, upper: Long, lowerCode: Int): Boolean = {
    val first = if (BoundsFlags.hasLower(flags)) firstAtLeast(lower, lowerCode) else 0
    first == values.length || (BoundsFlags.hasUpper(flags) && values(first) > upper)
  }

  override def contains(rows: ExactRows): Unit = {
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

  /**
   * By the ordinal of the boundary behind a gap: a bit for each part of 2^shift values that holds an element. The bit is
   * that of the part's number modulo 64; a gap has at most 64 parts, so no two share one. Outside the boundaries, where no
   * bound lies, all bits are set.
   */
  private final class Gaps(values: Array[Long], dictionary: LongDictionary, ranks: CodeRanks) {
    val words = new Array[Long](dictionary.size + 1)
    val shifts = new Array[Byte](dictionary.size + 1)
    words(0) = -1L
    words(dictionary.size) = -1L

    (1 until dictionary.size).foreach { gap =>
      val end = ranks.before(2 * gap + 1)
      var i = ranks.before(2 * gap)
      if (i < end) {
        val shift = shiftOf(dictionary.number(gap) - dictionary.number(gap - 1))
        shifts(gap) = shift.toByte
        while (i < end) {
          words(gap) |= 1L << (values(i) >> shift)
          i += 1
        }
      }
    }

    /** So that numbers less than `span`, unsigned, apart lie in at most 64 parts. */
    private def shiftOf(span: Long): Int = {
      val shift = Math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(span) - 6)
      if ((span >>> shift) > 62) shift + 1 else shift
    }
  }
}
