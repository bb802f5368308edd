package zonemap.ingest.admin

import java.time.Clock

import zonemap.ingest.record.{IngestRecord, Nonce}
import zonemap.ingest.table._

/** Commits a new pointer whose watermarks a person has chosen. */
private[admin] final class Reset(target: IngestTarget, catalog: IngestCatalog, clock: Clock) {

  def run(branch: String, watermarks: Map[String, Long], forgetKnown: Boolean): String = {
    val view = catalog.load()
    check(view, branch, watermarks)
    val known = if (forgetKnown) None else knownState(view, branch)
    val state = stateOf(view, branch, watermarks, known)
    target.files.create(state.pointer.statePath, StateFile.encode(state))
    catalog.commit(
      PointerCommit(branch, view.pointer(branch), state.pointer, Nil, merge = false, lanes = watermarks.size))
    target.queue.adopt()
    state.pointer.text
  }

  private def check(view: TableView, branch: String, watermarks: Map[String, Long]): Unit = {
    def refuse(why: String) =
      throw new IllegalArgumentException(s"Cannot reset the ingestion of '${target.name}': $why")
    if (!view.hasBranch(branch)) refuse(s"the table has no branch '$branch'. Name a branch of the table.")
    watermarks.find(_._2 < IngestRecord.NoSeq).foreach { case (lane, seq) =>
      refuse(s"the watermark of lane '$lane' is $seq. Name the last seq to skip, or -1 for none.")
    }
  }

  /** The state that the pointer names, also if the pointer names a queue that exists no longer. */
  private def knownState(view: TableView, branch: String): Option[LaneState] =
    try {
      val queueId = view.pointer(branch).fold(target.queue.identity)(IngestPointer.parse(_).queueId)
      BranchStates.load(catalog, branch, target.files, queueId)._2.own
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
        watermarks.map { case (lane, seq) => lane -> Watermark(seq, now) },
      known.fold(Seq.empty[RefusedRecord])(_.quarantined),
      known.fold(CommittedTotals(0, 0, 0, 0))(_.totals)
    )
  }
}
