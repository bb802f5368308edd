package zonemap.ingest.commit

import zonemap.ingest.table.RefusedRecord

/** A record whose predecessor in its lane is not committed and not pending. */
private[zonemap] final case class HeldRecord(lane: String, seq: Long, missingSeq: Long, appendedAtMillis: Long)

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
 * @param held records that wait for their predecessor
 * @param pending records left in the queue that this pass has seen
 * @param more whether the next pass will see records that this one did not
 */
private[zonemap] final case class PassResult(
    branch: String,
    outcome: PassOutcome,
    refused: Seq[RefusedRecord],
    held: Seq[HeldRecord],
    pending: Int,
    more: Boolean)
