package zonemap.ingest.table

/**
 * The watermark of a lane: every record of the lane up to `seq` is committed or quarantined.
 *
 * @param atMillis when the committer moved it, for people
 * @param holes the numbers up to `seq` whose only record could not be read. Its producer may not know that it was
 *   appended, and may append the same number again: that record fills the hole, once
 */
private[zonemap] final case class Watermark(seq: Long, atMillis: Long, holes: Set[Long] = Set.empty)

/**
 * What the records that are committed to a branch amount to.
 *
 * @param commits commits of the committer to this branch
 */
private[zonemap] final case class CommittedTotals(commits: Long, records: Long, files: Long, rows: Long)

/**
 * The state of a branch of a table after one commit, as its state file holds it. Immutable.
 *
 * @param prevPointer the text of the pointer before this commit; `None` for the first commit
 * @param baseSnapshotId the head of the branch before this commit, `-1` if it had none
 * @param lanes the watermark of each lane
 * @param quarantined the refused records that may not be in the quarantine folder yet
 */
private[zonemap] final case class LaneState(
    pointer: IngestPointer,
    branch: String,
    prevPointer: Option[String],
    baseSnapshotId: Long,
    lanes: Map[String, Watermark],
    quarantined: Seq[RefusedRecord],
    totals: CommittedTotals)
