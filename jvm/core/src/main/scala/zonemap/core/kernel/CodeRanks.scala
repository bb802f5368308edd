// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{CodeLanes, Dictionary, LongDictionary}
import zonemap.core.predicate.SortedValues

/**
 * The positions of a sorted set's literals among the codes of a column. One look-up evaluates an interval of codes, for
 * a set of any size. O(boundaries) memory.
 *
 * @param before by code, the number of literals with a lower code: the literals of a code are the elements of the set
 *   from `before(code)` to `before(code + 1)`, exclusive
 */
final private[kernel] class CodeRanks private (val before: Array[Int]) {

  /** Whether a literal has the code. */
  def has(code: Int): Boolean = code < before.length - 1 && before(code + 1) > before(code)

  /**
   * Limits that prove that an interval holds no literal: an upper code below the first limit proves that no literal has
   * a code within the interval. An upper code from the second limit on proves the opposite, because a literal then lies
   * between the bounds; a literal that shares an even code with a bound leaves the interval open.
   */
  def limits: CodeLimits = {
    val first = new Array[Char](before.length - 1)
    val second = new Array[Char](first.length)
    // `next`: the least code of a literal at or above `code`; `after`: the least one above it
    var next = CodeLimits.Always
    var code = first.length
    while (code > 0) {
      code -= 1
      val after = next
      if (before(code + 1) > before(code)) next = code.toChar
      val inner = if (code == Dictionary.NoLower || Dictionary.isExact(code)) next else after
      first(code) = next
      second(code) = (inner | 1).toChar
    }
    new CodeLimits(first, second)
  }
}

private[kernel] object CodeRanks {

  def of(values: SortedValues, dictionary: Dictionary): CodeRanks = {
    val counts = new Array[Int](2 * dictionary.size + 2)
    (dictionary, values.longs) match {
      case (longs: LongDictionary, Some(numbers)) => longs.codesOf(numbers).foreach(code => counts(code + 1) += 1)
      case _ => values.iterator.foreach(value => counts(dictionary.code(value) + 1) += 1)
    }
    var code = 1
    while (code < counts.length) {
      counts(code) += counts(code - 1)
      code += 1
    }
    new CodeRanks(counts)
  }
}

/**
 * Proven when both bounds equal one boundary that is an element of the set: every value of the zone then equals the
 * element, because lower <= v <= upper for every value v.
 */
final private[kernel] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeCheck {
  override def mayBeOpen: Boolean = !exactCodes

  /**
   * Checks rows whose two codes are equal to the code of a literal: an odd code proves containment, because both bounds
   * equal the literal; an even code leaves the row open.
   */
  override def check(zones: ZoneBuffer, count: Int): Unit = {
    val words = (count + 63) >> 6
    java.util.Arrays.fill(zones.bits, 0, words, 0L)
    java.util.Arrays.fill(zones.open, 0, words, 0L)
    var row = 0
    while (row < count) {
      val code = CodeLanes.get(zones.lower, row)
      if (code == CodeLanes.get(zones.upper, row) && ranks.has(code)) {
        val bits = if (Dictionary.isExact(code)) zones.bits else zones.open
        bits(row >> 6) |= 1L << row
      }
      row += 1
    }
  }
}
