// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{BoundsColumn, BoundsFlags, Dictionary}

/**
 * Compares lower bounds of column A with upper bounds of column B by their codes. For each upper code of B, lower codes
 * of A under `first` prove A.lower < B.upper, and codes from `second` on prove A.lower >= B.upper. If `strictly`, the
 * two proofs are A.lower <= B.upper and A.lower > B.upper. For the codes between the two limits, exact bounds decide.
 *
 * @param inLower the code in A of each boundary of B
 * @param strictly whether a lower bound that equals the upper bound counts as not above it
 * @param size how many upper codes of B the limits are looked up by
 */
final private[kernel] class CodePairs private (inLower: Array[Int], strictly: Boolean, size: Int) {

  /** The number of boundaries of column B. */
  private def boundaries: Int = inLower.length

  /**
   * The first limit. It is 0, which proves nothing, for codes outside the boundaries, because no present bound has such
   * a code.
   */
  private def first(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode == 0 || upperCode >= 2 * boundaries) 0
    // an upper bound of an even code is greater than the boundary before it
    else if (!Dictionary.isExact(upperCode)) (inLower(ordinal - 1) + 1) & ~1
    else if (strictly) (inLower(ordinal) + 1) & ~1
    else inLower(ordinal)
  }

  private def second(upperCode: Int): Int = {
    val ordinal = Dictionary.ordinal(upperCode)
    if (upperCode >= 2 * boundaries) CodeLimits.Always.toInt
    else if (strictly && Dictionary.isExact(upperCode)) inLower(ordinal) + 1
    // an upper bound of an even code is less than the boundary behind it
    else inLower(ordinal) | 1
  }

  /** The first and second limits of all upper codes. */
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

private[kernel] object CodePairs {

  /** The pairs of A = `lower` and B = `upper`. Both columns must have the same encoding. */
  def of(lower: BoundsColumn, upper: BoundsColumn, strictly: Boolean): CodePairs = {
    // rows without an upper bound are looked up as well, though the result is not used
    val hasUppers = upper.constantFlags.exists(BoundsFlags.hasUpper)
    val size = if (hasUppers) 2 * upper.dictionary.size + 1 else Dictionary.NoUpper + 1
    new CodePairs(lower.dictionary.codesOf(upper.dictionary), strictly, size)
  }
}
