// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{BytesDictionary, Dictionary, LongDictionary}
import zonemap.core.predicate.{SortedValues, ValueRanges}
import zonemap.core.rule.{Elements, Endpoint, Interval, Ranges, UuidElements, ValueSet}
import zonemap.core.value.ZoneValue

/**
 * Makes the two checks of a set of values over the codes of one column: `misses` proves that no value of an interval is
 * in the set, `contains` proves that every value is. Not thread-safe: parts that both checks share are computed at
 * first use.
 */
final private[kernel] class CodeChecks(set: ValueSet, dictionary: Dictionary, exactCodes: Boolean) {
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
      // no code proves that an upper bound lies within the end
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

  /** The codes of an interval's endpoints. */
  private lazy val (startCode, endCode): (Option[End], Option[End]) = set match {
    case Interval(start, end) =>
      (start.map(End(_, dictionary, exactCodes)), end.map(End(_, dictionary, exactCodes)))
    case _ => (None, None)
  }

  /** The same set as a [[LongSet]], which compares exact bounds; None if the column is not one of longs. */
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

  /**
   * An endpoint of an interval as a code. An even code lies between two boundaries, so codes cannot order the endpoint
   * and a bound of the same even code.
   *
   * @param open the even code that leaves a bound undecided, or -1 if there is none
   */
  final case class End(code: Int, inclusive: Boolean, open: Int) {
    private def onBoundary = Dictionary.isExact(code)

    /** Upper bounds with a code below this one are less than the start. */
    def firstInsideFromBelow: Int = if (onBoundary && !inclusive) code + 1 else code

    /** Lower bounds with a code above this one are greater than the end. */
    def lastInsideFromAbove: Int = if (onBoundary && !inclusive) code - 1 else code

    /** Lower bounds with at least this code are proven to satisfy the start. */
    def firstProvenAbove: Int = if (onBoundary && inclusive) code else code + 1

    /** Upper bounds with at most this code are proven to satisfy the end. */
    def lastProvenBelow: Int = if (onBoundary && inclusive) code else code - 1
  }

  object End {

    def apply(endpoint: Endpoint, dictionary: Dictionary, exactCodes: Boolean): End = {
      val code = dictionary.code(endpoint.value)
      // No bound lies below the first or above the last boundary, so codes decide every bound there.
      val open = !exactCodes && !Dictionary.isExact(code) && code > 0 && code < 2 * dictionary.size
      End(code, endpoint.inclusive, if (open) code else -1)
    }
  }
}

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
