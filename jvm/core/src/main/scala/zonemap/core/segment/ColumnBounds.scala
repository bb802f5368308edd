package zonemap.core.segment

import zonemap.core.value.{Presence, ZoneValue}

/**
 * What is known of one column in one file. A null bound is absent: unbounded on that side. Bounds are valid (no live
 * value lies outside), not necessarily reached; `tight` says they are the true minimum and maximum of the physical rows.
 * Nulls and NaN lie outside the bounds.
 */
final private[zonemap] case class ColumnBounds(
    lower: ZoneValue,
    upper: ZoneValue,
    tight: Boolean,
    nulls: Presence,
    nans: Presence)

private[zonemap] object ColumnBounds {
  val NothingKnown: ColumnBounds = ColumnBounds(null, null, tight = false, Presence.Unknown, Presence.Unknown)
}
