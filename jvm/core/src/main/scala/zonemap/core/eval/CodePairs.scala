package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, BoundsFlags, Dictionary}

/**
 * What the codes of two columns say of one lower and one upper bound, by the code of the upper one: below the first limit
 * the lower bound surely is not `above` (at least as great, or greater where that is asked), from the second on it surely
 * is. Codes between the two share an interval of values with the other column's code.
 */
private[eval] object CodePairs {

  /**
   * Both columns are of one encoding.
   *
   * @param strictly whether a lower bound that equals the upper one is not above it
   */
  def of(lower: BoundsColumn, upper: BoundsColumn, strictly: Boolean): CodeLimits = {
    val codes = 2 * upper.dictionary.size + 1
    // rows without an upper bound are looked up as well, whatever is said of them
    val size = if (upper.constantFlags.exists(BoundsFlags.hasUpper)) codes else Dictionary.NoUpper + 1
    val first = new Array[Char](size)
    val second = new Array[Char](size)
    // the codes of the upper column's boundaries in the lower column
    val inLower = lower.dictionary.codesOf(upper.dictionary)
    var code = 0
    while (code < codes) {
      val ordinal = Dictionary.ordinal(code)
      if (Dictionary.isExact(code)) {
        val same = inLower(ordinal)
        first(code) = (if (strictly && Dictionary.isExact(same)) same + 1 else same).toChar
        second(code) = (if (strictly) same + 1 else same | 1).toChar
      } else {
        // a value of this code is above the boundary before and below the one behind
        first(code) = (if (ordinal == 0) 0 else (inLower(ordinal - 1) + 1) & ~1).toChar
        second(code) = if (ordinal < inLower.length) (inLower(ordinal) | 1).toChar else CodeLimits.Always
      }
      code += 1
    }
    new CodeLimits(first, second)
  }
}
