// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import zonemap.ingest.commit.LastPass

/**
 * The state of the ingestion of one table.
 *
 * @param queue the kind and the place of the queue
 * @param pendingRecords records that are accepted and not settled
 * @param oldestPendingMillis the age of the oldest of them
 * @param quarantined records in the quarantine folder
 * @param lanes lanes with a watermark, over all branches
 * @param pointer the pointer of `main`, if the table has one
 * @param committedRecords records committed to all branches; so are `committedFiles` and `committedRows`
 * @param paused the reason of the pause, if one is set
 * @param lastPass the result of the last pass, as a committer wrote it; `None` if none did
 * @param problem why records are not committed, or an alarm; empty if there is none
 * @param warning why only one process may write to the table, or why its queue may lose records; empty if neither is so
 */
private[zonemap] final case class IngestStatus(
    table: String,
    root: String,
    queue: String,
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
    problem: String,
    warning: String)

/** Where the record of a receipt is. */
private[zonemap] sealed trait Visibility

private[zonemap] object Visibility {

  /** The rows are in the table. */
  case object Visible extends Visibility

  /** The record is refused, with the code and the message of the reason. */
  final case class Quarantined(code: String, message: String) extends Visibility

  /** The rows were in the table, and the snapshot that appended them has left the history of the branch. */
  case object RolledBack extends Visibility

  /** The record waits for the committer. */
  case object Pending extends Visibility

  /** Neither the queue nor the state knows the record. */
  case object Unknown extends Visibility
}

/**
 * A record in quarantine.
 *
 * @param rows those of the record, if it can be read; so is `files`
 */
private[zonemap] final case class QuarantinedRecord(
    lane: String,
    seq: Long,
    nonce: String,
    code: String,
    message: String,
    atMillis: Long,
    rows: Option[Long],
    files: Option[Int])
