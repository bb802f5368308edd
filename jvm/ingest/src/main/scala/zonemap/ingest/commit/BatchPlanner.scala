// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.{Delivered, RecordName, StuckRecord}
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table._

/**
 * Decides which of the delivered records form the batch of one commit. One object serves one pass.
 *
 * @param queueId the identity of the queue, which each record must name
 * @param lengths what the store reports of data files, in their order
 * @param discarded the records that a person has discarded
 */
private[ingest] class BatchPlanner(
    view: TableView,
    states: BranchStates,
    settings: IngestSettings,
    queueId: String,
    nowMillis: Long,
    lengths: Seq[String] => Seq[FileLength],
    discarded: => Set[RecordName]) {
  private lazy val marked = discarded.map(name => (name.lane, name.seq, name.nonce))

  /**
   * @param earlier the records that a poll before this one delivered
   * @param unreadable records that the store did not deliver. Their lanes end before them, so each of them is held, also
   *   one that its lane has passed
   */
  def plan(delivered: Seq[Delivered], earlier: Set[RecordName], unreadable: Seq[StuckRecord] = Nil): BatchPlan = {
    val next = unreadable.filter(record => record.name.seq > states.watermark(record.name.lane) || record.name.seq < 0)
    val ends = next.groupMapReduce(_.name.lane)(_.name.seq)(math.min)
    val open = delivered.filterNot(d => ends.get(d.name.lane).exists(_ <= d.name.seq))
    val fitting = open.collect {
      case Delivered(_, Right(record), _) if !states.isSettled(record.lane, record.seq) => keyOf(record) -> fit(record)
    }.toMap
    checked(Map.empty) { batch =>
      val walk = laneWalk(record => fitting(keyOf(record)).fold(RecordVerdict.Refuse, batch.admit), earlier, batch)
      val lanes = open.groupBy(_.name.lane).map { case (lane, all) =>
        lane -> walk.walk(states.lane(lane), all)
      }
      BatchPlan(lanes, unreadable)
    }
  }

  /**
   * Walks until the files of the whole batch are checked: a record that turns out to be refused makes room for others.
   * Files beyond the limits of the commit are never checked.
   */
  @scala.annotation.tailrec
  private def checked(known: Map[String, FileLength])(walk: Batch => BatchPlan): BatchPlan = {
    val batch = new Batch(settings, isChecked, known)
    val plan = walk(batch)
    val missing = batch.unchecked
    if (missing.isEmpty) plan else checked(known ++ missing.zip(lengths(missing)))(walk)
  }

  private def keyOf(record: IngestRecord) = (record.lane, record.seq, record.nonce)

  protected def laneWalk(
      check: IngestRecord => RecordVerdict,
      confirmed: RecordName => Boolean,
      batch: Batch): LaneWalk =
    new LaneWalk(states.branch, view, check, confirmed, blocks, () => batch.isFull)

  private def blocks(refused: RefusedRecord): Boolean =
    settings.blockLane && !isDiscarded(refused.lane, refused.seq, refused.nonce)

  private def isDiscarded(lane: String, seq: Long, nonce: String): Boolean = marked((lane, seq, nonce))

  /** The record with its data files, if it belongs to this table as it is now. */
  private def fit(record: IngestRecord): Either[Refusal, CheckedRecord] =
    if (settings.blockLane && isDiscarded(record.lane, record.seq, record.nonce))
      Left(Refusal(RefusalCode.Discarded, "a person discarded it"))
    else if (record.tableUuid != view.tableUuid)
      Left(
        Refusal(
          RefusalCode.OtherTable,
          s"it is for the table with the UUID ${record.tableUuid}, and this one has ${view.tableUuid}"))
    else if (record.queueId != queueId)
      Left(Refusal(RefusalCode.OtherQueue, s"it is for the queue ${record.queueId}, and this one is $queueId"))
    else if (!view.hasBranch(record.branch))
      Left(Refusal(RefusalCode.UnknownBranch, s"the table has no branch '${record.branch}'"))
    else refusalOf(record).toLeft(()).flatMap(_ => view.check(record))

  /** A reason to refuse a record that the pass knows besides. */
  protected def refusalOf(record: IngestRecord): Option[Refusal] = None

  /** Whether the files of a record may be gone: gc deletes old ones, and anyone those that were in place before. */
  private def isChecked(record: IngestRecord): Boolean =
    record.existing || Elapsed.isAtLeast(settings.checkFilesAfterMillis, record.createdAtMillis, nowMillis)
}
