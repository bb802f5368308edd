package zonemap.core.eval

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{BytesDictionary, Dictionary, LongDictionary}

/** The two tests of a set of values in the codes of one column. Not thread-safe: what they share is made when asked. */
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
    case Elements(_)     => new SetMisses(ranks, exactCodes)
    case Ranges(ranges)  => new RangesTest(RangeLimits.misses(ranges, dictionary), exactCodes)
    case UuidElements(_) => new Deferred(new SetMisses(ranks, exactCodes))
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
    case Elements(_)     => new SetContains(ranks, exactCodes)
    case Ranges(ranges)  => new RangesTest(RangeLimits.contains(ranges, dictionary), exactCodes)
    case _: UuidElements => NeverTest
  }

  /** The set for exact bounds; None where they are no longs. */
  def longs: Option[LongSet] = dictionary match {
    case _: LongDictionary  => LongSet.of(set, ranks)
    case _: BytesDictionary => None
  }

  private lazy val ranks: CodeRanks = set match {
    case Elements(values)     => CodeRanks.of(values, dictionary)
    case UuidElements(values) => CodeRanks.of(values, dictionary)
    case _                    => CodeRanks.of(SortedValues.of(Nil), dictionary)
  }
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
