// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import java.time.Clock

import zonemap.ingest.record.{IngestRecord, Nonce}
import zonemap.ingest.table._

/** Commits a new pointer whose watermarks a person has chosen. */
private[admin] final class Reset(target: IngestTarget, catalog: IngestCatalog, clock: Clock) {

  private val owner = new QueueOwner(target.files, catalog.entry)

  /** The text of the new pointer; empty if the branch was dropped and has left a pointer behind, which is removed. */
  def run(branch: String, watermarks: Map[String, Long], forgetKnown: Boolean, takeOver: Boolean): String = {
    if (!takeOver) owner.checkEntry()
    val pointer = change(branch, watermarks, forgetKnown)
    owner.takeOver(catalog.load(), branch)
    pointer
  }

  private def change(branch: String, watermarks: Map[String, Long], forgetKnown: Boolean): String = {
    val view = catalog.load()
    if (!view.hasBranch(branch) && view.pointerBranches.contains(branch) && forgetKnown && watermarks.isEmpty) {
      target.table.updateProperties().remove(IngestPointer.property(branch)).commit()
      ""
    } else reset(view, branch, watermarks, forgetKnown)
  }

  private def reset(view: TableView, branch: String, watermarks: Map[String, Long], forgetKnown: Boolean): String = {
    check(view, branch, watermarks)
    val known = if (forgetKnown) None else knownState(view, branch)
    watermarks.keys.find(lane => known.exists(_.hasRetired(lane))).foreach { lane =>
      refuse(
        s"the lane '$lane' is retired, so that none of its records is committed any more. Leave it out; ingest_requeue " +
          "appends its records in quarantine again.")
    }
    val state = stateOf(view, branch, watermarks, known)
    target.files.create(state.pointer.statePath, StateFile.encode(state))
    catalog.commit(
      PointerCommit(branch, view.pointer(branch), state.pointer, Nil, merge = false, lanes = watermarks.size))
    target.queue.adopt()
    state.pointer.text
  }

  private def refuse(why: String) =
    throw new IllegalArgumentException(s"Cannot reset the ingestion of '${target.name}': $why")

  private def check(view: TableView, branch: String, watermarks: Map[String, Long]): Unit = {
    if (!view.hasBranch(branch))
      refuse(
        if (view.pointerBranches.contains(branch))
          s"the branch '$branch' was dropped. With forget_known => true and without watermarks, the pointer that the " +
            "branch has left behind is removed."
        else s"the table has no branch '$branch'. Name a branch of the table.")
    watermarks.find(_._2 < IngestRecord.NoSeq).foreach { case (lane, seq) =>
      refuse(s"the watermark of lane '$lane' is $seq. Name the last seq to skip, or -1 for none.")
    }
  }

  /**
   * The state that the pointer names, also if the pointer names a queue that exists no longer. The states of the other
   * branches do not matter: each branch is reset on its own.
   */
  private def knownState(view: TableView, branch: String): Option[LaneState] =
    try {
      view.pointer(branch) match {
        case Some(text) =>
          Some(BranchStates.stateOf(branch, text, view, target.files, IngestPointer.parse(text).queueId))
        case None => BranchStates.loadOfAny(catalog, branch, target.files, target.queue.identity)._2.own
      }
    } catch {
      case e: IngestStoppedException =>
        throw new IllegalArgumentException(
          s"Cannot reset the ingestion of '${target.name}' with the watermarks that the table has: ${e.code}, they are " +
            "lost. Call ingest_reset with forget_known => true and the last append of each lane in watermarks, or " +
            s"restore the files of '${target.files.root}'.",
          e
        )
    }

  private def stateOf(
      view: TableView,
      branch: String,
      watermarks: Map[String, Long],
      known: Option[LaneState]): LaneState = {
    val now = clock.millis()
    val before = view.pointer(branch).flatMap(text => scala.util.Try(IngestPointer.parse(text)).toOption)
    LaneState(
      IngestPointer(before.fold(1L)(_.no + 1), Nonce.draw(), target.queue.identity, view.tableUuid),
      branch,
      Some(view.pointer(branch).getOrElse("none")),
      view.head(branch),
      known.fold(Map.empty[String, Watermark])(_.lanes) ++
        watermarks.map { case (lane, seq) => lane -> Watermark(seq, now, since = seq) },
      known.fold(Seq.empty[RefusedRecord])(_.quarantined),
      known.fold(CommittedTotals(0, 0, 0, 0))(_.totals),
      known.fold(IngestRecord.NoSeq)(_.retired),
      known.fold(Seq.empty[StateTime])(_.times)
    )
  }
}
