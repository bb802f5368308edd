package zonemap.core.eval

import zonemap.core.segment.{BoundsColumn, BoundsFlags, Dictionary}
import zonemap.core.value.{Presence, ZoneValue}

/**
 * The bounds of one column on one side, asked row by row for those that beat a value that rises meanwhile: lower bounds,
 * of which greater ones are better (`descending`), or upper bounds, of which smaller ones are. A row that does not beat
 * the value costs a comparison of codes and makes no object. Not thread-safe.
 *
 * @param nullsCount whether null rows count as rows within the bound
 */
final private[zonemap] class BestBounds(column: BoundsColumn, descending: Boolean, nullsCount: Boolean) {
  private val codes = if (descending) column.lowerCodes else column.upperCodes
  private var toBeat: ZoneValue = null
  private var codeToBeat = 0

  /** From now on only bounds better than `value` are of interest. The value must be of the column's encoding. */
  def raise(value: ZoneValue): Unit =
    if (!(value eq toBeat)) {
      toBeat = value
      codeToBeat = column.dictionary.code(value)
    }

  /**
   * The bound of a row, if it is better than the value to beat and every row of the file is within it; else null. Bounds
   * that are inverted, and files that hold or may hold NaN, or nulls that do not count, are no answer.
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

  /** Equal even codes leave the order open, so that the bounds themselves have to be compared. */
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
