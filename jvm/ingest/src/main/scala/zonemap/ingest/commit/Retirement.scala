// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.Poll
import zonemap.ingest.record.{IngestRecord, LaneName}
import zonemap.ingest.table.{BranchStates, LaneState, StateTime, Watermark}

/**
 * What the next state of a branch has of its drawn lanes.
 *
 * @param lanes the lanes that it lists
 * @param upTo drawn lanes of the branch up to this number that it does not list are retired; `-1` if none is
 * @param times when some of the states before it were written
 */
private[commit] final case class Retirement(lanes: Map[String, Watermark], upTo: Long, times: Seq[StateTime])

/**
 * Decides which drawn lanes a commit forgets. All times are those of the store: when it has written the state files of
 * the branch. They decide when; that no record is committed twice needs none.
 *
 * The commit number `k` loads the pointer `k - 1` before it writes the state `k`, so a name with a number up to `k - 2`
 * was drawn before that file was written. The state that this pass has loaded was written before its poll. If both files
 * are `retention` apart, all such names are at least as old as that at the time of the poll, and their producers, which
 * use a name for a quarter of this time, have ended: the poll names each lane of which a record waits.
 */
private[commit] object Retirement {

  /** The times of the states that a state lists are a part of the retention apart. */
  private val Parts = 24

  /**
   * @param lanes those of the branch, with the records of the commit
   * @param poll the poll of the pass; one that is not complete retires nothing
   * @param createdAt when the state file of a commit was written
   */
  def of(
      states: BranchStates,
      lanes: Map[String, Watermark],
      poll: Poll,
      retention: Long,
      nowMillis: Long,
      createdAt: LaneState => Option[Long]): Retirement = {
    val before =
      Retirement(lanes, states.own.fold(IngestRecord.NoSeq)(_.retired), states.own.fold(Seq.empty[StateTime])(_.times))
    states.own
      .filter(_ => poll.complete && before.times.lastOption.forall(isDue(_, retention, nowMillis)))
      .flatMap(own => createdAt(own).map(StateTime(own.pointer.no, _)))
      .fold(before)(advanced(states, before, poll, retention, _))
  }

  /** The clock of the committer only saves requests to the store. */
  private def isDue(last: StateTime, retention: Long, nowMillis: Long): Boolean =
    Elapsed.isAtLeast(retention / Parts, last.atMillis, nowMillis)

  private def advanced(
      states: BranchStates,
      before: Retirement,
      poll: Poll,
      retention: Long,
      current: StateTime): Retirement = {
    val earlier = before.times.filter(_.atMillis < current.atMillis)
    val isNew = earlier.lastOption.forall(current.atMillis - _.atMillis >= retention / Parts)
    val times = if (isNew) earlier :+ current else earlier
    val (old, young) = times.partition(_.atMillis <= current.atMillis - retention)
    val upTo = old.lastOption.fold(before.upTo)(time => math.max(before.upTo, time.no - 2))
    val named = (poll.records.map(_.name) ++ (poll.unreadable ++ poll.undeleted).map(_.name)).map(_.lane).toSet
    def isOver(lane: String) = LaneName.drawnAt(lane, states.branch).exists(_ <= upTo)
    val waiting = named.filter(lane => isOver(lane) && !before.lanes.contains(lane) && !states.hasRetired(lane))
    Retirement(
      before.lanes.filterNot { case (lane, _) => !named(lane) && (isOver(lane) || states.hasRetired(lane)) } ++
        waiting.map(_ -> Watermark(IngestRecord.NoSeq, current.atMillis)),
      upTo,
      old.takeRight(1) ++ young
    )
  }
}
