package zonemap.core.eval

import zonemap.core.predicate.SortedValues
import zonemap.core.segment.{BytesDictionary, Dictionary, LongDictionary}

/** The two checks of a set of values in the codes of one column. Not thread-safe: what they share is made when asked. */
final private[eval] class CodeChecks(set: ValueSet, dictionary: Dictionary, exactCodes: Boolean) {
  import CodeChecks.End

  def misses: CodeCheck = set match {
    case _: Interval =>
      new RangeMisses(
        CodeRange(
          start = startCode.fold(0)(_.firstInsideFromBelow),
          end = endCode.fold(Dictionary.NoUpper)(_.lastInsideFromAbove),
          openStart = startCode.fold(-1)(_.open),
          openEnd = endCode.fold(-1)(_.open)
        ))
    case Elements(_)     => new LimitCheck(ranks.limits, exactCodes)
    case Ranges(ranges)  => new LimitCheck(RangeLimits.misses(ranges, dictionary), exactCodes)
    case UuidElements(_) => new Deferred(new LimitCheck(ranks.limits, exactCodes))
  }

  def contains: CodeCheck = set match {
    case _: Interval =>
      val end = endCode.fold(Dictionary.NoUpper)(_.lastProvenBelow)
      // all bounds are above the end
      if (end < 0) NeverProven
      else
        new RangeContains(
          CodeRange(
            start = startCode.fold(0)(_.firstProvenAbove),
            end,
            openStart = startCode.fold(-1)(_.open),
            openEnd = endCode.fold(-1)(_.open)))
    case Elements(_)     => new SetContains(ranks, exactCodes)
    case Ranges(ranges)  => new LimitCheck(RangeLimits.contains(ranges, dictionary), exactCodes)
    case _: UuidElements => NeverProven
  }

  /** Where the ends of an interval are among the codes. */
  private lazy val (startCode, endCode): (Option[End], Option[End]) = set match {
    case Interval(start, end) =>
      (start.map(End(_, dictionary, exactCodes)), end.map(End(_, dictionary, exactCodes)))
    case _ => (None, None)
  }

  /** The set for exact bounds; None where they are no longs. */
  def longs: Option[LongSet] = dictionary match {
    case longs: LongDictionary => LongSet.of(set, longs, ranks)
    case _: BytesDictionary    => None
  }

  private lazy val ranks: CodeRanks = set match {
    case Elements(values)     => CodeRanks.of(values, dictionary)
    case UuidElements(values) => CodeRanks.of(values, dictionary)
    case _                    => CodeRanks.of(SortedValues.of(Nil), dictionary)
  }
}

private object CodeChecks {

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
