package zonemap.core.eval

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{Dictionary, LongDictionary}

/**
 * Where the literals of a sorted set are among the codes of a column, so that any interval of codes is answered by one
 * read, whatever the size of the set. O(boundaries) memory.
 *
 * @param before how many literals have a lower code, by code: those of one code stand in the set from `before(code)` until
 *   `before(code + 1)`
 */
final private[eval] class CodeRanks private (val before: Array[Int]) {

  /** The greatest code of a literal there may be. */
  val last: Int = before.length - 2

  /** The least code of a literal from a code on, or one that is above `last`. */
  val next: Array[Char] = {
    val out = new Array[Char](last + 2)
    var code = last + 1
    out(code) = CodeRanks.NoCode
    while (code > 0) {
      code -= 1
      out(code) = if (before(code + 1) > before(code)) code.toChar else out(code + 1)
    }
    out
  }

  /** Whether a literal has a code in [from, until of the last code or `to`]. */
  def any(from: Int, to: Int): Boolean = next(from) <= Math.min(to, last)
}

private[eval] object CodeRanks {
  private val NoCode = 0xffff.toChar

  def of(values: SortedValues, dictionary: Dictionary): CodeRanks = {
    val counts = new Array[Int](2 * dictionary.size + 2)
    (dictionary, values.longs) match {
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

/** Proven when no literal has a code of the interval. */
final private[eval] class SetMisses(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    val next = ranks.next
    val last = ranks.last
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        // the sign bit is the answer: no branch
        bits |= ((Math.min(upper(row), last) - next(lower(row))) >>> 31).toLong << row
        row += 1
      }
      out(word) = bits
    }
  }

  /** A literal within the interval but for its even ends is a hit; only the others are open. */
  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit = {
    nothing(count, out)
    var word = 0
    while (word < ((count + 63) >> 6)) {
      var left = ~proven(word) & CodeTest.rowsOf(word, count)
      while (left != 0) {
        val row = (word << 6) + java.lang.Long.numberOfTrailingZeros(left)
        val low = lower(row)
        val high = upper(row)
        val from = if (low == Dictionary.NoLower || Dictionary.isExact(low)) low.toInt else low + 1
        val to = if (high == Dictionary.NoUpper || Dictionary.isExact(high)) high.toInt else high - 1
        if (!ranks.any(from, to)) out(word) |= 1L << row
        left &= left - 1
      }
      word += 1
    }
  }
}

/** Proven when the interval is one boundary that is in the set. */
final private[eval] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit =
    points(lower, upper, count, out, parity = 1)

  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit =
    points(lower, upper, count, out, parity = 0)

  /** Intervals of one code, odd or even, that a literal has. */
  private def points(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long], parity: Int): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      val code = lower(row).toInt
      if (code == upper(row) && (code & 1) == parity && ranks.any(code, code)) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}
