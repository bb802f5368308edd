package zonemap.ingest.admin

import java.time.Clock

import zonemap.ingest.commit.{IngestSettings, PassResult}
import zonemap.ingest.queue.Receipt
import zonemap.ingest.table.IngestTarget

/**
 * The state of the ingestion of one table.
 *
 * @param pendingRecords records that are accepted and not settled
 * @param oldestPendingMillis the age of the oldest of them
 * @param quarantined records in the quarantine folder
 * @param lanes lanes with a watermark
 * @param pointer the pointer of `main`, if the table has one
 * @param lastPass the advisory result of the last pass, as the committer wrote it; `None` if it wrote none
 * @param problem why records are not committed, or an alarm; empty if there is none
 */
private[zonemap] final case class IngestStatus(
    table: String,
    root: String,
    queueId: String,
    pendingRecords: Long,
    pendingBytes: Long,
    oldestPendingMillis: Option[Long],
    quarantined: Long,
    lanes: Long,
    pointer: Option[String],
    committedRecords: Long,
    committedFiles: Long,
    committedRows: Long,
    paused: Option[String],
    lastPass: Option[LastPass],
    problem: String)

/** What the last pass of a committer was, from the file `status.json`. */
private[zonemap] final case class LastPass(atMillis: Long, outcome: String, committer: String)

/** Where the record of a receipt is. */
private[zonemap] sealed trait Visibility

private[zonemap] object Visibility {

  /** The rows are in the table. */
  case object Visible extends Visibility

  /** The record is refused, with the code and the message of the reason. */
  final case class Quarantined(code: String, message: String) extends Visibility

  /** The record waits for the committer. */
  case object Pending extends Visibility

  /** Neither the queue nor the state knows the record. */
  case object Unknown extends Visibility
}

/** A record in quarantine. */
private[zonemap] final case class QuarantinedRecord(
    lane: String,
    seq: Long,
    nonce: String,
    code: String,
    message: String,
    atMillis: Long,
    rows: Option[Long],
    files: Option[Int])

/** The work of the procedures that look at and steer the ingestion of one table. */
private[zonemap] final class IngestAdmin(target: IngestTarget, settings: IngestSettings, clock: Clock) {

  def status(): IngestStatus = throw new UnsupportedOperationException(s"$target $settings $clock")

  /** Lets every committer of the table stop before its next pass; writers go on to the limits of the queue. */
  def pause(reason: String): Unit = throw new UnsupportedOperationException(reason)

  /** Ends a pause; returns `false` if there was none. */
  def resume(): Boolean = throw new UnsupportedOperationException("resume")

  /** Where the record of a receipt is now. */
  def visibility(receipt: Receipt): Visibility = throw new UnsupportedOperationException(s"$receipt")

  /** Waits until the record is visible or quarantined, or the time is over. */
  def await(receipt: Receipt, timeoutMillis: Long): Visibility =
    throw new UnsupportedOperationException(s"$receipt $timeoutMillis")

  /** Commits by hand: passes until nothing is left that can be committed. */
  def commit(timeoutMillis: Long): Seq[PassResult] = throw new UnsupportedOperationException(s"$timeoutMillis")

  def quarantined(): Seq[QuarantinedRecord] = throw new UnsupportedOperationException("quarantined")

  /** Appends a quarantined record again, in a lane of its own. Repeating the call changes nothing. */
  def requeue(lane: String, seq: Long): Seq[Receipt] = throw new UnsupportedOperationException(s"$lane $seq")

  /** Deletes a quarantined record; gc deletes its data files later. Returns the records deleted. */
  def discard(lane: String, seq: Long): Seq[QuarantinedRecord] =
    throw new UnsupportedOperationException(s"$lane $seq")

  /**
   * Gives a branch a new pointer, for a table whose pointer or state is lost, and commits it with a snapshot without
   * files. Records at or below the watermark of their lane are dropped, all others are committed.
   *
   * @param watermarks the watermark of each lane, in addition to the known ones and instead of them
   * @param forgetKnown whether the watermarks of the current state are forgotten
   * @return the text of the new pointer
   */
  def reset(branch: String, watermarks: Map[String, Long], forgetKnown: Boolean): String =
    throw new UnsupportedOperationException(s"$branch $watermarks $forgetKnown")
}
