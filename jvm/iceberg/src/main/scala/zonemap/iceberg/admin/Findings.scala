// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import org.apache.iceberg.Snapshot

import zonemap.iceberg.registry.{MemoryCaps, StoreState, TableIndex}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.upkeep.UpkeepWork

/**
 * All that `status` has found out about a table, from which its verdict and its problem follow.
 *
 * @param work the work of upkeep of this process on the table
 */
private[admin] final case class Findings(
    snapshot: Option[Snapshot],
    coverage: Coverage,
    index: TableIndex,
    look: StoreLook,
    settings: PlannerSettings,
    caps: MemoryCaps,
    work: UpkeepWork,
    nowMillis: Long) {

  /**
   * Why the store cannot be used now, or why it is damaged: a query may have found damage in a part that `status` does
   * not read.
   */
  val readError: Option[String] =
    look.error.orElse(index.storeState.lastReadError.filter(StoreState.damageOf(_).isDefined))

  /** Why the index must not be used: shadow mode found a difference, or stored bytes are damaged. */
  def damage: Option[String] =
    index.quarantined
      .map(difference => s"shadow mode found an error, $difference")
      .orElse(readError.flatMap(StoreState.damageOf))

  def writeError: Option[String] = if (look.isStored) None else index.storeState.lastWriteError

  /** Why upkeep of this process failed, if the snapshot still lacks an index or a version. */
  def upkeepError: Option[String] =
    work.failure.filter(_ => snapshot.isDefined && !look.isStored && writeError.isEmpty)

  /** The bytes that the index needs, if they are more than the cap allows. */
  def oversizedBytes: Option[Long] =
    if (coverage.isExact) None else index.oversized.map(_.bytes).filter(_ > caps.hotMaxBytes)

  /** For how long upkeep has had work on the table; `None` if it has none. */
  def workMillis: Option[Long] = work.indexingSinceMillis.map(since => math.max(0L, nowMillis - since))

  /** Whether upkeep of this process will index the snapshot soon: it has the work, does not fail and does not hang. */
  def isBeingIndexed: Boolean = upkeepError.isEmpty && workMillis.exists(_ <= UpkeepWork.MaxMillis)

  /** Whether upkeep of this process is about to write the snapshot, which it covers, to the store. */
  def isBeingWritten: Boolean = overdueMillis.exists(_ <= UpkeepWork.MaxMillis) || (writesStore && isBeingIndexed)

  /** For how long a write of upkeep has been due, 0 if it is not due yet; `None` if none waits. */
  def overdueMillis: Option[Long] = work.writeDueMillis.map(due => math.max(0L, nowMillis - due))

  /** Whether upkeep writes the store under the settings of this call. */
  private def writesStore: Boolean =
    settings.upkeep match {
      case UpkeepMode.Persist                 => true
      case UpkeepMode.Auto                    => index.storeState.exists
      case UpkeepMode.Memory | UpkeepMode.Off => false
    }

  /**
   * Whether the snapshots that the index lacks are younger than upkeep takes from a commit to the store, so that upkeep
   * of this process or of another one may still index them. A time in the future, from the clock of another machine,
   * counts as far off as it is.
   */
  def isWithinPace: Boolean =
    settings.upkeep != UpkeepMode.Off && oversizedBytes.isEmpty && upkeepError.isEmpty && mayBeFollowed &&
      coverage.lackingSinceMillis.exists(since => math.abs(nowMillis - since) <= UpkeepWork.paceMillis(settings))

  /** Another process follows a table only through its store. */
  private def mayBeFollowed: Boolean =
    index.storeState.exists || look.versions.nonEmpty || look.nearest.isDefined
}
