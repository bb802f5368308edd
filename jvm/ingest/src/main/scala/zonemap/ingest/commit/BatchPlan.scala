// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.StuckRecord
import zonemap.ingest.table.{BranchStates, CheckedRecord, Watermark}

/**
 * The decisions of one pass on all delivered records. Immutable.
 *
 * @param stuck records that the store did not deliver; the poll left out the records of their lanes behind them
 */
private[ingest] final case class BatchPlan(lanes: Map[String, LaneDecision], stuck: Seq[StuckRecord] = Nil) {
  val accepted: Seq[CheckedRecord] = lanes.values.flatMap(_.accepted).toSeq
  val refused: Seq[Refused] = lanes.values.flatMap(_.refused).toSeq

  /** The refused records that the next commit quarantines. */
  val quarantined: Seq[Refused] = refused.filter(_.effect != RefusalEffect.Block)

  val held: Seq[HeldRecord] = lanes.values.flatMap(_.held).toSeq ++ stuck.map { case StuckRecord(name, why) =>
    HeldRecord(name.lane, name.seq, HoldCause.Unreadable(why), name.appendedAtMillis)
  }
  val otherBranches: Set[String] = lanes.values.flatMap(_.otherBranch).toSet
  val isUnconfirmed: Boolean = lanes.values.exists(_.unconfirmed.nonEmpty)

  /** The lanes whose next record cannot be committed for now, with its `seq`. */
  def waiting: Map[String, Long] =
    (held.map(h => h.lane -> h.seq) ++
      refused.filter(_.effect == RefusalEffect.Block).map(r => r.delivered.name.lane -> r.delivered.name.seq)).toMap

  /**
   * The lanes whose watermark or holes change, with the new ones.
   *
   * @param mostGaps the gaps of earlier commits that a lane keeps, at most
   */
  def advanced(states: BranchStates, nowMillis: Long, mostGaps: Int): Map[String, Watermark] = lanes.collect {
    case (lane, d) if d.watermark > states.watermark(lane) || d.closed.nonEmpty || d.opened.nonEmpty =>
      lane -> states.lane(lane).next(d.watermark, nowMillis, d.closed, d.opened, d.gaps, mostGaps)
  }

  def advancedLanes(states: BranchStates): Int = advanced(states, 0, 0).size

  /** Whether a commit is due: for data, or for refused records that have waited long enough. */
  def isDue(settings: IngestSettings, nowMillis: Long): Boolean =
    accepted.nonEmpty ||
      quarantined.exists(r => nowMillis - r.delivered.name.appendedAtMillis >= settings.quarantineMillis)
}
