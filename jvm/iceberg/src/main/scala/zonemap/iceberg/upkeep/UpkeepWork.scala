// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import zonemap.iceberg.settings.PlannerSettings

/**
 * The work of this process's upkeep on the index of one table.
 *
 * @param indexingSinceMillis since when a snapshot is queued or being indexed; `None` if none is
 * @param writeDueMillis when a snapshot in memory that waits to be written to the store, or is being written, is or was
 *   due; `None` if none is
 * @param failure why the last turn failed; `None` after a turn that succeeded
 */
private[zonemap] final case class UpkeepWork(
    indexingSinceMillis: Option[Long] = None,
    writeDueMillis: Option[Long] = None,
    failure: Option[String] = None) {

  def isIndexing: Boolean = indexingSinceMillis.isDefined

  def isWriting: Boolean = writeDueMillis.isDefined

  /** The work of this moment or of a `later` one, with the later one's failure. */
  def and(later: UpkeepWork): UpkeepWork =
    UpkeepWork(
      (indexingSinceMillis ++ later.indexingSinceMillis).minOption,
      later.writeDueMillis.orElse(writeDueMillis),
      later.failure)
}

private[zonemap] object UpkeepWork {

  /** Work that takes longer may hang. It is longer than the longest pause, and than most tables take to be covered. */
  val MaxMillis = 600000L

  /** The longest time from a commit to its version in the store, if upkeep follows the commits. */
  def paceMillis(settings: PlannerSettings): Long = settings.maintenance.flushIntervalMillis + Pace.MaxPauseMillis
}
