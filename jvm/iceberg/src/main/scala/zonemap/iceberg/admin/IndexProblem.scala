package zonemap.iceberg.admin

import org.apache.iceberg.Snapshot

import zonemap.iceberg.registry.{Caps, TableIndex}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}

/** The text of `status.problem`: why a snapshot is not covered, or why its index is not in the store. */
private[admin] object IndexProblem {

  /** The problems of a snapshot, separated by semicolons; empty if the snapshot is covered and stored. */
  def of(
      snapshot: Option[Snapshot],
      covered: Boolean,
      lag: Long,
      index: TableIndex,
      look: StoreLook,
      settings: PlannerSettings,
      caps: Caps): String = {
    val read = look.error.orElse(index.storeState.lastReadError)
    val write = if (look.isStored) None else index.storeState.lastWriteError
    val uncovered = if (covered) None else Some(notCovered(snapshot, lag, index, caps))
    val unstored = if (look.isStored || !covered) None else Some(notStored(index, settings))
    val errors = read.toSeq ++ write
    val wrong =
      index.quarantined.map(difference => s"the index is quarantined: shadow mode found an error, $difference")
    (wrong.toSeq ++ (if (errors.nonEmpty) errors else uncovered.orElse(unstored).toSeq)).mkString("; ")
  }

  private def notCovered(snapshot: Option[Snapshot], lag: Long, index: TableIndex, caps: Caps): String =
    index.oversized.map(_.bytes).filter(_ > caps.hotMaxBytes) match {
      case _ if snapshot.isEmpty => "the table has no snapshot"
      case Some(needed) =>
        s"the index needs $needed bytes of memory, more than hot.max-bytes=${caps.hotMaxBytes}"
      case None if lag > 0 => s"the index is $lag snapshots behind the table"
      case None            => "the table has no index yet"
    }

  private def notStored(index: TableIndex, settings: PlannerSettings): String = {
    val why = settings.upkeep match {
      case UpkeepMode.Off                              => "upkeep=off writes nothing"
      case UpkeepMode.Memory                           => "upkeep=memory writes nothing"
      case UpkeepMode.Auto if !index.storeState.exists => "upkeep=auto writes only if a build has created a store"
      case UpkeepMode.Auto | UpkeepMode.Persist        => "the next flush writes it"
    }
    s"the index of the snapshot is in memory only: $why"
  }
}
