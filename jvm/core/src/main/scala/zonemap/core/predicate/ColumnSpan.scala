// SPDX-License-Identifier: Apache-2.0
package zonemap.core.predicate

import zonemap.core.value.ZoneValue

/**
 * What the rows of a file may hold in a column: values from `lower` to `upper`, and beside them null and NaN.
 *
 * @param lower no value lies below it; null if that is not known
 * @param upper no value lies above it; null if that is not known
 * @param hasValues false only if every row is null
 * @param hasNulls false only if no row is null
 * @param hasNaN false only if no row is NaN
 */
final private[zonemap] case class ColumnSpan(
    lower: ZoneValue,
    upper: ZoneValue,
    hasValues: Boolean,
    hasNulls: Boolean,
    hasNaN: Boolean)

private[zonemap] object ColumnSpan {
  val OnlyNull: ColumnSpan = ColumnSpan(null, null, hasValues = false, hasNulls = true, hasNaN = false)

  /** The span of rows that all hold one value. */
  def of(value: ZoneValue): ColumnSpan =
    if (value == null) OnlyNull else ColumnSpan(value, value, hasValues = true, hasNulls = false, hasNaN = false)
}
