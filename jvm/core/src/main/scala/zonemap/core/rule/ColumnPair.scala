// SPDX-License-Identifier: Apache-2.0
package zonemap.core.rule

import zonemap.core.predicate.CompareOp
import zonemap.core.value.{ColumnType, Presence, UuidType}

/** Compares two columns of one zone; docs/design/SOUNDNESS.md, S40 to S42. The result is never `Match.All`. */
private[core] object ColumnPair {

  def evaluate(op: CompareOp, left: ColumnZone, right: ColumnZone): Match =
    if (left.bounds.nulls == Presence.All || right.bounds.nulls == Presence.All) Match.None
    else if (oneOrder(left.columnType, right.columnType) && apart(op, left, right)) Match.None
    else Match.Some

  private def apart(op: CompareOp, left: ColumnZone, right: ColumnZone): Boolean = op match {
    case CompareOp.Lt   => !mayHoldNaN(right) && (allNaN(left) || order(left, right).exists(_ >= 0))
    case CompareOp.LtEq => !mayHoldNaN(right) && (allNaN(left) || order(left, right).exists(_ > 0))
    case _ =>
      val apart = order(left, right).exists(_ > 0) || order(right, left).exists(_ > 0)
      (apart || allNaN(left) || allNaN(right)) && !(mayHoldNaN(left) && mayHoldNaN(right))
  }

  /**
   * Compares the lower bound of `above` with the upper bound of `below`; None if either is missing or inverted, or if
   * all values are NaN.
   */
  private def order(above: ColumnZone, below: ColumnZone): Option[Int] =
    for {
      lower <- Option(above.bounds.lower)
      upper <- Option(below.bounds.upper)
      if bounded(above) && bounded(below)
    } yield lower.compare(upper)

  private def bounded(zone: ColumnZone): Boolean = !allNaN(zone) && !ZoneMatch.inverted(zone)

  private def allNaN(zone: ColumnZone): Boolean = zone.columnType.mayHoldNaN && zone.bounds.nans == Presence.All

  private def mayHoldNaN(zone: ColumnZone): Boolean =
    zone.columnType.mayHoldNaN && zone.bounds.nans != Presence.None

  /**
   * Whether the two types share one encoding and one order of values. Uuids do not qualify, because they have two
   * orders.
   */
  private[core] def oneOrder(left: ColumnType, right: ColumnType): Boolean =
    ColumnType.comparable(left, right) && left.encoding == right.encoding && left != UuidType
}
