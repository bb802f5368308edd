package zonemap.ingest.commit

import zonemap.ingest.queue.{Delivered, RecordName}
import zonemap.ingest.record.IngestRecord
import zonemap.ingest.table.{CheckedRecord, Refusal, RefusalCode, RefusedRecord}

/** What becomes of a refused record and its lane. */
private[ingest] sealed trait RefusalEffect

private[ingest] object RefusalEffect {

  /** The record is quarantined, and the lane passes it. */
  case object Pass extends RefusalEffect

  /** The record is quarantined; it lies beside the chain of its lane. */
  case object Beside extends RefusalEffect

  /** The record stays pending, and so does the rest of the lane. */
  case object Block extends RefusalEffect
}

/** A refused record. */
private[ingest] final case class Refused(delivered: Delivered, refusal: Refusal, effect: RefusalEffect) {
  def record: RefusedRecord =
    RefusedRecord(delivered.name.lane, delivered.name.seq, delivered.name.nonce, refusal.code, refusal.message)
}

/**
 * The decisions on the pending records of one lane.
 *
 * @param watermark that of the lane after the commit
 * @param accepted in order of their chain
 * @param opened the numbers that become holes
 * @param closed the holes that are filled, or whose record is refused now
 * @param otherBranch the branch to which the next record of the chain belongs
 * @param unconfirmed an unreadable record that a second poll must confirm
 */
private[ingest] final case class LaneDecision(
    watermark: Long,
    accepted: Seq[CheckedRecord] = Nil,
    refused: Seq[Refused] = Nil,
    opened: Set[Long] = Set.empty,
    closed: Set[Long] = Set.empty,
    held: Option[HeldRecord] = None,
    otherBranch: Option[String] = None,
    unconfirmed: Option[RecordName] = None)

/**
 * Walks the pending records of a lane in order of `seq` and follows the chain of `prevSeq` from the watermark.
 *
 * @param branchOf the branch whose committer handles a record
 * @param check the record with its data files, or why it is refused
 * @param confirmed whether a poll before this one delivered the record too
 * @param blocks whether a refused record ends the walk and stays pending
 * @param isFull whether the batch takes no more records
 */
