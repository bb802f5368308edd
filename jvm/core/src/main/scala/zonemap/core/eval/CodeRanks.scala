package zonemap.core.eval

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{CodeLanes, Dictionary, LongDictionary}

/**
 * Where the literals of a sorted set are among the codes of a column, so that any interval of codes is answered by one
 * read, whatever the size of the set. O(boundaries) memory.
 *
 * @param before how many literals have a lower code, by code: those of one code stand in the set from `before(code)` until
 *   `before(code + 1)`
 */
final private[eval] class CodeRanks private (val before: Array[Int]) {

  /** Whether a literal has the code. */
  def has(code: Int): Boolean = code < before.length - 1 && before(code + 1) > before(code)

  /** Proven is that no literal has a code of the interval; a literal within it but for its even ends is a hit. */
  def limits: CodeLimits = {
    val first = new Array[Char](before.length - 1)
    val second = new Array[Char](first.length)
    // the least code of a literal from the code on, and from behind the code on
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

private[eval] object CodeRanks {

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

/** Proven when the interval is one boundary that is in the set. */
final private[eval] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeCheck {
  override def mayBeOpen: Boolean = !exactCodes

  /** Intervals of one code that a literal has: an odd code is a proof, an even one leaves it open. */
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
