package zonemap.core.value

/** How many rows of a file are null (or NaN), as far as is known. `code` is what the format stores. */
sealed abstract private[zonemap] class Presence(val code: Int)

private[zonemap] object Presence {

  /** Nothing is known: there may be any number. */
  case object Unknown extends Presence(0)

  /** No row. */
  case object None extends Presence(1)

  /** At least one row, and not known to be all. */
  case object Some extends Presence(2)

  /** Every row. */
  case object All extends Presence(3)

  val values: IndexedSeq[Presence] = IndexedSeq(Unknown, None, Some, All)

  /** The presence with this code, 0 to 3. */
  def ofCode(code: Int): Presence = values(code)

  /** From a count of such rows and of all rows; a negative argument means unknown. A count above the rows is no fact. */
  def ofCounts(count: Long, rows: Long): Presence =
    if (count < 0 || (rows >= 0 && count > rows)) Unknown
    else if (count == 0) None
    else if (count == rows) All
    else Some

  /** Of the union of two zones. */
  def merge(left: Presence, right: Presence): Presence =
    if (left == right) left
    else if (left == Unknown || right == Unknown) Unknown
    else Some
}
