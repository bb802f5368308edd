// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import zonemap.ingest.queue.{Delivered, RecordName}
import zonemap.ingest.record.{IngestRecord, ShortText}
import zonemap.ingest.table.{CheckedRecord, Gap, LanePlace, LaneView, Refusal, RefusalCode, RefusedRecord, TableView}

/** What becomes of a refused record and its lane. */
private[ingest] sealed trait RefusalEffect

private[ingest] object RefusalEffect {

  /** The record is quarantined, and the lane passes it. */
  case object Advance extends RefusalEffect

  /** The record is quarantined; it lies beside the chain of its lane. */
  case object Aside extends RefusalEffect

  /** The record stays pending, and so does the rest of the lane. */
  case object Block extends RefusalEffect
}

/** A refused record. */
private[ingest] final case class Refused(delivered: Delivered, refusal: Refusal, effect: RefusalEffect) {
  def record: RefusedRecord =
    RefusedRecord(
      delivered.name.lane,
      delivered.name.seq,
      delivered.name.nonce,
      refusal.code,
      ShortText.of(refusal.message))
}

/**
 * The decisions on the pending records of one lane.
 *
 * @param watermark that of the lane after the commit
 * @param accepted in order of their chain
 * @param gaps the numbers that the lane leaves out
 * @param opened the numbers that become holes
 * @param closed the holes that are filled, or whose record is refused now
 * @param otherBranch the branch to which the next record of the chain belongs
 * @param unconfirmed an unreadable record that a second poll must confirm
 */
private[ingest] final case class LaneDecision(
    watermark: Long,
    accepted: Seq[CheckedRecord] = Nil,
    refused: Seq[Refused] = Nil,
    gaps: Seq[Gap] = Nil,
    opened: Set[Long] = Set.empty,
    closed: Set[Long] = Set.empty,
    held: Option[HeldRecord] = None,
    otherBranch: Option[String] = None,
    unconfirmed: Option[RecordName] = None) {

  /** The lane goes on with the record `seq`, which is accepted or refused. */
  def passing(seq: Long, isReport: Boolean = false): LaneDecision =
    copy(watermark = seq, gaps = if (seq > watermark + 1 && !isReport) gaps :+ Gap(watermark, seq) else gaps)
}

/**
 * Walks the pending records of a lane in order of `seq` and follows the chain of `prevSeq` from the watermark.
 *
 * @param view the branches of the table; each record, and each unreadable one, is handled by the committer of one
 * @param check the record with its data files, or why it is refused or held
 * @param confirmed whether a poll before this one delivered the record too
 * @param blocks whether a refused record ends the walk and stays pending
 * @param isFull whether the batch takes no more records
 */
