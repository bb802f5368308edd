// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import scala.annotation.tailrec

import zonemap.ingest.queue.{QueueIdentity, RecordName}
import zonemap.ingest.store.IngestFiles

/**
 * The states of all branches, as one branch sees them. Immutable.
 *
 * @param pointer the text of the pointer of the branch
 * @param own the state that it names; `None` before the first commit
 * @param others the states of the other branches
 */
private[zonemap] final case class BranchStates(
    branch: String,
    pointer: Option[String],
    own: Option[LaneState],
    others: Seq[LaneState]) {

  def lane(lane: String): LaneView =
    LaneView(own.flatMap(_.lanes.get(lane)), others.flatMap(_.lanes.get(lane)), hasRetired(lane))

  /** Whether a branch has retired the lane, so that no branch commits a record of it. */
  def hasRetired(lane: String): Boolean = own.exists(_.hasRetired(lane)) || others.exists(_.hasRetired(lane))

  /** The watermark of a lane; `-1` if no branch knows the lane. */
  def watermark(lane: String): Long = this.lane(lane).watermark

  /** Whether a record of this number is committed or quarantined, so that any other one is dropped. */
  def isSettled(lane: String, seq: Long): Boolean = this.lane(lane).place(seq) == LanePlace.Settled

  /** Whether a record of this number can no longer be committed: another one may only fill a hole. */
  def hasPassed(name: RecordName): Boolean = lane(name.lane).place(name.seq) match {
    case LanePlace.Ahead | LanePlace.Hole => false
    case LanePlace.Settled | LanePlace.Retired | LanePlace.PassedHole | _: LanePlace.Skipped | _: LanePlace.Forgotten =>
      true
  }

  /** The refused records of all branches that may not be in the quarantine folder yet. */
  def quarantined: Seq[RefusedRecord] = (own ++ others).flatMap(_.quarantined).toSeq
}

