// SPDX-License-Identifier: Apache-2.0
package zonemap.core.value

/** The proven number of null (or NaN) rows of a file: none, some, all or unknown. The format stores `code`. */
sealed abstract private[zonemap] class Presence(val code: Int)

private[zonemap] object Presence {

  /** Unknown: any number of rows is possible. */
  case object Unknown extends Presence(0)

  /** No row. */
  case object None extends Presence(1)

  /** At least one row, possibly all rows. */
  case object Some extends Presence(2)

  /** Every row. */
  case object All extends Presence(3)

  val values: IndexedSeq[Presence] = IndexedSeq(Unknown, None, Some, All)

  /** Returns the presence with this code, 0 to 3. */
  def ofCode(code: Int): Presence = values(code)

  /** Returns the presence for a count of such rows and of all rows; negative or contradictory counts are unknown. */
  def ofCounts(count: Long, rows: Long): Presence =
    if (count < 0 || (rows >= 0 && count > rows)) Unknown
    else if (count == 0) None
    else if (count == rows) All
    else Some

  /** Returns the presence for the union of two zones. */
  def merge(left: Presence, right: Presence): Presence =
    if (left == right) left
    else if (left == Unknown || right == Unknown) Unknown
    else Some
}
