// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

/**
 * The state of the index of a table in a word or two, for people and alarms.
 *
 * Texts that end in a colon are followed by the reason; the column `problem` has the reason of all others.
 */
private[admin] object IndexVerdict {

  /** The index covers the current snapshot, and the store has it or is about to be written. */
  val Fresh = "fresh"

  /** The index lacks the newest commits, and upkeep works on them or has had too little time. */
  val CatchingUp = "catching up"

  /** The index lacks commits, and no upkeep is known that will index them, or upkeep fails or hangs. */
  val Behind = "behind"

  /** The index covers no snapshot. */
  val NoIndex = "no index"

  /** The table has no current snapshot. */
  val NoSnapshot = "no snapshot"

  /** The stored index must not be used. */
  val Damaged = "damaged: "

  /** The storage refuses to return the stored index. */
  val Unreadable = "unreadable: "

  /** The index covers the current snapshot in the memory of this process only, and nothing is about to write it. */
  val NotPersisted = "not persisted: "

  /** The status of the table cannot be shown. */
  val Error = "error"

  def of(found: Findings): String = {
    val broken = found.damage.map(Damaged + _).orElse(found.readError.map(Unreadable + _))
    if (found.snapshot.isEmpty) NoSnapshot
    else if (broken.isDefined) broken.get
    else if (found.coverage.isExact) ofCovered(found)
    else if (found.isBeingIndexed) CatchingUp
    else if (found.coverage.newest.isEmpty) NoIndex
    else if (found.isWithinPace) CatchingUp
    else Behind
  }

  private def ofCovered(found: Findings): String =
    if (found.look.isStored) Fresh
    else
      found.writeError match {
        case Some(error)                  => NotPersisted + error
        case None if found.isBeingWritten => Fresh
        case None                         => NotPersisted + IndexProblem.whyUnstored(found)
      }
}