private[ingest] class LaneWalk(
    branch: String,
    branchOf: IngestRecord => String,
    check: IngestRecord => Either[Refusal, CheckedRecord],
    confirmed: RecordName => Boolean,
    blocks: RefusedRecord => Boolean,
    isFull: () => Boolean) {

  /** @param holes the holes of the lane in the state of this branch */
  def walk(watermark: Long, holes: Set[Long], records: Seq[Delivered]): LaneDecision = {
    val bySeq = records.distinctBy(r => (r.name.seq, r.name.nonce)).groupBy(_.name.seq).toSeq.sortBy(_._1)
    val (passed, pending) = bySeq.span(_._1 <= watermark)
    val elsewhere = passed.flatMap(_._2).flatMap(_.content.toOption).map(branchOf).find(_ != branch)
    val filled = passed
      .filter { case (seq, _) => holes(seq) }
      .foldLeft(LaneDecision(watermark, otherBranch = elsewhere)) { case (decision, (seq, same)) =>
        if (isFull()) decision else fill(decision, seq, same)
      }
    pending.indices
      .foldLeft((filled, false)) {
        case ((decision, isOver), _) if isOver || isFull() => (decision, true)
        case ((decision, _), i) => step(decision, pending(i)._2, pending.drop(i + 1).flatMap(_._2))
      }
      ._1
  }

  /** The decision with the readable records of a hole: the first one that the table accepts fills it. */
  private def fill(decision: LaneDecision, seq: Long, same: Seq[Delivered]): LaneDecision = {
    val own = same.collect { case d @ Delivered(_, Right(record), _) if branchOf(record) == branch => d -> record }
    if (own.isEmpty) decision
    else
      (firstAccepted(own) match {
        case Right(record) => decision.copy(accepted = decision.accepted :+ record)
        case Left(refusals) =>
          decision.copy(refused = decision.refused ++ refusals.map(_.copy(effect = RefusalEffect.Beside)))
      }).copy(closed = decision.closed + seq)
  }

  /** The decision with the records of one `seq`, and whether the walk ends. */
  private def step(decision: LaneDecision, same: Seq[Delivered], later: Seq[Delivered]): (LaneDecision, Boolean) = {
    val readable = same.collect { case d @ Delivered(_, Right(record), _) => d -> record }
    val forks = readable.filter { case (_, record) => isFork(record, decision.watermark) }
    val chain = readable.filter { case (_, record) => record.prevSeq == decision.watermark }
    val forked = decision.copy(refused = decision.refused ++ forks.map { case (d, record) => fork(d, record) })
    if (chain.nonEmpty) extend(forked, chain)
    else if (readable.size > forks.size) (hold(forked, readable.find(r => !forks.contains(r)).get._2, same), true)
    else if (forks.nonEmpty) (forked, false)
    else unreadable(forked, same, later)
  }

  protected def isFork(record: IngestRecord, watermark: Long): Boolean = record.prevSeq < watermark

  /** Accepts the first record that the table accepts; if it accepts none, all are refused. */
  private def extend(decision: LaneDecision, chain: Seq[(Delivered, IngestRecord)]): (LaneDecision, Boolean) = {
    val (own, other) = chain.partition { case (_, record) => branchOf(record) == branch }
    if (own.isEmpty) (decision.copy(otherBranch = Some(branchOf(other.head._2))), true)
    else
      firstAccepted(own) match {
        case Right(record) =>
          (decision.copy(watermark = record.record.seq, accepted = decision.accepted :+ record), false)
        case Left(refusals) => refuse(decision, refusals)
      }
  }

  /** The first record that the table accepts, or the refusals of all. */
  private def firstAccepted(same: Seq[(Delivered, IngestRecord)]): Either[Seq[Refused], CheckedRecord] = {
    val ordered = same.sortBy { case (d, _) => (d.name.appendedAtMillis, d.name.nonce) }
    ordered.foldLeft[Either[Seq[Refused], CheckedRecord]](Left(Nil)) {
      case (Left(refusals), (d, record)) => check(record).left.map(refusals :+ Refused(d, _, RefusalEffect.Pass))
      case (accepted, _)                 => accepted
    }
  }

  private def refuse(decision: LaneDecision, refusals: Seq[Refused]): (LaneDecision, Boolean) =
    if (refusals.exists(r => blocks(r.record)))
      (decision.copy(refused = decision.refused ++ refusals.map(_.copy(effect = RefusalEffect.Block))), true)
    else
      (decision.copy(watermark = refusals.head.delivered.name.seq, refused = decision.refused ++ refusals), false)

  private def fork(delivered: Delivered, record: IngestRecord): Refused = Refused(
    delivered,
    Refusal(
      RefusalCode.Fork,
      s"it follows record ${record.prevSeq} of its lane, and the lane has passed that place with another record; two " +
        "producers use one lane"
    ),
    RefusalEffect.Beside
  )

  private def hold(decision: LaneDecision, record: IngestRecord, same: Seq[Delivered]): LaneDecision =
    decision.copy(held =
      Some(HeldRecord(record.lane, record.seq, record.prevSeq, same.map(_.name.appendedAtMillis).min)))

  /**
   * An unreadable record is next in its chain if it is the first one above the watermark and no later record follows
   * the watermark. A poll may miss a record that is appended while it runs, but the next poll does not; the decision
   * therefore needs two polls that agree.
   */
  private def unreadable(
      decision: LaneDecision,
      same: Seq[Delivered],
      later: Seq[Delivered]): (LaneDecision, Boolean) = {
    val isBeside = later.exists(_.content.exists(_.prevSeq == decision.watermark))
    val refusals = same.collect { case d @ Delivered(_, Left(problem), _) =>
      Refused(d, Refusal(problem.code, problem.message), if (isBeside) RefusalEffect.Beside else RefusalEffect.Pass)
    }
    same.map(_.name).find(name => !confirmed(name)) match {
      case Some(name)       => (decision.copy(unconfirmed = Some(name)), true)
      case None if isBeside => (decision.copy(refused = decision.refused ++ refusals), false)
      case None =>
        val (refused, isOver) = refuse(decision, refusals)
        (if (isOver) refused else refused.copy(opened = refused.opened + same.head.name.seq), isOver)
    }
  }
}
