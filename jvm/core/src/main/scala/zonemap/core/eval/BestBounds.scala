// SPDX-License-Identifier: Apache-2.0
package zonemap.core.eval

import zonemap.core.column.{BoundsColumn, BoundsFlags, Dictionary}
import zonemap.core.value.{Presence, ZoneValue}

/**
 * Finds, row by row, bounds of one column that beat a value which rises during a scan. With `descending` the lower
 * bounds are compared and a greater one is better; otherwise the upper bounds are compared and a smaller one is better.
 * A row that does not beat the value costs one comparison of codes and allocates no object. Not thread-safe.
 *
 * @param nullsCount whether null rows count as rows within the bound
 */
final private[zonemap] class BestBounds(column: BoundsColumn, descending: Boolean, nullsCount: Boolean) {
  private val codes = if (descending) column.lowerCodes else column.upperCodes
  private var toBeat: ZoneValue = null
  private var codeToBeat = 0

  /**
   * Sets the value to beat: later calls of `better` return only bounds better than it. The value must have the column's
   * encoding.
   */
  def raise(value: ZoneValue): Unit =
    if (!(value eq toBeat)) {
      toBeat = value
      codeToBeat = column.dictionary.code(value)
    }

  /**
   * The bound of a row if it beats the value and every row of the file lies within it; else null. The result is null
   * for inverted bounds, for files that hold or may hold NaN, and for files that hold or may hold nulls unless
   * `nullsCount` is set.
   */
  def better(row: Int): ZoneValue =
    if (toBeat != null && !mayBeat(codes(row))) null
    else if (!usable(column.flags(row))) null
    else {
      val lower = column.lower(row)
      val upper = column.upper(row)
      val inverted = lower != null && upper != null && lower.compare(upper) > 0
      val bound = if (descending) lower else upper
      if (inverted || (toBeat != null && !beats(bound))) null else bound
    }

  /** Codes alone cannot order two values with the same even code, so the bounds themselves must be compared. */
  private def mayBeat(code: Int): Boolean =
    if (code == codeToBeat) !Dictionary.isExact(code)
    else if (descending) code > codeToBeat
    else code < codeToBeat

  private def beats(bound: ZoneValue): Boolean =
    if (descending) bound.compare(toBeat) > 0 else bound.compare(toBeat) < 0

  private def usable(flags: Int): Boolean =
    (if (descending) BoundsFlags.hasLower(flags) else BoundsFlags.hasUpper(flags)) &&
      (nullsCount || BoundsFlags.nulls(flags) == Presence.None) &&
      (!column.columnType.mayHoldNaN || BoundsFlags.nans(flags) == Presence.None)
}
