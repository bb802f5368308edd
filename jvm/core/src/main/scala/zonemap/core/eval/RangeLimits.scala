package zonemap.core.eval

import zonemap.core.predicate.ValueRanges
import zonemap.core.segment.Dictionary
import zonemap.core.value.ZoneValue

/** What the codes say of ranges [from, until), by the code of a lower bound. */
private[eval] object RangeLimits {

  /** No code, below and above every code: an end that is passed at once, and one that never is. */
  private val Before = -1
  private val Never = CodeLimits.Always.toInt

  /** An interval misses the ranges when its upper bound is below the first range that does not end by its lower bound. */
  def misses(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val froms = codes(ranges.iterator.map(_.from), dictionary, absent = 0)
    val untils = codes(ranges.iterator.map(_.until), dictionary, absent = Never)
    limits(untils, froms :+ Never, dictionary)
  }

  /** An interval is inside when its upper bound is below the end of the last range that starts by its lower bound. */
  def contains(ranges: ValueRanges, dictionary: Dictionary): CodeLimits = {
    val froms = codes(ranges.iterator.map(_.from), dictionary, absent = Before)
    val untils = codes(ranges.iterator.map(_.until), dictionary, absent = Never)
    limits(froms, Dictionary.NoLower +: untils, dictionary)
  }

  private def codes(ends: Iterator[ZoneValue], dictionary: Dictionary, absent: Int): Array[Int] =
    ends.map(end => if (end == null) absent else dictionary.code(end)).toArray

  /**
   * A lower bound passes an end at or below it: its code is greater, or the same boundary. An upper bound is open that
   * shares an even code with an end, and so is each whose lower bound does.
   *
   * @param ends codes of one end of each range, ascending
   * @param limitAfter by how many ends a lower bound has passed: upper bounds below it are proven
   */
  private def limits(ends: Array[Int], limitAfter: Array[Int], dictionary: Dictionary): CodeLimits = {
    val first = new Array[Char](2 * dictionary.size + 1)
    val second = new Array[Char](first.length)
    var passed = 0
    var code = 0
    while (code < first.length) {
      while (passed < ends.length && (ends(passed) < code || (ends(passed) == code && Dictionary.isExact(code))))
        passed += 1
      // ends of one even code that is not passed yet stand side by side
      val isOpen = passed < ends.length && ends(passed) == code
      val limit = limitAfter(passed)
      first(code) = limit.toChar
      second(code) = if (isOpen) CodeLimits.Always else (limit | 1).toChar
      code += 1
    }
    new CodeLimits(first, second)
  }
}