private[ingest] class LaneWalk(
    branch: String,
    view: TableView,
    check: IngestRecord => RecordVerdict,
    confirmed: RecordName => Boolean,
    blocks: RefusedRecord => Boolean,
    isFull: () => Boolean) {
  import LaneWalk._

  /** @param records those that the states have not settled */
  def walk(lane: LaneView, records: Seq[Delivered]): LaneDecision =
    if (lane.isRetired) refuseRetired(lane, records) else follow(lane, records)

  /** The lane gets no new watermark: a state that lists it again would decide on records that it has forgotten. */
  private def refuseRetired(lane: LaneView, records: Seq[Delivered]): LaneDecision = LaneDecision(
    lane.watermark,
    refused = records.flatMap(behind(_, LanePlace.Retired)),
    otherBranch = records.flatMap(_.content.toOption).map(view.branchOf).find(_ != branch)
  )

  private def follow(lane: LaneView, records: Seq[Delivered]): LaneDecision = {
    val bySeq = records.distinctBy(r => (r.name.seq, r.name.nonce)).groupBy(_.name.seq).toSeq.sortBy(_._1)
    val (passed, pending) = bySeq.span(_._1 <= lane.watermark)
    val elsewhere = passed.flatMap(_._2).flatMap(_.content.toOption).map(view.branchOf).find(_ != branch)
    val start = LaneDecision(lane.watermark, otherBranch = elsewhere)
    val afterPassed = passed.foldLeft(start) { case (decision, (seq, same)) =>
      lane.place(seq) match {
        case LanePlace.Hole => if (isFull()) decision else fill(decision, seq, same)
        case place          => decision.copy(refused = decision.refused ++ same.flatMap(behind(_, place)))
      }
    }
    val lastFollower = followers(pending.map(_._2))
    pending.indices
      .foldLeft((afterPassed, false)) {
        case ((decision, isOver), _) if isOver || isFull() => (decision, true)
        case ((decision, _), i) => step(decision, pending(i)._2, seq => lastFollower.get(seq).exists(_ > i))
      }
      ._1
  }

  /** The refusal of a record whose number its lane has passed without a record; `None` if it is of another branch. */
  private def behind(delivered: Delivered, place: LanePlace): Option[Refused] = {
    val refusal = (place, delivered.content) match {
      case (LanePlace.Retired | LanePlace.PassedHole | LanePlace.Skipped(_) | LanePlace.Forgotten(_), Left(problem)) =>
        Some(Refusal(problem.code, problem.message))
      case (_, Right(record)) if view.branchOf(record) != branch => None
      case (LanePlace.Skipped(Gap(after, before)), _) =>
        val why = s"its lane went on from record $after to record $before and left out this number; $TwoProducers"
        Some(Refusal(RefusalCode.Fork, why))
      case (LanePlace.Retired, _)         => Some(Refusal(RefusalCode.Late, retired))
      case (LanePlace.PassedHole, _)      => Some(Refusal(RefusalCode.Late, PassedHole))
      case (LanePlace.Forgotten(upTo), _) => Some(Refusal(RefusalCode.Late, forgotten(upTo)))
      case _                              => None
    }
    refusal.map(Refused(delivered, _, RefusalEffect.Aside))
  }

  private def forgotten(upTo: Long): String =
    s"its lane has passed its number, and the state no longer lists which numbers up to $upTo the lane has left out and " +
      s"which could not be read: $CommittedOrNot. Two producers may use the lane"

  private def retired: String =
    s"the state has retired its lane, whose name its producer drew too long ago: $CommittedOrNot"

  /** For each `prevSeq`, the place of the last record that has it. */
  private def followers(pending: Seq[Seq[Delivered]]): Map[Long, Int] =
    pending.iterator.zipWithIndex.flatMap { case (same, i) =>
      same.iterator.flatMap(_.content.toOption).map(_.prevSeq -> i)
    }.toMap

  /** The decision with the readable records of a hole: the first one that the table accepts fills it. */
  private def fill(decision: LaneDecision, seq: Long, same: Seq[Delivered]): LaneDecision = {
    val own = same.collect { case d @ Delivered(_, Right(record), _) if view.branchOf(record) == branch => d -> record }
    if (own.isEmpty) decision
    else
      firstAccepted(own) match {
        case Chosen(record) => decision.copy(accepted = decision.accepted :+ record, closed = decision.closed + seq)
        case NoneFits(refusals) =>
          val refused = decision.refused ++ refusals.map(_.copy(effect = RefusalEffect.Aside))
          decision.copy(refused = refused, closed = decision.closed + seq)
        case Waits(held) => decision.copy(held = Some(held))
      }
  }

  /**
   * The decision with the records of one `seq`, and whether the walk ends.
   *
   * @param follows whether a later record has the given `prevSeq`
   */
  private def step(decision: LaneDecision, same: Seq[Delivered], follows: Long => Boolean): (LaneDecision, Boolean) = {
    val readable = same.collect { case d @ Delivered(_, Right(record), _) => d -> record }
    val forks = readable.filter { case (_, record) => isFork(record, decision.watermark) }
    val chain = readable.filter { case (_, record) => record.prevSeq == decision.watermark }
    val forked = decision.copy(refused = decision.refused ++ forks.map { case (d, record) => fork(d, record) })
    if (chain.nonEmpty) extend(forked, chain)
    else if (readable.size > forks.size) {
      val next = readable.find(r => !forks.contains(r)).get._2
      val since = same.map(_.name.appendedAtMillis).min
      (forked.copy(held = Some(HeldRecord(next.lane, next.seq, HoldCause.Missing(next.prevSeq), since))), true)
    } else if (forks.nonEmpty) (forked, false)
    else unreadable(forked, same, follows(forked.watermark))
  }

  protected def isFork(record: IngestRecord, watermark: Long): Boolean = record.prevSeq < watermark

  /** Accepts the first record that the table accepts; if it accepts none, all are refused. */
  private def extend(decision: LaneDecision, chain: Seq[(Delivered, IngestRecord)]): (LaneDecision, Boolean) = {
    val (own, other) = chain.partition { case (_, record) => view.branchOf(record) == branch }
    if (own.isEmpty) (decision.copy(otherBranch = Some(view.branchOf(other.head._2))), true)
    else
      firstAccepted(own) match {
        case Chosen(record) =>
          (decision.passing(record.record.seq).copy(accepted = decision.accepted :+ record), false)
        case NoneFits(refusals) => refuse(decision, refusals)
        case Waits(held)        => (decision.copy(held = Some(held)), true)
      }
  }

  /** The first record that the table accepts, or the refusals of all; a record that waits ends the search. */
  private def firstAccepted(same: Seq[(Delivered, IngestRecord)]): Choice = {
    val ordered = same.sortBy { case (d, _) => (d.name.appendedAtMillis, d.name.nonce) }
    ordered.foldLeft[Choice](NoneFits(Nil)) {
      case (NoneFits(refusals), (d, record)) =>
        check(record) match {
          case RecordVerdict.Accept(checked) => Chosen(checked)
          case RecordVerdict.Refuse(refusal) => NoneFits(refusals :+ Refused(d, refusal, RefusalEffect.Advance))
          case RecordVerdict.Hold(cause) => Waits(HeldRecord(record.lane, record.seq, cause, d.name.appendedAtMillis))
        }
      case (decided, _) => decided
    }
  }

  private def refuse(decision: LaneDecision, refusals: Seq[Refused]): (LaneDecision, Boolean) =
    if (refusals.exists(r => blocks(r.record)))
      (decision.copy(refused = decision.refused ++ refusals.map(_.copy(effect = RefusalEffect.Block))), true)
    else {
      val first = refusals.head.delivered
      (decision.passing(first.name.seq, first.isReport).copy(refused = decision.refused ++ refusals), false)
    }

  private def fork(delivered: Delivered, record: IngestRecord): Refused = Refused(
    delivered,
    Refusal(
      RefusalCode.Fork,
      s"it follows record ${record.prevSeq} of its lane, and the lane has passed that place with another record; " +
        TwoProducers
    ),
    RefusalEffect.Aside
  )

  /**
   * An unreadable record is next in its chain if it is the first one above the watermark and no later record follows
   * the watermark. A poll may miss a record that is appended while it runs, but the next poll does not; the decision
   * therefore needs two polls that agree.
   *
   * Only one branch decides on an unreadable record: the fence of its commits separates the hole from a commit of another
   * record of this number.
   *
   * @param isBeside whether a later record follows the watermark
   */
  private def unreadable(decision: LaneDecision, same: Seq[Delivered], isBeside: Boolean): (LaneDecision, Boolean) = {
    val refusals = same.collect { case d @ Delivered(_, Left(problem), _) =>
      Refused(d, Refusal(problem.code, problem.message), if (isBeside) RefusalEffect.Aside else RefusalEffect.Advance)
    }
    val reader = view.readerOf(same.head.name.lane)
    if (reader != branch) (decision.copy(otherBranch = Some(reader)), true)
    else
      same.map(_.name).find(name => !confirmed(name)) match {
        case Some(name)       => (decision.copy(unconfirmed = Some(name)), true)
        case None if isBeside => (decision.copy(refused = decision.refused ++ refusals), false)
        case None =>
          val (refused, isOver) = refuse(decision, refusals)
          val opened = if (isOver) Nil else same.filterNot(_.isReport).map(_.name.seq)
          (refused.copy(opened = refused.opened ++ opened), isOver)
      }
  }
}

private[ingest] object LaneWalk {
  private val TwoProducers = "two producers use one lane"
  private val CommittedOrNot = "the record is committed already, or it never was. Compare its data files with those " +
    "of the table before you requeue it"

  private val PassedHole =
    "an earlier record of its number could not be read, and a branch that has passed the number " +
      s"since no longer shows whether it has committed another one: $CommittedOrNot"

  /** Which of the records of one `seq` is committed. */
  private sealed trait Choice
  private final case class Chosen(record: CheckedRecord) extends Choice
  private final case class NoneFits(refusals: Seq[Refused]) extends Choice
  private final case class Waits(held: HeldRecord) extends Choice
}
