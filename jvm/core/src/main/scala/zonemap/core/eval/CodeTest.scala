package zonemap.core.eval

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.Dictionary

/**
 * A yes-or-no question about intervals [lower code, upper code], answered 64 at a time. `proven` sets a bit where the
 * codes prove a yes; `open` where they cannot tell, because a bound and a literal share an even code. Immutable.
 */
sealed abstract private[eval] class CodeTest {

  /** Whether `open` can set a bit at all. */
  def mayBeOpen: Boolean

  def isProven(lower: Int, upper: Int): Boolean

  def isOpen(lower: Int, upper: Int): Boolean

  /** Bits of `count` intervals into `out`, from word 0 on. Subclasses repeat the loop so that the JIT inlines the test. */
  def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit

  final def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
    var row = 0
    while (row < count) {
      if (isOpen(lower(row), upper(row))) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/** Never proven. */
private[eval] object NeverTest extends CodeTest {
  override def mayBeOpen: Boolean = false
  override def isProven(lower: Int, upper: Int): Boolean = false
  override def isOpen(lower: Int, upper: Int): Boolean = false

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit =
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
}

/** Proven when upper < `start` or lower > `end`: the interval lies outside a range of values. */
final private[eval] class RangeMisses(start: Int, end: Int, openUpper: Int, openLower: Int) extends CodeTest {
  override def mayBeOpen: Boolean = openUpper >= 0 || openLower >= 0
  override def isProven(lower: Int, upper: Int): Boolean = upper < start || lower > end

  override def isOpen(lower: Int, upper: Int): Boolean =
    (upper == openUpper || lower == openLower) && !isProven(lower, upper)

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
final private[eval] class RangeContains(start: Int, end: Int, openLower: Int, openUpper: Int) extends CodeTest {
  override def mayBeOpen: Boolean = openUpper >= 0 || openLower >= 0
  override def isProven(lower: Int, upper: Int): Boolean = lower >= start && upper <= end

  override def isOpen(lower: Int, upper: Int): Boolean =
    (upper == openUpper || lower == openLower) && !isProven(lower, upper)

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

/**
 * Which codes the literals of a set have, as prefix counts: a count over any interval of codes is two reads, whatever
 * the size of the set. O(boundaries) memory.
 */
final private[eval] class CodeRanks(codes: Iterator[Int], val last: Int) {
  val before: Array[Int] = {
    val out = new Array[Int](last + 2)
    codes.foreach(code => out(code + 1) = 1)
    var code = 0
    while (code <= last) {
      out(code + 1) += out(code)
      code += 1
    }
    out
  }

  /** Distinct codes in [from, until of the last code or `to`]. */
  def count(from: Int, to: Int): Int = if (from > to) 0 else before(Math.min(to, last) + 1) - before(from)
}

/** Proven when no literal has a code of the interval. */
final private[eval] class SetMisses(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes
  override def isProven(lower: Int, upper: Int): Boolean = ranks.count(lower, upper) == 0

  /** Literals share codes with an even end only. */
  override def isOpen(lower: Int, upper: Int): Boolean = !exactCodes && !isProven(lower, upper) && {
    val from = if (lower == Dictionary.NoLower || Dictionary.isExact(lower)) lower else lower + 1
    val to = if (upper == Dictionary.NoUpper || Dictionary.isExact(upper)) upper else upper - 1
    ranks.count(from, to) == 0
  }

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    val before = ranks.before
    val last = ranks.last
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        val held = before(Math.min(upper(row), last) + 1) - before(lower(row))
        bits |= (1L - (-held >>> 31)) << row
        row += 1
      }
      out(word) = bits
    }
  }
}

/** Proven when the interval is one boundary that is in the set. */
final private[eval] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def isProven(lower: Int, upper: Int): Boolean =
    lower == upper && Dictionary.isExact(lower) && ranks.count(lower, upper) > 0

  override def isOpen(lower: Int, upper: Int): Boolean =
    lower == upper && !Dictionary.isExact(lower) && ranks.count(lower, upper) > 0

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
    var row = 0
    while (row < count) {
      if (isProven(lower(row), upper(row))) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/** Leaves every yes of another test open: for bounds whose order the codes do not settle. */
final private[eval] class Deferred(test: CodeTest) extends CodeTest {
  override def mayBeOpen: Boolean = true
  override def isProven(lower: Int, upper: Int): Boolean = false
  override def isOpen(lower: Int, upper: Int): Boolean = test.isProven(lower, upper) || test.isOpen(lower, upper)

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit =
    NeverTest.proven(lower, upper, count, out)
}

/** The two tests of a set of values in the codes of one column. */
final private[eval] class CodeTests(set: ValueSet, dictionary: Dictionary, exactCodes: Boolean) {
  import CodeTests.End

  def misses: CodeTest = set match {
    case Interval(start, end) =>
      val s = start.map(End(_, dictionary, exactCodes))
      val e = end.map(End(_, dictionary, exactCodes))
      new RangeMisses(
        start = s.fold(0)(_.firstInsideFromBelow),
        end = e.fold(Dictionary.NoUpper)(_.lastInsideFromAbove),
        openUpper = s.fold(-1)(_.open),
        openLower = e.fold(-1)(_.open)
      )
    case Elements(values)     => new SetMisses(ranks(values), exactCodes)
    case UuidElements(values) => new Deferred(new SetMisses(ranks(values), exactCodes))
  }

  def contains: CodeTest = set match {
    case Interval(start, end) =>
      val s = start.map(End(_, dictionary, exactCodes))
      val e = end.map(End(_, dictionary, exactCodes))
      new RangeContains(
        start = s.fold(0)(_.firstProvenAbove),
        end = e.fold(Dictionary.NoUpper)(_.lastProvenBelow),
        openLower = s.fold(-1)(_.open),
        openUpper = e.fold(-1)(_.open))
    case Elements(values) => new SetContains(ranks(values), exactCodes)
    case _: UuidElements  => NeverTest
  }

  private def ranks(values: SortedValues): CodeRanks =
    new CodeRanks(values.iterator.map(dictionary.code), last = 2 * dictionary.size)
}

private object CodeTests {

  /** An endpoint in codes. Even codes are "between boundaries", so a bound of the same even code is undecided. */
  final case class End(code: Int, inclusive: Boolean, open: Int) {
    private def onBoundary = Dictionary.isExact(code)

    /** Upper codes below this are below the start. */
    def firstInsideFromBelow: Int = if (onBoundary && !inclusive) code + 1 else code

    /** Lower codes above this are above the end. */
    def lastInsideFromAbove: Int = if (onBoundary && !inclusive) code - 1 else code

    /** Lower codes from this on are inside the start. */
    def firstProvenAbove: Int = if (onBoundary && inclusive) code else code + 1

    /** Upper codes up to this are inside the end. */
    def lastProvenBelow: Int = if (onBoundary && inclusive) code else code - 1
  }

  object End {

    def apply(endpoint: Endpoint, dictionary: Dictionary, exactCodes: Boolean): End = {
      val code = dictionary.code(endpoint.value)
      // Below the first and above the last boundary no bound lies, so nothing is open there.
      val open = !exactCodes && !Dictionary.isExact(code) && code > 0 && code < 2 * dictionary.size
      End(code, endpoint.inclusive, if (open) code else -1)
    }
  }
}
