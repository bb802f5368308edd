// SPDX-License-Identifier: Apache-2.0
package zonemap.core.kernel

import zonemap.core.column.{BoundsColumn, BoundsFlags, CodeArray, ExactRows, LongBounds}
import zonemap.core.rule.{ColumnZone, LeafRule, Match, ValueRule, ZoneMatch}

/**
 * Evaluates one leaf in one mode on the codes of one column. A table over the 128 values of the flag byte decides
 * first: keep, drop, or run the code check. Exact bounds decide the rows that codes leave open. The caller owns the
 * buffers. Belongs to one evaluation; not thread-safe.
 *
 * @param checks the checks of the leaf's values; None for a leaf that does not depend on values
 */
final private[kernel] class LeafKernel(
    rule: LeafRule,
    column: BoundsColumn,
    checks: Option[CodeChecks],
    mode: EvaluationMode) {
  import LeafKernel._

  /**
   * True if the check proves the row's interval disjoint from the leaf's set of values, false if it proves the interval
   * contained in the set.
   */
  private val checksMisses: Boolean = (rule.values, mode) match {
    case (ValueRule.Constant(_), _)           => false
    case (ValueRule.Inside(_), evaluated)     => evaluated == EvaluationMode.MayMatch
    case (ValueRule.Outside(_, _), evaluated) => evaluated == EvaluationMode.MustMatch
  }

  private val check: CodeCheck = checks.fold[CodeCheck](NeverProven)(t => if (checksMisses) t.misses else t.contains)

  /** Whether `evaluate` reads the lower (upper) codes. */
  val readsLower: Boolean = check.readsLower
  val readsUpper: Boolean = check.readsUpper

  /** All ones if a proof clears the row's bit (a row proven free of matches is dropped), 0 if a proof sets it. */
  private val inverted: Long = if (mode == EvaluationMode.MayMatch) -1L else 0L

  private val decisions: Array[Byte] = Array.tabulate(BoundsFlags.Values)(flags => decide(flags).toByte)

  /** The decision by the flags alone: Yes, No, or Ask if the check must decide. */
  private def decide(flags: Int): Int = {
    def holds(others: Match) = mode.keeps(rule.combine(BoundsFlags.nulls(flags), BoundsFlags.nans(flags), others))
    val tight = BoundsFlags.isTight(flags)
    val (unproven, proven) = (rule.values, mode) match {
      case (ValueRule.Constant(result), _)                => (result, result)
      case (ValueRule.Inside(_), EvaluationMode.MayMatch) => (Match.Some, Match.None)
      case (ValueRule.Outside(_, needs), EvaluationMode.MayMatch) =>
        (Match.Some, if (tight || !needs) Match.None else Match.Some)
      case (_, EvaluationMode.MustMatch) => (Match.Some, if (tight) Match.All else Match.Some)
    }
    if (holds(unproven) != holds(proven)) Ask else if (holds(proven)) Yes else No
  }

  /** Whether exact bounds may be needed to decide a row. */
  val mayBeOpen: Boolean = check.mayBeOpen && decisions.contains(Ask.toByte)

  /** The result for every row, if all rows have the same flags and the flags alone decide; else None. */
  val constant: Option[Boolean] = column.constantFlags.map(decisions(_).toInt).filter(_ != Ask).map(_ == Yes)

  /**
   * Sets the bits of `count` zones. Where a bit of `zones.open` is set afterwards, codes do not decide the zone, and
   * [[verify]] must correct its bit.
   */
  def evaluate(zones: ZoneBuffer, count: Int, sameFlags: Option[Int]): Unit = {
    val words = (count + 63) >> 6
    check.check(zones, count)
    var word = 0
    while (word < words) {
      if (mayBeOpen) zones.open(word) &= ~zones.bits(word)
      zones.bits(word) ^= inverted
      word += 1
    }
    if (!sameFlags.exists(decisions(_) == Ask)) applyFlags(zones, count)
    if ((count & 63) != 0) zones.bits(words - 1) &= -1L >>> (-count & 63)
  }

  private def applyFlags(zones: ZoneBuffer, count: Int): Unit = {
    var row = 0
    while (row < count) {
      val stop = Math.min(count, row + 64)
      val word = row >> 6
      var yes = 0L
      var undecided = 0L
      while (row < stop) {
        val decision = decisions(zones.flags(row)).toLong
        yes |= (decision & 1L) << row
        undecided |= (decision >> 1) << row
        row += 1
      }
      zones.bits(word) = zones.bits(word) & undecided | yes
      if (mayBeOpen) zones.open(word) &= undecided
    }
  }

  private lazy val longSet: LongSet = checks.flatMap(_.longs).orNull
  private lazy val longBounds: LongBounds = column.longs().orNull

  /**
   * Corrects the bits of the `open` zones by comparing exact bounds. The zones must be rows of one block, see
   * [[ZoneBuffer.row]].
   */
  def verify(zones: ZoneBuffer, count: Int): Unit =
    if (longSet == null) verifyOneByOne(zones, count)
    else {
      val exact = zones.exact
      collect(zones, count, exact)
      if (exact.size > 0) {
        if (checksMisses) longSet.misses(exact, longBounds) else longSet.contains(exact, longBounds)
        zones.putOpen(exact.proven, count, inverted)
      }
    }

  private def verifyOneByOne(zones: ZoneBuffer, count: Int): Unit = {
    var i = zones.nextOpen(0, count)
    while (i >= 0) {
      val row = zones.row(i)
      zones.put(i, mode.keeps(ZoneMatch.evaluate(rule, ColumnZone(column.columnType, column.bounds(row)))))
      i = zones.nextOpen(i + 1, count)
    }
  }

  private def collect(zones: ZoneBuffer, count: Int, exact: ExactRows): Unit = {
    exact.size = zones.openRows(count, exact.rows)
    if (readsLower) zones.ofOpen(zones.lower, count, exact.lowerCodes)
    else codesOf(column.lowerCodes, exact, exact.lowerCodes)
    if (readsUpper) zones.ofOpen(zones.upper, count, exact.upperCodes)
    else codesOf(column.upperCodes, exact, exact.upperCodes)
    column.constantFlags match {
      case Some(same) => java.util.Arrays.fill(exact.flags, 0, exact.size, same.toByte)
      case None       => (0 until exact.size).foreach(i => exact.flags(i) = column.flags(exact.rows(i)).toByte)
    }
  }

  private def codesOf(codes: CodeArray, exact: ExactRows, out: Array[Char]): Unit = {
    var i = 0
    while (i < exact.size) {
      out(i) = codes(exact.rows(i)).toChar
      i += 1
    }
  }
}

private[kernel] object LeafKernel {
  private val No = 0
  private val Yes = 1
  private val Ask = 2
}
