package zonemap.core.eval

import zonemap.core.segment.Dictionary

/**
 * A yes-or-no question about intervals [lower code, upper code], answered 64 at a time. Bits go into `out` from word 0
 * on. Every class has its own loops so that the JIT inlines the test. Immutable.
 */
abstract private[eval] class CodeTest {

  /** Whether `open` can set a bit at all. */
  def mayBeOpen: Boolean

  /** Whether the codes of a side are looked at; if not, the array may hold anything. */
  def readsLower: Boolean = true
  def readsUpper: Boolean = true

  /** Sets a bit where the codes prove a yes. */
  def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit

  /**
   * Sets at least the bits that may be a yes all the same: a bound and a literal share an even code. Bits that are
   * `proven` are not looked at, and may be set or not.
   */
  def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit

  final protected def nothing(count: Int, out: Array[Long]): Unit =
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
}

private[eval] object CodeTest {

  /** The bits of a word that stand for rows. */
  def rowsOf(word: Int, count: Int): Long = if (count - (word << 6) >= 64) -1L else -1L >>> (-count & 63)
}

/** Never proven. */
private[eval] object NeverTest extends CodeTest {
  override def mayBeOpen: Boolean = false

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = nothing(count, out)

  override def readsLower: Boolean = false
  override def readsUpper: Boolean = false

  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit =
    nothing(count, out)
}

/** A test against the ends of a range; `openLower` and `openUpper` are the even codes that leave it open, or -1. */
sealed abstract private[eval] class RangeTest(openLower: Int, openUpper: Int) extends CodeTest {
  override def mayBeOpen: Boolean = openLower >= 0 || openUpper >= 0

  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit = {
    var word = 0
    while (word < ((count + 63) >> 6)) {
      val left = ~proven(word) & CodeTest.rowsOf(word, count)
      out(word) =
        if (java.lang.Long.bitCount(left) > RangeTest.Few)
          ofAll(lower, upper, word * 64, Math.min(count, word * 64 + 64))
        else ofSome(lower, upper, word * 64, left)
      word += 1
    }
  }

  private def ofAll(lower: Array[Char], upper: Array[Char], from: Int, until: Int): Long = {
    var bits = 0L
    var row = from
    while (row < until) {
      // -1 in place of an unsigned zero: the sign bit says that the codes are the same
      val same = ((lower(row) ^ openLower) - 1) & ~(lower(row) ^ openLower) |
        ((upper(row) ^ openUpper) - 1) & ~(upper(row) ^ openUpper)
      bits |= (same >>> 31).toLong << row
      row += 1
    }
    bits
  }

  private def ofSome(lower: Array[Char], upper: Array[Char], first: Int, rows: Long): Long = {
    var bits = 0L
    var left = rows
    while (left != 0) {
      val row = first + java.lang.Long.numberOfTrailingZeros(left)
      if (lower(row) == openLower || upper(row) == openUpper) bits |= 1L << row
      left &= left - 1
    }
    bits
  }
}

private object RangeTest {

  /** Up to so many of 64 rows are looked at one by one. */
  val Few = 16
}

/** Proven when upper < `start` or lower > `end`: the interval lies outside a range of values. */
final private[eval] class RangeMisses(start: Int, end: Int, openLower: Int, openUpper: Int)
    extends RangeTest(openLower, openUpper) {
  override def readsLower: Boolean = end < Dictionary.NoUpper
  override def readsUpper: Boolean = start > 0

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        // The sign bit of either difference is the answer: no branch.
        val answer = ((upper(row) - start) | (end - lower(row))) >>> 31
        bits |= answer.toLong << row
        row += 1
      }
      out(word) = bits
    }
  }
}

/** Proven when lower >= `start` and upper <= `end`: the interval lies inside a range of values. */
final private[eval] class RangeContains(start: Int, end: Int, openLower: Int, openUpper: Int)
    extends RangeTest(openLower, openUpper) {
  override def readsLower: Boolean = start > 0
  override def readsUpper: Boolean = end < Dictionary.NoUpper

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        val answer = 1 - (((lower(row) - start) | (end - upper(row))) >>> 31)
        bits |= answer.toLong << row
        row += 1
      }
      out(word) = bits
    }
  }
}

/** Leaves every yes of another test open: for bounds whose order the codes do not settle. */
final private[eval] class Deferred(test: CodeTest) extends CodeTest {
  override def mayBeOpen: Boolean = true

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = nothing(count, out)

  override def open(lower: Array[Char], upper: Array[Char], count: Int, proven: Array[Long], out: Array[Long]): Unit = {
    val surely = new Array[Long](out.length)
    test.proven(lower, upper, count, surely)
    test.open(lower, upper, count, surely, out)
    var word = 0
    while (word < out.length) {
      out(word) |= surely(word)
      word += 1
    }
  }
}
