package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, Dictionary}

/**
 * What the codes of two columns say of one lower and one upper bound, by the code of the upper one: from which lower code
 * on the lower bound is surely `above` (at least as great, or greater where that is asked), and below which it surely is
 * not. Codes between the two share an interval of values with the other column's code. O(boundaries) memory.
 */
final private[eval] class CodePairs private (surely: Array[Char], never: Array[Char]) {

  /** Sets the bits of both for `count` rows; what the codes of an absent bound give is of no meaning. */
  def test(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], open: Array[Long]): Unit = {
    val last = surely.length - 1
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var isProven = 0L
      var mayBe = 0L
      while (row < stop) {
        val code = Math.min(upper(row), last)
        // sign bits: no branch
        isProven |= ((surely(code) - 1 - lower(row)) >>> 31).toLong << row
        mayBe |= (1L - ((lower(row) - never(code)) >>> 31)) << row
        row += 1
      }
      proven(word) = isProven
      open(word) = mayBe & ~isProven
    }
  }
}

private[eval] object CodePairs {

  /**
   * Both columns are of one encoding.
   *
   * @param strictly whether a lower bound that equals the upper one is not above it
   */
  def of(lower: BoundsColumn, upper: BoundsColumn, strictly: Boolean): CodePairs = {
    val codes = 2 * upper.dictionary.size + 1
    val surely = new Array[Char](codes)
    val never = new Array[Char](codes)
    // the codes of the upper column's boundaries in the lower column
    val inLower = lower.dictionary.codesOf(upper.dictionary)
    var code = 0
    while (code < codes) {
      val ordinal = Dictionary.ordinal(code)
      if (Dictionary.isExact(code)) {
        val same = inLower(ordinal)
        surely(code) = (if (strictly) same + 1 else same | 1).toChar
        never(code) = (if (strictly && Dictionary.isExact(same)) same + 1 else same).toChar
      } else {
        // a value of this code is above the boundary before and below the one behind
        surely(code) = (if (ordinal < inLower.length) inLower(ordinal) | 1 else Never).toChar
        never(code) = (if (ordinal == 0) 0 else (inLower(ordinal - 1) + 1) & ~1).toChar
      }
      code += 1
    }
    new CodePairs(surely, never)
  }

  /** Above the code of any lower bound. */
  private val Never = 0xffff
}
