// SPDX-License-Identifier: Apache-2.0
package zonemap.core.rule

import zonemap.core.column.ColumnBounds
import zonemap.core.predicate._
import zonemap.core.value.{ColumnType, Presence, UuidOrder, UuidType}

/** The type and bounds of one column in one zone. */
final private[zonemap] case class ColumnZone(columnType: ColumnType, bounds: ColumnBounds)

/** Looks up the columns of one zone; None for a field that the index knows nothing of. */
private[zonemap] trait ZoneStats {
  def column(fieldId: Int): Option[ColumnZone]
}

/**
 * Evaluates a predicate on one zone: a file, a block or a whole segment. This is the reference: the vectorised
 * [[SegmentEvaluator]] returns the same results. O(leaves), plus a binary search per IN.
 */
private[zonemap] object ZoneMatch {

  def evaluate(predicate: Predicate, stats: ZoneStats): Match = predicate match {
    case True                                         => Match.All
    case False                                        => Match.None
    case Unknown(_) | Evaluated(_, _) | AnyElement(_) => Match.Some
    case And(children)                                => Match.and(children.iterator.map(evaluate(_, stats)))
    case Or(children)                                 => Match.or(children.iterator.map(evaluate(_, stats)))
    case leaf: Leaf => zoneOf(leaf.column, stats).fold[Match](Match.Some)(evaluate(leaf, _))

    case CompareColumns(left, op, right) =>
      val zones = for (l <- zoneOf(left, stats); r <- zoneOf(right, stats)) yield (l, r)
      zones.fold[Match](Match.Some) { case (l, r) => ColumnPair.evaluate(op, l, r) }
  }

  /** The zone of a column; None for a value of a map, because bounds describe whole columns only. */
  private def zoneOf(column: ColumnRef, stats: ZoneStats): Option[ColumnZone] =
    if (column.mapKey.isDefined) None else stats.column(column.fieldId)

  private def evaluate(leaf: Leaf, zone: ColumnZone): Match =
    LeafRule.of(leaf, zone.columnType).fold[Match](Match.Some)(evaluate(_, zone))

  private[core] def evaluate(rule: LeafRule, zone: ColumnZone): Match = {
    val bounds = zone.bounds
    val nans = if (zone.columnType.mayHoldNaN) bounds.nans else Presence.None
    val others =
      if (inverted(zone)) rule.ofValues(null, null, tight = false)
      else rule.ofValues(bounds.lower, bounds.upper, bounds.tight)
    rule.combine(bounds.nulls, nans, others)
  }

  /** Whether the bounds prove nothing: they are inverted, or they are bounds of uuids that are not usable. */
  private[core] def inverted(zone: ColumnZone): Boolean = {
    val lower = zone.bounds.lower
    val upper = zone.bounds.upper
    if (zone.columnType == UuidType) !UuidOrder.usable(lower, upper)
    else lower != null && upper != null && lower.compare(upper) > 0
  }
}
