// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.StuckRecord
import zonemap.ingest.table.RefusedRecord

/** Why a record, which is next in its lane, waits. */
private[zonemap] sealed trait HoldCause {

  /** For people, as the rest of a sentence about the record. */
  def text: String
}

private[zonemap] object HoldCause {

  /** Its predecessor is not committed and not pending. */
  final case class Missing(seq: Long) extends HoldCause {
    override def text: String = s"waits for record $seq, which is not in the queue. Find out which process deletes " +
      "records, then choose the lane's watermark with ingest_reset"
  }

  /** The store does not answer for one of its data files, so that nobody knows whether the file exists. */
  final case class Unchecked(location: String, why: String) extends HoldCause {
    override def text: String =
      s"waits because its data file '$location' cannot be checked: $why. The next pass tries " +
        "again; grant the committer access to the file"
  }

  /** The store does not deliver the record. */
  final case class Unreadable(why: String) extends HoldCause {
    override def text: String = s"waits because $why. The next pass tries again; grant the committer access to it"
  }
}

/** The next record of a lane, which waits while the other lanes go on. */
private[zonemap] final case class HeldRecord(lane: String, seq: Long, cause: HoldCause, appendedAtMillis: Long) {

  /** A sentence without its end; `seq` is -1 if the records of the lane cannot be listed. */
  def text: String = if (seq < 0) s"lane '$lane' ${cause.text}" else s"record $seq of lane '$lane' ${cause.text}"

  /** Whether a person must act: a missing predecessor may still be appended, other causes are failures of the store. */
  def isAlarm(nowMillis: Long, settings: IngestSettings): Boolean = cause match {
    case _: HoldCause.Missing => nowMillis - appendedAtMillis > settings.heldAlarmMillis
    case _                    => true
  }
}

/** What one pass of a committer over one branch of a table did. */
private[zonemap] sealed trait PassOutcome

private[zonemap] object PassOutcome {

  /** Nothing pending could be committed. */
  case object Idle extends PassOutcome

  /** A pause is set; nothing was read or committed. */
  final case class Paused(reason: String) extends PassOutcome

  /**
   * A snapshot was committed.
   *
   * @param attempts commits that were sent to the catalog
   */
  final case class Committed(
      snapshotId: Long,
      records: Int,
      files: Int,
      rows: Long,
      pointer: String,
      attempts: Int,
      millis: Long)
      extends PassOutcome

  /** Another committer moved the pointer; nothing of this pass is in the table, and the next pass starts afresh. */
  case object Fenced extends PassOutcome

  /** The commit could not be proven to have succeeded or failed in the time allowed; the next pass finds out. */
  final case class Unresolved(why: String) extends PassOutcome

  /** The committer refuses to commit until a person decides; the code is public. */
  final case class Stopped(code: String, message: String) extends PassOutcome
}

/**
 * The result of one pass over one branch.
 *
 * @param refused records that are quarantined by this pass or wait to be
 * @param held the next records of lanes that wait
 * @param pending records left in the queue that this pass has seen
 * @param more whether the next pass will decide on records on which this one did not: it will see further ones, or it
 *   will confirm an unreadable one that only the second poll of this pass delivered
 * @param undeleted records that are committed or in quarantine and cannot be deleted from the queue
 */
private[zonemap] final case class PassResult(
    branch: String,
    outcome: PassOutcome,
    refused: Seq[RefusedRecord],
    held: Seq[HeldRecord],
    pending: Int,
    more: Boolean,
    undeleted: Seq[StuckRecord] = Nil) {

  def isCommit: Boolean = outcome.isInstanceOf[PassOutcome.Committed]
}
