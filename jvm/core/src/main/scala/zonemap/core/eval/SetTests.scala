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
      case (longs: LongDictionary, Some(numbers)) if numbers.length > longs.size / 4 =>
        countMany(numbers, longs, counts)
      case (longs: LongDictionary, Some(numbers)) => countLongs(numbers, longs, counts)
      case _ => values.iterator.foreach(value => counts(dictionary.code(value) + 1) += 1)
    }
    var code = 1
    while (code < counts.length) {
      counts(code) += counts(code - 1)
      code += 1
    }
    new CodeRanks(counts)
  }

  /** As below, for sets of about as many literals as there are boundaries: both go on by arithmetic, no branch. */
  private def countMany(numbers: Array[Long], dictionary: LongDictionary, counts: Array[Int]): Unit = {
    val boundaries = dictionary.size
    var here = 0
    var i = 0
    while (i < numbers.length && here < boundaries) {
      val isLess = if (dictionary.number(here) < numbers(i)) 1 else 0
      val isSame = if (dictionary.number(here) == numbers(i)) 1 else 0
      counts(2 * here + isSame + 1) += 1 - isLess
      here += isLess
      i += 1 - isLess
    }
    counts(2 * boundaries + 1) += numbers.length - i
  }

  /** Both are sorted: the next literal's code is searched from the last one's on, in growing steps. */
  private def countLongs(numbers: Array[Long], dictionary: LongDictionary, counts: Array[Int]): Unit = {
    var from = 0
    var i = 0
    while (i < numbers.length) {
      val number = numbers(i)
      var step = 1
      while (from + step <= dictionary.size && dictionary.number(from + step - 1) < number) {
        from += step
        step *= 2
      }
      val code = dictionary.codeWithin(number, from, Math.min(dictionary.size, from + step))
      counts(code + 1) += 1
      from = Dictionary.ordinal(code)
      i += 1
    }
  }
}

/** Proven when the interval is one boundary that is in the set. */
final private[eval] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  /** Intervals of one code that a literal has: an odd code is a proof, an even one leaves it open. */
  override def test(zones: ZoneBuffer, count: Int): Unit = {
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
