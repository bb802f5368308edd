// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

/**
 * The bounds of a column that hardly ever prunes, rounded outward to a few boundaries and stored in one byte per bound.
 *
 * Random keys span their whole domain in every file: exact bounds would cost 14 to 22 bytes a file and would prune
 * almost no file. Rounded bounds are valid, but not tight. The boundaries are quantiles of the bounds themselves. So
 * for any distribution of values, a literal keeps at most about 1 / 63 of the files more than with exact bounds.
 */
final private[core] class CoarseBounds(
    val dictionary: Dictionary,
    val lower: Array[Char],
    val upper: Array[Char],
    val rowFlags: Array[Byte])

private[core] object CoarseBounds {

  /**
   * The number of boundaries: codes stay below 255, because 255 is the code of "no upper bound" in an array of bytes.
   */
  val MaxBoundaries = 126

  /** Segments with fewer rows keep exact bounds, because rounding would save little. */
  val MinRows: Int = 4 * Blocks.BlockRows

  /** A column is stored coarsely if less than this share of its pairs of files have disjoint bounds. */
  private val MinDisjointShare = 0.01

  def pay(lower: Array[Char], upper: Array[Char], rowFlags: Array[Byte], dictionarySize: Int): Boolean =
    rowFlags.length >= MinRows && dictionarySize > MaxBoundaries &&
      disjointShare(lower, upper, rowFlags) < MinDisjointShare

  def of(full: Dictionary, lower: Array[Char], upper: Array[Char], rowFlags: Array[Byte]): CoarseBounds = {
    val kept = Array.tabulate(MaxBoundaries)(i => (i.toLong * (full.size - 1) / (MaxBoundaries - 1)).toInt)
    // for each boundary of the full dictionary, the kept boundary at or below it, and the one at or above it
    val below = new Array[Int](full.size)
    val above = new Array[Int](full.size)
    var next = 0
    (0 until full.size).foreach { ordinal =>
      if (next + 1 < kept.length && kept(next + 1) <= ordinal) next += 1
      below(ordinal) = next
      above(ordinal) = if (kept(next) == ordinal) next else next + 1
    }
    new CoarseBounds(
      full.only(kept),
      rounded(lower, rowFlags, BoundsFlags.Lower, Dictionary.NoLower, code => below(ordinalBelow(code))),
      rounded(upper, rowFlags, BoundsFlags.Upper, Dictionary.NoUpper, code => above(Dictionary.ordinal(code))),
      rowFlags.map(f => BoundsFlags.notTight(f).toByte)
    )
  }

  /**
   * The ordinal of the boundary at or below a code. [[Dictionary.ordinal]] of a code between two boundaries is that of
   * the upper one.
   */
  private def ordinalBelow(code: Int): Int =
    if (Dictionary.isExact(code)) Dictionary.ordinal(code) else Dictionary.ordinal(code) - 1

  private def rounded(
      codes: Array[Char],
      rowFlags: Array[Byte],
      present: Int,
      absent: Int,
      ordinal: Int => Int): Array[Char] = {
    val out = new Array[Char](codes.length)
    codes.indices.foreach { row =>
      out(row) = (if ((rowFlags(row) & present) != 0) 2 * ordinal(codes(row)) + 1 else absent).toChar
    }
    out
  }

  /**
   * Twice the share of ordered pairs (a, b) of files with both bounds in which a.upper < b.lower. Computed from codes,
   * in O(rows).
   */
  private def disjointShare(lower: Array[Char], upper: Array[Char], rowFlags: Array[Byte]): Double = {
    val lowersAbove = new Array[Int](Char.MaxValue + 2)
    val bounded = rowFlags.indices.filter(r => BoundsFlags.hasLower(rowFlags(r)) && BoundsFlags.hasUpper(rowFlags(r)))
    bounded.foreach(row => lowersAbove(lower(row)) += 1)
    var code = Char.MaxValue.toInt
    while (code >= 0) {
      lowersAbove(code) += lowersAbove(code + 1)
      code -= 1
    }
    val disjoint = bounded.iterator.map(row => lowersAbove(upper(row) + 1).toLong).sum
    if (bounded.isEmpty) 1.0 else 2.0 * disjoint / bounded.size / bounded.size
  }
}
