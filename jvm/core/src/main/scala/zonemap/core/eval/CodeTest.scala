package zonemap.core.eval

import zonemap.core.predicate.{SortedValues, ValueRanges}
import zonemap.core.segment.Dictionary
import zonemap.core.value.ZoneValue

/**
 * A yes-or-no question about intervals [lower code, upper code], answered 64 at a time. Bits go into `out` from word 0
 * on. Every class has its own loops so that the JIT inlines the test. Immutable.
 */
sealed abstract private[eval] class CodeTest {

  /** Whether `open` can set a bit at all. */
  def mayBeOpen: Boolean

  /** Sets a bit where the codes prove a yes. */
  def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit

  /** Sets at least the bits that are not proven and may be a yes: a bound and a literal share an even code. */
  def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit

  final protected def nothing(count: Int, out: Array[Long]): Unit =
    java.util.Arrays.fill(out, 0, (count + 63) >> 6, 0L)
}

/** Never proven. */
private[eval] object NeverTest extends CodeTest {
  override def mayBeOpen: Boolean = false

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = nothing(count, out)

  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = nothing(count, out)
}

/** A test against the ends of a range; `openLower` and `openUpper` are the even codes that leave it open, or -1. */
sealed abstract private[eval] class RangeTest(openLower: Int, openUpper: Int) extends CodeTest {
  override def mayBeOpen: Boolean = openLower >= 0 || openUpper >= 0

  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      if (lower(row) == openLower || upper(row) == openUpper) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/** Proven when upper < `start` or lower > `end`: the interval lies outside a range of values. */
final private[eval] class RangeMisses(start: Int, end: Int, openLower: Int, openUpper: Int)
    extends RangeTest(openLower, openUpper) {

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

  /** A literal within the interval but for its even ends is a hit; only the others are open. */
  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      val low = lower(row)
      val high = upper(row)
      val from = if (low == Dictionary.NoLower || Dictionary.isExact(low)) low.toInt else low + 1
      val to = if (high == Dictionary.NoUpper || Dictionary.isExact(high)) high.toInt else high - 1
      if (ranks.count(from, to) == 0) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/** Proven when the interval is one boundary that is in the set. */
final private[eval] class SetContains(ranks: CodeRanks, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit =
    points(lower, upper, count, out, parity = 1)

  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit =
    points(lower, upper, count, out, parity = 0)

  /** Intervals of one code, odd or even, that a literal has. */
  private def points(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long], parity: Int): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      val code = lower(row).toInt
      if (code == upper(row) && (code & 1) == parity && ranks.count(code, code) > 0) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/**
 * What the codes say of ranges [from, until), by the code of a lower bound: the code of an upper bound to stay below for a
 * proof, and whether the lower bound itself leaves it open. O(boundaries) memory.
 */
final private[eval] class RangeLimits(val below: Array[Int], val openLower: Array[Boolean])

private[eval] object RangeLimits {
  private val Always = Dictionary.NoUpper + 1

  /** An interval misses the ranges when its upper bound is below the first range that does not end by its lower bound. */
  def misses(ranges: ValueRanges, dictionary: Dictionary): RangeLimits = {
    val open = openAt(ranges.iterator.map(_.until), dictionary)
    val below = new Array[Int](open.length)
    var range = 0
    below.indices.foreach { code =>
      def ended = {
        val until = ranges(range).until
        until != null && { val u = dictionary.code(until); u < code || (u == code && Dictionary.isExact(code)) }
      }
      while (range < ranges.size && ended) range += 1
      below(code) =
        if (range == ranges.size) Always
        else Option(ranges(range).from).fold(0)(dictionary.code)
    }
    new RangeLimits(below, open)
  }

  /** An interval is inside when its upper bound is below the end of the last range that starts by its lower bound. */
  def contains(ranges: ValueRanges, dictionary: Dictionary): RangeLimits = {
    val open = openAt(ranges.iterator.map(_.from), dictionary)
    val below = new Array[Int](open.length)
    var started = 0
    below.indices.foreach { code =>
      def starts = {
        val from = ranges(started).from
        from == null || { val f = dictionary.code(from); f < code || (f == code && Dictionary.isExact(code)) }
      }
      while (started < ranges.size && starts) started += 1
      below(code) =
        if (started == 0) 0
        else Option(ranges(started - 1).until).fold(Always)(dictionary.code)
    }
    new RangeLimits(below, open)
  }

  private def openAt(ends: Iterator[ZoneValue], dictionary: Dictionary): Array[Boolean] = {
    val open = new Array[Boolean](2 * dictionary.size + 1)
    ends.filter(_ != null).map(dictionary.code).filterNot(Dictionary.isExact).foreach(open(_) = true)
    open
  }
}

/** Proven when the upper code is below the limit of the lower code. */
final private[eval] class RangesTest(limits: RangeLimits, exactCodes: Boolean) extends CodeTest {
  override def mayBeOpen: Boolean = !exactCodes

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    val below = limits.below
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var bits = 0L
      while (row < stop) {
        bits |= ((upper(row) - below(lower(row))) >>> 31).toLong << row
        row += 1
      }
      out(word) = bits
    }
  }

  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    nothing(count, out)
    var row = 0
    while (row < count) {
      val low = lower(row).toInt
      val high = upper(row).toInt
      if (limits.openLower(low) || (high == limits.below(low) && !Dictionary.isExact(high))) out(row >> 6) |= 1L << row
      row += 1
    }
  }
}

/** Leaves every yes of another test open: for bounds whose order the codes do not settle. */
final private[eval] class Deferred(test: CodeTest) extends CodeTest {
  override def mayBeOpen: Boolean = true

  override def proven(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = nothing(count, out)

  override def open(lower: Array[Char], upper: Array[Char], count: Int, out: Array[Long]): Unit = {
    val surely = new Array[Long](out.length)
    test.proven(lower, upper, count, surely)
    test.open(lower, upper, count, out)
    var word = 0
    while (word < out.length) {
      out(word) |= surely(word)
      word += 1
    }
  }
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
    case Ranges(ranges)       => new RangesTest(RangeLimits.misses(ranges, dictionary), exactCodes)
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
    case Ranges(ranges)   => new RangesTest(RangeLimits.contains(ranges, dictionary), exactCodes)
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
