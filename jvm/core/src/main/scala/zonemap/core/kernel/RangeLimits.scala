// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.Dictionary
import zonemap.core.predicate.ValueRanges
import zonemap.core.value.ZoneValue

/**
 * Limits for upper codes, by lower code, that prove whether an interval misses or lies inside a set of ranges. A range
 * includes its `from` and excludes its `until`.
 */
private[kernel] object RangeLimits {

  /** No code: `Before` is an end that every lower bound has passed, `Never` an end that no lower bound passes. */
  private val Before = -1
  private val Never = CodeLimits.Always.toInt

  /**
   * Limits for `misses`. An interval misses the ranges when its upper bound is below the start of the first range whose
   * end the lower bound has not passed.
   */
  def misses(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val froms = codes(ranges.iterator.map(_.from), dictionary, absent = 0)
    val untils = codes(ranges.iterator.map(_.until), dictionary, absent = Never)
    limits(untils, froms :+ Never, dictionary)
  }

  /**
   * Limits for `contains`. An interval lies inside a range when its upper bound is below the end of the last range
   * whose start the lower bound has passed.
   */
  def contains(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val froms = codes(ranges.iterator.map(_.from), dictionary, absent = Before)
    val untils = codes(ranges.iterator.map(_.until), dictionary, absent = Never)
    limits(froms, Dictionary.NoLower +: untils, dictionary)
  }

  private def codes(ends: Iterator[ZoneValue], dictionary: Dictionary, absent: Int): Array[Int] =
    ends.map(end => if (end == null) absent else dictionary.code(end)).toArray

  /**
   * The limits of all lower codes. A lower bound has passed an end that is less than or equal to it: the code of the
   * bound is greater than the end's, or both are the same boundary. An interval stays open if its lower or upper bound
   * shares an even code with an end, because codes cannot order the two.
   *
   * @param ends the codes of one end of each range, ascending
   * @param limitAfter by the number of ends that a lower bound has passed: the limit below which upper bounds are
   *   proven
   */
  private def limits(ends: Array[Int], limitAfter: Array[Int], dictionary: Dictionary): CodeLimits = {
    val first = new Array[Char](2 * dictionary.size + 1)
    val second = new Array[Char](first.length)
    var passed = 0
    var code = 0
    while (code < first.length) {
      while (passed < ends.length && (ends(passed) < code || (ends(passed) == code && Dictionary.isExact(code))))
        passed += 1
      // all ends with one even code are consecutive, so testing the next end is enough
      val isOpen = passed < ends.length && ends(passed) == code
      val limit = limitAfter(passed)
      first(code) = limit.toChar
      second(code) = if (isOpen) CodeLimits.Always else (limit | 1).toChar
      code += 1
    }
    new CodeLimits(first, second)
  }
}
