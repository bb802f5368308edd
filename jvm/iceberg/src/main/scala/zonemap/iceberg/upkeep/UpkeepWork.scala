package zonemap.iceberg.upkeep

import zonemap.iceberg.settings.PlannerSettings

/**
 * The work on the index of one table that upkeep of this process has queued or is doing.
 *
 * @param isIndexing whether a snapshot is queued or being indexed
 * @param isWriting whether a snapshot in memory is about to be written to the store
 */
private[zonemap] final case class UpkeepWork(isIndexing: Boolean, isWriting: Boolean)

private[zonemap] object UpkeepWork {

  /** The longest time from a commit to its version in the store, if upkeep follows the commits. */
  def paceMillis(settings: PlannerSettings): Long = settings.maintenance.flushIntervalMillis + Pace.MaxPauseMillis
}
