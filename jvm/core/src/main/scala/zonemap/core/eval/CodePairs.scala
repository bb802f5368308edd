package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, BoundsFlags, Dictionary}

/**
 * What the codes of two columns say of one lower and one upper bound, by the code of the upper one: below the first limit
 * the lower bound surely is not `above` (at least as great, or greater where that is asked), from the second on it surely
 * is. Codes between the two share an interval of values with the other column's code.
 *
 * @param inLower the codes of the upper column's boundaries in the lower column
 * @param strictly whether a lower bound that equals the upper one is not above it
 * @param size how many codes of the upper column may be asked for
 */
final private[eval] class CodePairs private (inLower: Array[Int], strictly: Boolean, size: Int) {

  /** The boundaries of the upper column. */
  def boundaries: Int = inLower.length

  /** Of codes that no present bound has, outside the boundaries, neither is said. */
  def first(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode == 0 || upperCode >= 2 * boundaries) 0
    // a value of an even code is above the boundary before
    else if (!Dictionary.isExact(upperCode)) (inLower(ordinal - 1) + 1) & ~1
    else if (strictly) (inLower(ordinal) + 1) & ~1
    else inLower(ordinal)
  }

  def second(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode >= 2 * boundaries) CodeLimits.Always.toInt
    else if (strictly && Dictionary.isExact(upperCode)) inLower(ordinal) + 1
    // and below the one behind
    else inLower(ordinal) | 1
  }

  /** How far, at least and at most, boundaries' ordinals in the lower column are above those in the upper one. */
  def ordinalDistances: (Int, Int) = {
    var (least, greatest) = if (boundaries == 0) (0, 0) else (Int.MaxValue, Int.MinValue)
    var i = 0
    while (i < inLower.length) {
      val distance = Dictionary.ordinal(inLower(i)) - i
      least = Math.min(least, distance)
      greatest = Math.max(greatest, distance)
      i += 1
    }
    (least, greatest)
  }

  /** Both limits of all codes. */
  lazy val limits: CodeLimits = {
    val codes = 2 * boundaries + 1
    val (firsts, seconds) = (new Array[Char](size), new Array[Char](size))
    var code = 0
    while (code < codes) {
      firsts(code) = first(code).toChar
      seconds(code) = second(code).toChar
      code += 1
    }
    new CodeLimits(firsts, seconds)
  }
}

private[eval] object CodePairs {

  /** Both columns are of one encoding. */
  def of(lower: BoundsColumn, upper: BoundsColumn, strictly: Boolean): CodePairs = {
    // rows without an upper bound are looked up as well, whatever is said of them
    val hasUppers = upper.constantFlags.exists(BoundsFlags.hasUpper)
    val size = if (hasUppers) 2 * upper.dictionary.size + 1 else Dictionary.NoUpper + 1
    new CodePairs(lower.dictionary.codesOf(upper.dictionary), strictly, size)
  }
}
