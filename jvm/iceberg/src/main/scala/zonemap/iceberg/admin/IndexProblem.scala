// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import zonemap.iceberg.settings.UpkeepMode

/** The text of `status.problem`: why a snapshot is not covered, or why its index is not in the store. */
private[admin] object IndexProblem {

  /** The problems of a snapshot, separated by semicolons; empty if the snapshot is covered and stored. */
  def of(found: Findings): String = {
    val uncovered = if (found.coverage.isExact) None else Some(notCovered(found))
    val unstored =
      if (found.look.isStored || !found.coverage.isExact) None
      else Some(s"the index of the snapshot is in memory only: ${whyUnstored(found)}")
    val errors = found.readError.toSeq ++ found.writeError ++ found.coverage.error
    val wrong =
      found.index.quarantined.map(difference => s"the index is quarantined: shadow mode found an error, $difference")
    (wrong.toSeq ++ (if (errors.nonEmpty) errors else uncovered.orElse(unstored).toSeq)).mkString("; ")
  }

  /** Why the store lacks an index that memory has. */
  def whyUnstored(found: Findings): String =
    found.settings.upkeep match {
      case _ if found.isBeingWritten => "the next flush writes it"
      case _ if found.overdueMillis.isDefined =>
        s"the write of it has been due for ${found.overdueMillis.get / 1000} s and may hang"
      case UpkeepMode.Off    => "upkeep.mode=off writes nothing"
      case UpkeepMode.Memory => "upkeep.mode=memory writes nothing"
      case UpkeepMode.Auto if !found.index.storeState.exists =>
        "upkeep.mode=auto writes only if a build has created a store"
      case _ => workOf(found).getOrElse("no write of it is queued, and the next refresh_index writes it")
    }

  private def notCovered(found: Findings): String =
    found.oversizedBytes match {
      case _ if found.snapshot.isEmpty => "the table has no snapshot"
      case Some(needed) =>
        s"the index needs $needed bytes of memory, more than hot.maxBytes=${found.caps.hotMaxBytes}"
      case None if found.coverage.lagSnapshots > 0 =>
        s"the index is ${found.coverage.lagSnapshots} snapshots behind the table: ${whyBehind(found)}"
      case None if found.coverage.newest.isDefined =>
        s"the index covers no retained ancestor of the snapshot: ${whyBehind(found)}"
      case None => s"the table has no index yet${workOf(found).fold(", and build_index makes one")(": " + _)}"
    }

  private def whyBehind(found: Findings): String =
    workOf(found).getOrElse {
      if (found.settings.upkeep == UpkeepMode.Off) "upkeep.mode=off follows no commits, and refresh_index indexes them"
      else if (found.isWithinPace) "the commits are younger than upkeep may take"
      else "no upkeep follows the commits, and the next query or refresh_index indexes them"
    }

  /** How the work of upkeep on the snapshot goes; `None` if there is none. */
  private def workOf(found: Findings): Option[String] =
    found.upkeepError
      .map("upkeep failed: " + _)
      .orElse(found.workMillis.map { millis =>
        if (found.isBeingIndexed) "upkeep is at work on it"
        else s"upkeep has been at work for ${millis / 1000} s and may hang"
      })
}
