// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.value.{Presence, ZoneValue}

/**
 * The bounds and presence of nulls and NaN of one column in one file. A null bound is absent. Bounds are valid: no
 * value of a row lies outside them. They need not be values of a row. `tight` means that they were not cut short
 * (SOUNDNESS, S4). Nulls and NaN are not covered by the bounds.
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
