// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import zonemap.core.value.{AsciiCase, BytesValue}

/**
 * The work that one plan may spend on the evaluation of facts, in steps of about a nanosecond. Once it is spent, no fact
 * proves anything, so the rest of the files is kept: a condition with thousands of parts does not hold up the plan for
 * longer than the files would take to read. Not thread-safe.
 *
 * @param most the steps of all evaluations together
 */
final private[eval] class FactWorkLimit(most: Long = FactWorkLimit.MostSteps) {
  private var spent = 0L

  /** Counts the evaluation of so many literals; false if the work is spent. */
  def spend(literals: Long = 1): Boolean = {
    spent += FactWorkLimit.StepsOfLiteral * literals
    spent <= most
  }

  /** Counts look-ups of keys in an index over many files; false if the work is spent. */
  def spendLookUps(keys: Int): Boolean = spend(FactWorkLimit.LiteralsOfLookUp * keys)

  /** Whether a text has the part; true if the work is spent. Counts each comparison of two bytes. */
  def mayHold(text: Array[Byte], part: BytesValue, ignoresCase: Boolean): Boolean = {
    val sought = if (ignoresCase) AsciiCase.lower(part.bytes) else part.bytes
    val bytes = if (ignoresCase) AsciiCase.lower(text) else text
    val last = bytes.length - sought.length
    var left = most - spent
    var isFound = false
    var start = 0
    while (start <= last && !isFound && left >= 0) {
      var same = 0
      while (same < sought.length && bytes(start + same) == sought(same)) same += 1
      left -= FactWorkLimit.StepsOfComparison * (same + 1)
      isFound = same == sought.length
      start += 1
    }
    spent = most - left
    isFound || left < 0
  }
}

private[eval] object FactWorkLimit {

  /** About a second. */
  val MostSteps = 1000000000L

  /** A rule on one value, or a probe of a filter. */
  private val StepsOfLiteral = 64L

  /** A look-up of a key decodes a block of keys, which takes as long as the evaluation of so many literals. */
  private val LiteralsOfLookUp = 256L

  /** A comparison of two bytes in a search. */
  private val StepsOfComparison = 2L
}