private[zonemap] object BranchStates {

  /**
   * Reads fresh metadata, and the states that its pointers name.
   *
   * If the pointer of the branch seems to be lost, the metadata is read once more, after the state files: another
   * committer may have written a state since the metadata was read. The metadata that is read after a state file has the
   * snapshot on which the state is based, and the pointer to the state if its commit has landed.
   *
   * @param queueId the identity of the queue; a pointer of another queue stops the committer
   * @throws IngestStoppedException if a state is lost, the pointer of the branch may be lost, or the queue belongs to
   *   another catalog entry
   */
  def load(catalog: IngestCatalog, branch: String, files: IngestFiles, queueId: String): (TableView, BranchStates) = {
    val owner = new QueueOwner(files, catalog.entry)
    val found = owner.checked()
    val loaded = loadOfAny(catalog, branch, files, queueId)
    owner.checkHistory(found, loaded._1)
    loaded
  }

  /**
   * As [[load]], and lets the root name the catalog entry and the pointers of the table. Whoever removes records from the
   * queue, or is the first to append one, does this before.
   */
  def claim(catalog: IngestCatalog, branch: String, files: IngestFiles, queueId: String): (TableView, BranchStates) =
    claim(catalog, branch, files, queueId, QueueOwner.Attempts)

  @tailrec
  private def claim(
      catalog: IngestCatalog,
      branch: String,
      files: IngestFiles,
      queueId: String,
      attempts: Int): (TableView, BranchStates) = {
    val owner = new QueueOwner(files, catalog.entry)
    val found = owner.checked()
    val loaded = loadOfAny(catalog, branch, files, queueId)
    owner.checkHistory(found, loaded._1)
    if (owner.advance(found, loaded._1, branch)) loaded
    else if (attempts > 1) claim(catalog, branch, files, queueId, attempts - 1)
    else
      throw owner
        .conflict(loaded._1, branch)
        .getOrElse(new IllegalStateException(s"Cannot read the ingest state of '${files.root}': ${QueueOwner.Busy}"))
  }

  /** As [[load]], also if the queue belongs to another catalog entry. */
  def loadOfAny(
      catalog: IngestCatalog,
      branch: String,
      files: IngestFiles,
      queueId: String): (TableView, BranchStates) = {
    val view = catalog.load()
    try (view, load(view, branch, files, queueId, statesIn(files)))
    catch {
      case e: IngestStoppedException if e.code == StopCode.PointerLost =>
        val known = statesIn(files)
        val again = catalog.load()
        (again, load(again, branch, files, queueId, known))
    }
  }

  private def load(
      view: TableView,
      branch: String,
      files: IngestFiles,
      queueId: String,
      known: => Seq[Either[String, LaneState]]): BranchStates = {
    // A dropped branch keeps its pointer: lanes that it has committed must not be committed again elsewhere.
    val named = (branch +: view.pointerBranches).distinct
      .flatMap(b => view.pointer(b).map(text => b -> stateOf(b, text, view, files, queueId)))
      .toMap
    if (!named.contains(branch)) checkFirst(view, branch, files, queueId, known)
    BranchStates(branch, view.pointer(branch), named.get(branch), (named - branch).values.toSeq)
  }

  /**
   * The state of a branch that a pointer names.
   *
   * @throws IngestStoppedException if the state is lost, or the pointer is one of another queue or table
   */
  def stateOf(branch: String, text: String, view: TableView, files: IngestFiles, queueId: String): LaneState = {
    val pointer = IngestPointer.parse(text)
    def stop(code: String, why: String) = throw new IngestStoppedException(
      code,
      s"Cannot continue the ingestion of branch '$branch' from '$text': $why. Restore the files of '${files.root}', or " +
        s"choose the watermarks with ingest_reset, branch => '$branch' and forget_known => true."
    )
    if (pointer.tableUuid != view.tableUuid) stop(StopCode.OtherTable, s"the table has the UUID ${view.tableUuid}")
    if (pointer.queueId != queueId) stop(StopCode.OtherQueue, s"the queue is $queueId")
    val bytes = files
      .read(pointer.statePath, StateFile.MaxBytes)
      .getOrElse(stop(StopCode.StateLost, s"its state file '${pointer.statePath}' is missing"))
    StateFile.decode(bytes) match {
      case Right(state) if state.pointer == pointer && state.branch == branch => state
      case Right(_)  => stop(StopCode.StateLost, s"its state file '${pointer.statePath}' is that of another state")
      case Left(why) => stop(StopCode.StateLost, s"its state file '${pointer.statePath}' cannot be read: $why")
    }
  }

  /** All state files of the root, or why one of them cannot be read. */
  private def statesIn(files: IngestFiles): Seq[Either[String, LaneState]] =
    files.list(StateFile.Folder).filter(file => StateFile.isState(file.path)).map { file =>
      files.read(file.path, StateFile.MaxBytes).toRight("it vanished").flatMap(StateFile.decode)
    }

  /** A branch without a pointer is new, unless its state files show that it may have had one. */
  private def checkFirst(
      view: TableView,
      branch: String,
      files: IngestFiles,
      queueId: String,
      known: => Seq[Either[String, LaneState]]): Unit = {
    QueueIdentity.read(files).filter(_.id != queueId).foreach { known =>
      throw new IngestStoppedException(
        StopCode.OtherQueue,
        s"Cannot start the ingestion of branch '$branch': the queue is $queueId, and '${files.root}' belongs to the " +
          s"queue ${known.id}. The queue was deleted and created again; choose the watermarks with ingest_reset."
      )
    }
    val isNew = known.forall {
      case Right(state) if state.branch != branch => true
      case Right(state) => state.prevPointer.isEmpty && view.neverLanded(branch, state.baseSnapshotId)
      case Left(_)      => false
    }
    if (!isNew)
      throw new IngestStoppedException(
        StopCode.PointerLost,
        s"Cannot continue the ingestion of branch '$branch': the table has no property " +
          s"'${IngestPointer.property(branch)}' and no snapshot with a pointer, but '${files.root}/${StateFile.Folder}' " +
          "has states. Set the property to the pointer of the newest snapshot of the ingestion, or choose the " +
          "watermarks with ingest_reset and forget_known => true."
      )
  }
}
