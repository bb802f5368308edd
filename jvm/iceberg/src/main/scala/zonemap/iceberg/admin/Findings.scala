package zonemap.iceberg.admin

import org.apache.iceberg.Snapshot

import zonemap.iceberg.registry.{Caps, StoreState, TableIndex}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepWork

/**
 * All that `status` has found out about a table, from which its verdict and its problem follow.
 *
 * @param work the work of upkeep that this process has queued for the table
 */
private[admin] final case class Findings(
    snapshot: Option[Snapshot],
    coverage: Coverage,
    index: TableIndex,
    look: StoreLook,
    settings: PlannerSettings,
    caps: Caps,
    work: UpkeepWork,
    nowMillis: Long) {

  /** Why the store could not be used, now or when a query used it last. */
  val readError: Option[String] = look.error.orElse(index.storeState.lastReadError)

  /** Why the index must not be used: shadow mode found a difference, or stored bytes are damaged. */
  def damage: Option[String] =
    index.quarantined
      .map(difference => s"shadow mode found an error, $difference")
      .orElse(readError.flatMap(StoreState.damageOf))

  def writeError: Option[String] = if (look.isStored) None else index.storeState.lastWriteError

  /** The bytes that the index needs, if they are more than the cap allows. */
  def oversizedBytes: Option[Long] =
    if (coverage.isExact) None else index.oversized.map(_.bytes).filter(_ > caps.hotMaxBytes)

  /**
   * Whether the snapshots that the index lacks are younger than upkeep takes from a commit to the store, so that upkeep
   * of this process or of another one may still index them.
   */
  def isWithinPace: Boolean =
    settings.upkeep != UpkeepMode.Off && oversizedBytes.isEmpty && mayBeFollowed &&
      coverage.lackingSinceMillis.exists(since => nowMillis - since <= UpkeepWork.paceMillis(settings))

  /** Another process follows a table only through its store. */
  private def mayBeFollowed: Boolean =
    index.storeState.exists || look.versions.nonEmpty || look.nearest.isDefined
}
