// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import zonemap.ingest.record.{IngestRecord, LaneName}

/**
 * The numbers between two records that follow each other in their lane. The lane has left them out, so no record of
 * these numbers is committed.
 *
 * @param after the number of the earlier record, or -1
 * @param before the number of the later record
 */
private[zonemap] final case class Gap(after: Long, before: Long) {
  def contains(seq: Long): Boolean = after < seq && seq < before
}

/**
 * The watermark of a lane in one branch: every record of the lane up to `seq` is committed or quarantined.
 *
 * @param seq -1 for a lane of which a record waits, and none is settled
 * @param atMillis when the committer moved it, for people
 * @param holes the numbers up to `seq` whose only record could not be read, the greatest ones. Its producer may not know
 *   that it was appended, and may append the same number again: that record fills the hole, once
 * @param filled the holes in the states of other branches that records of this branch have filled
 * @param gaps the numbers that the lane has left out, the newest gaps in order of their numbers
 * @param forgotten the last number of the gaps and holes that the state no longer lists, `-1` if it lists all
 * @param since the commits of this branch have decided on all numbers between `since` and `seq`; those up to `since` may
 *   be of other branches. `-1` for a lane of one branch
 */
private[zonemap] final case class Watermark(
    seq: Long,
    atMillis: Long,
    holes: Set[Long] = Set.empty,
    filled: Set[Long] = Set.empty,
    gaps: Seq[Gap] = Nil,
    forgotten: Long = IngestRecord.NoSeq,
    since: Long = IngestRecord.NoSeq) {

  /** Whether a commit of this branch has committed or quarantined a record of the number. */
  def decides(number: Long): Boolean = filled(number) ||
    (number > math.max(since, forgotten) && number <= seq && !holes(number) && !gaps.exists(_.contains(number)))

  /** Whether a commit of this branch may have done so, and the state no longer shows it. */
  def mayHaveDecided(number: Long): Boolean =
    number <= math.min(seq, math.max(since, forgotten)) && !holes(number)

  /** The same without the oldest gaps, so that at most `most` are left. */
  def withGaps(most: Int): Watermark = {
    val (old, kept) = gaps.splitAt(gaps.size - most)
    copy(gaps = kept, forgotten = old.lastOption.fold(forgotten)(gap => math.max(forgotten, gap.before - 1)))
  }

  /** The same without the smallest holes, so that at most `most` are left. A repeat of such a number is refused. */
  def withHoles(most: Int): Watermark =
    if (holes.size <= most) this
    else {
      val (old, kept) = holes.toSeq.sorted.splitAt(holes.size - most)
      copy(holes = kept.toSet, forgotten = math.max(forgotten, old.last))
    }
}

private[zonemap] object Watermark {

  /** A producer repeats its newest number only, so that more holes come from a producer whose records are all damaged. */
  val MostHoles = 1000
}

/**
 * What the records that are committed to a branch amount to.
 *
 * @param commits commits of the committer to this branch
 */
private[zonemap] final case class CommittedTotals(commits: Long, records: Long, files: Long, rows: Long)

/** When the state file of a commit was written, by the clock of the store. */
private[zonemap] final case class StateTime(no: Long, atMillis: Long)

/**
 * The state of a branch of a table after one commit, as its state file holds it. Immutable.
 *
 * @param prevPointer the text of the pointer before this commit; `None` for the first commit
 * @param baseSnapshotId the head of the branch before this commit, `-1` if it had none
 * @param lanes the watermark of each lane
 * @param quarantined the refused records that may not be in the quarantine folder yet
 * @param retired drawn lanes of the branch up to this number that are not listed are retired; `-1` if none is. It never
 *   decreases
 * @param times when some of the states before this one were written, in order of their numbers
 */
private[zonemap] final case class LaneState(
    pointer: IngestPointer,
    branch: String,
    prevPointer: Option[String],
    baseSnapshotId: Long,
    lanes: Map[String, Watermark],
    quarantined: Seq[RefusedRecord],
    totals: CommittedTotals,
    retired: Long = IngestRecord.NoSeq,
    times: Seq[StateTime] = Nil) {

  /** Whether the state has forgotten the lane, or would have: none of its records is committed any more. */
  def hasRetired(lane: String): Boolean =
    retired >= 0 && !lanes.contains(lane) && LaneName.drawnAt(lane, branch).exists(_ <= retired)
}
