// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.table

import zonemap.ingest.record.IngestRecord

/** Where a number lies in its lane. */
private[zonemap] sealed trait LanePlace

private[zonemap] object LanePlace {

  /** Above the watermark. */
  case object Ahead extends LanePlace

  /** A record of the number is committed or quarantined. */
  case object Settled extends LanePlace

  /** The only record of the number could not be read, so another record of the number may be committed. */
  case object Hole extends LanePlace

  /** No record of the number is committed, and the lane has passed it. */
  final case class Skipped(gap: Gap) extends LanePlace

  /** The state no longer knows the lane. A record of it is committed already, or it never will be. */
  case object Retired extends LanePlace

  /**
   * The only record of the number could not be read. A branch has passed the number since, and its state no longer shows
   * whether it has committed another record of it.
   */
  case object PassedHole extends LanePlace

  /** The lane has passed the number. The states no longer list which numbers up to `upTo` have no record that was read. */
  final case class Forgotten(upTo: Long) extends LanePlace
}

/**
 * One lane as the states of all branches show it. Immutable.
 *
 * @param own the watermark in the state of the branch that looks at the lane
 * @param others those in the states of the other branches
 * @param isRetired whether the state of the branch of the lane has retired it
 */
private[zonemap] final case class LaneView(own: Option[Watermark], others: Seq[Watermark], isRetired: Boolean = false) {
  import LanePlace._

  private val all: Seq[Watermark] = if (others.isEmpty) own.toList else own.toSeq ++ others

  /** The greatest watermark; `-1` if no branch knows the lane. */
  val watermark: Long = all.map(_.seq).maxOption.getOrElse(IngestRecord.NoSeq)

  /** The holes of all branches on which no branch has decided. */
  lazy val holes: Set[Long] = all.flatMap(_.holes).toSet.filterNot(isDecided)

  private def isDecided(seq: Long): Boolean = all.exists(_.decides(seq))

  /** A number that another branch has settled remains settled when the branch of the lane has retired it. */
  def place(seq: Long): LanePlace = listed(seq) match {
    case Settled => Settled
    case place   => if (isRetired) Retired else place
  }

  /**
   * A branch that has committed a record of a number has decided on it, whatever another branch lists: that one may have
   * started from states that did not show it yet.
   */
  private def listed(seq: Long): LanePlace =
    if (seq > watermark) Ahead
    else if (isDecided(seq)) Settled
    else if (all.exists(_.holes(seq))) if (all.exists(_.mayHaveDecided(seq))) PassedHole else Hole
    else
      all.iterator.flatMap(_.gaps).find(_.contains(seq)).map(Skipped(_)).getOrElse {
        val forgotten = all.map(_.forgotten).maxOption.getOrElse(IngestRecord.NoSeq)
        if (seq <= forgotten) Forgotten(forgotten) else Settled
      }

  /**
   * The watermark of this branch after a commit.
   *
   * @param closed the holes, of any branch, that the commit closes
   * @param opened the numbers that become holes
   * @param mostGaps the gaps of earlier commits that remain listed, at most
   */
  def next(
      seq: Long,
      atMillis: Long,
      closed: Set[Long],
      opened: Set[Long],
      added: Seq[Gap],
      mostGaps: Int): Watermark = {
    val last = own.getOrElse(Watermark(IngestRecord.NoSeq, atMillis))
    val before = last.withGaps(mostGaps)
    val elsewhere = others.flatMap(_.holes).toSet
    // The branch goes on behind numbers of another one: it keeps what it knows of those up to there.
    val follows = watermark > last.seq
    val (decided, inherited) =
      if (follows) (elsewhere.filter(last.decides), elsewhere.filter(place(_) == Hole)) else (Set.empty, Set.empty)
    val after = before.copy(
      seq = seq,
      atMillis = atMillis,
      holes = (before.holes ++ inherited).filterNot(hole => closed(hole) || others.exists(_.decides(hole))) ++ opened,
      // A state that lists its newest gaps only still knows which records of older numbers are committed.
      filled = (before.filled ++ closed ++ decided).filter(seq => elsewhere(seq) || seq <= before.forgotten),
      gaps = before.gaps ++ added,
      since = if (follows) watermark else before.since
    )
    after.withHoles(Watermark.MostHoles)
  }
}
