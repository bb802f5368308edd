// SPDX-License-Identifier: Apache-2.0
package zonemap.core.column

import zonemap.core.value.Presence

/** The flag byte of a column in a file or zone: bit 0 lower, 1 upper, 2 tight, 3-4 nulls, 5-6 nans, 7 always 0. */
private[core] object BoundsFlags {
  val Lower = 1
  val Upper = 2
  val Tight = 4
  val Values = 128

  private val NullsShift = 3
  private val NansShift = 5

  def encode(lower: Boolean, upper: Boolean, tight: Boolean, nulls: Presence, nans: Presence): Int =
    (if (lower) Lower else 0) | (if (upper) Upper else 0) | (if (tight) Tight else 0) |
      nulls.code << NullsShift | nans.code << NansShift

  def hasLower(flags: Int): Boolean = (flags & Lower) != 0
  def hasUpper(flags: Int): Boolean = (flags & Upper) != 0
  def isTight(flags: Int): Boolean = (flags & Tight) != 0
  def nulls(flags: Int): Presence = Presence.ofCode(flags >> NullsShift & 3)
  def nans(flags: Int): Presence = Presence.ofCode(flags >> NansShift & 3)

  def notTight(flags: Int): Int = flags & ~Tight

  /** Whether the zone may hold a row that is neither null nor NaN. */
  def mayHoldValues(flags: Int): Boolean = nulls(flags) != Presence.All && nans(flags) != Presence.All
}
