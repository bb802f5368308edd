// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.commit

import scala.util.control.NonFatal

import org.apache.iceberg.exceptions.CommitFailedException

import zonemap.ingest.queue.{CommitQueue, Delivered, Poll, PollLimits, RecordName, StuckRecord}
import zonemap.ingest.record.{IngestRecord, Nonce}
import zonemap.ingest.store.IngestFiles
import zonemap.ingest.table._

/** The time, pauses and random names of a pass; a simulation supplies others. */
private[ingest] trait PassEnvironment {
  def nowMillis(): Long

  /** Waits before a commit is sent again. */
  def pause(attempts: Int): Unit
  def nonce(): String = Nonce.draw()
}

/**
 * One pass of a committer over one branch, step by step. The names C2 to C9 are those of docs/design/INGEST.md. A crash
 * between two steps, or within one, loses and doubles nothing: the pointer in the table decides what the next pass
 * does. Holds no state.
 *
 * @param deferred the lanes whose next record could not be committed before, with its `seq`; the poll takes them last
 * @param announce called as soon as a commit is proven to have landed
 */
private[ingest] class CommitPass(
    branch: String,
    catalog: IngestCatalog,
    queue: CommitQueue,
    files: IngestFiles,
    settings: IngestSettings,
    environment: PassEnvironment,
    deferred: Map[String, Long] = Map.empty,
    announce: LandedCommit => Unit = _ => ()) {
  import PassState._

  private val quarantine = new Quarantine(files)

  /** All steps. */
  def run(): Done = {
    var state: PassState = Begin
    while (!state.isInstanceOf[Done]) state = step(state)
    state.asInstanceOf[Done]
  }

  def step(state: PassState): PassState = state match {
    case Begin            => load()
    case Loaded(v, s)     => Polled(v, s, poll(s), Set.empty)
    case polled: Polled   => settle(polled)
    case settled: Settled => plan(settled)
    case planned: Planned => putState(planned)
    case sending: Sending => if (sending.failure.isEmpty) send(sending) else resolve(sending)
    case landed: Landed   => finish(landed)
    case done: Done       => done
  }

  /** C1 to C3: the pause, fresh metadata, the states that its pointers name, and whether the queue is the table's. */
  private def load(): PassState = PauseFile.read(files) match {
    case Some(pause) => Done(PassResult(branch, PassOutcome.Paused(pause.reason), Nil, Nil, 0, more = false))
    case None =>
      try {
        val (view, states) = BranchStates.claim(catalog, branch, files, queue.identity)
        Loaded(view, states)
      } catch {
        case e: IngestStoppedException =>
          Done(PassResult(branch, PassOutcome.Stopped(e.code, e.getMessage), Nil, Nil, 0, more = false))
      }
  }

  private def poll(states: BranchStates) =
    queue.poll(PollLimits(settings.maxRecordsPerCommit, settings.maxBytesPerCommit, deferred, states.hasPassed))

  /** C3: a refused record goes to quarantine before it leaves the queue. */
  private def settle(polled: Polled): PassState = {
    val (unsettled, stuck) = settleAll(polled.states, polled.poll)
    Settled(polled.copy(poll = polled.poll.copy(undeleted = polled.poll.undeleted ++ stuck)), unsettled)
  }

  /**
   * Removes the polled records that the states have settled.
   *
   * @return the refused records that may still be in the queue, and the records that quarantine did not take
   */
  private def settleAll(states: BranchStates, poll: Poll): (Set[RecordName], Seq[StuckRecord]) = {
    val refused = states.quarantined.map(q => (q.lane, q.seq, q.nonce) -> q).toMap
    val (listed, others) = poll.records.partition(d => refused.contains(keyOf(d.name)))
    val (useless, passed) = others.partition(isUseless(states, _))
    val moves = listed.map { d =>
      val entry = refused(keyOf(d.name))
      d.name -> move(d, Refusal(entry.code, entry.message))
    } ++ useless.map(d => d.name -> d.content.left.toOption.flatMap(p => move(d, Refusal(p.code, p.message))))
    val moved = moves.collect { case (name, None) => name }
    val unread = poll.unreadable.map(_.name).filterNot(name => name.seq < 0 || refused.contains(keyOf(name)))
    queue.settle(moved ++ (passed.map(_.name) ++ unread).filter(name => states.isSettled(name.lane, name.seq)))
    val isMoved = moved.map(keyOf).toSet
    val listedKeys = listed.map(d => keyOf(d.name)).toSet
    val cutLanes = poll.unreadable.map(_.name.lane).toSet
    val unsettled = refused.keySet.filter { case key @ (lane, _, _) =>
      !isMoved(key) && (!poll.complete || cutLanes(lane) || listedKeys(key))
    }
    (
      unsettled.map((RecordName(_, _, _, 0L)).tupled),
      moves.collect { case (name, Some(why)) => StuckRecord(name, why) })
  }

  /** Puts a record into quarantine; the reason if the store does not take it. */
  private def move(d: Delivered, refusal: Refusal): Option[String] =
    try {
      quarantine.put(d.name, d.bytes, refusal, environment.nowMillis())
      if (refusal.code == RefusalCode.Discarded) quarantine.unmark(d.name)
      None
    } catch { case NonFatal(e) => Some(s"it cannot be put into quarantine: $e") }

  /** Whether a record is unreadable, and an unreadable record of the same number was refused before. */
  private def isUseless(states: BranchStates, d: Delivered): Boolean =
    d.content.isLeft && states.lane(d.name.lane).place(d.name.seq) == LanePlace.Hole

  private def keyOf(name: RecordName) = (name.lane, name.seq, name.nonce)

  /** C4 to C6: the batch, or the end if nothing is due. */
  private def plan(settled: Settled): PassState = {
    val Polled(view, states, poll, earlier) = settled.polled
    val waiting = waitingOf(settled.polled)
    val decided = planner(view, states).plan(waiting, earlier, poll.unreadable)
    if (decided.isUnconfirmed && earlier.isEmpty)
      settled.polled.copy(poll = this.poll(states), earlier = poll.records.map(_.name).toSet)
    else if (decided.isDue(settings, environment.nowMillis())) Planned(settled.polled, settled.unsettled, decided)
    else done(result(PassOutcome.Idle, decided, settled.polled, waiting.size), decided, settled.polled)
  }

  private def done(result: PassResult, plan: BatchPlan, polled: Polled): Done = {
    val before = if (polled.poll.complete) Map.empty[String, Long] else deferred -- plan.lanes.keys
    Done(result, plan.otherBranches, before ++ plan.waiting)
  }

  /** The delivered records that the states have not settled. */
  private def waitingOf(polled: Polled): Seq[Delivered] = {
    val listed = polled.states.quarantined.map(q => (q.lane, q.seq, q.nonce)).toSet
    polled.poll.records.filterNot { d =>
      listed(keyOf(d.name)) || polled.states.isSettled(d.name.lane, d.name.seq) || isUseless(polled.states, d)
    }
  }

  protected def planner(view: TableView, states: BranchStates): BatchPlanner =
    new BatchPlanner(
      view,
      states,
      settings,
      queue.identity,
      environment.nowMillis(),
      catalog.lengths,
      quarantine.discarded())

  private def result(outcome: PassOutcome, plan: BatchPlan, polled: Polled, pending: Int): PassResult = {
    val hasSettled = waitingOf(polled).size < polled.poll.records.size
    val more = plan.isUnconfirmed || (!polled.poll.complete && hasSettled)
    PassResult(branch, outcome, plan.refused.map(_.record), plan.held, pending, more, polled.poll.undeleted)
  }

  /** C7: the new state becomes durable before a pointer can name it. */
  private def putState(planned: Planned): PassState = {
    val next = nextState(planned)
    if (!files.create(next.pointer.statePath, StateFile.encode(next)))
      throw new IllegalStateException(
        s"Cannot write the state '${files.root}/${next.pointer.statePath}': it exists. Run the pass again.")
    Sending(planned, next, environment.nowMillis(), attempts = 0, failure = None)
  }

  private def nextState(planned: Planned): LaneState = {
    val Polled(view, states, _, _) = planned.polled
    val now = environment.nowMillis()
    val plan = planned.plan
    val kept = states.own.toSeq.flatMap(_.quarantined).filter { q =>
      planned.unsettled.contains(RecordName(q.lane, q.seq, q.nonce, 0))
    }
    val refused = plan.quarantined.map(_.record)
    val totals = states.own.fold(CommittedTotals(0, 0, 0, 0))(_.totals)
    val lanes = states.own.fold(Map.empty[String, Watermark])(_.lanes) ++
      plan.advanced(states, now, mostGaps(planned.polled))
    val retirement = Retirement.of(
      states,
      lanes,
      planned.polled.poll,
      settings.laneRetentionMillis,
      now,
      own => files.createdAtMillis(own.pointer.statePath))
    LaneState(
      IngestPointer(states.own.fold(1L)(_.pointer.no + 1), environment.nonce(), queue.identity, view.tableUuid),
      branch,
      states.pointer,
      view.head(branch),
      retirement.lanes,
      kept ++ refused,
      CommittedTotals(
        totals.commits + 1,
        totals.records + plan.accepted.size,
        totals.files + plan.accepted.map(_.files.size).sum,
        totals.rows + plan.accepted.map(_.record.rows).sum
      ),
      retirement.upTo,
      retirement.times
    )
  }

  /**
   * A lane may leave out numbers often, and a state lists its newest gaps only. A record of an older gap is then
   * refused, and so is a settled record between these gaps: as long as one may be pending, the lane keeps more gaps.
   */
  private def mostGaps(polled: Polled): Int = {
    val poll = polled.poll
    val mayBePending = !poll.complete || poll.unreadable.nonEmpty || poll.undeleted.nonEmpty ||
      poll.records.exists(d => polled.states.isSettled(d.name.lane, d.name.seq))
    if (mayBePending) math.max(settings.gapsKept, CommitPass.GapsKeptWhilePending) else settings.gapsKept
  }

  /** C8: one commit, fenced by the pointer that the pass started from. */
  private def send(sending: Sending): PassState = {
    val Planned(polled, _, plan) = sending.planned
    val commit = PointerCommit(
      branch,
      polled.states.pointer,
      sending.next.pointer,
      plan.accepted,
      polled.view.manifests(branch) >= settings.mergeManifests,
      plan.advancedLanes(polled.states)
    )
    try Landed(sending.copy(attempts = sending.attempts + 1), catalog.commit(commit))
    catch {
      case e: NotSentException => notSent(sending, e)
      case NonFatal(e)         => sending.copy(attempts = sending.attempts + 1, failure = Some(e))
    }
  }

  /** Iceberg refused the batch before it was sent: records that cannot be written to a manifest are refused. */
  private def notSent(sending: Sending, error: NotSentException): PassState = {
    val unwritable = sending.planned.plan.accepted.flatMap(r => catalog.unwritable(r).map(keyOf(r) -> _)).toMap
    if (unwritable.isEmpty) throw error
    val polled = sending.planned.polled
    val planner = new RefusingPlanner(polled.view, polled.states, unwritable)
    val decided = planner.plan(waitingOf(polled), polled.earlier, polled.poll.unreadable)
    if (decided.isDue(settings, environment.nowMillis())) sending.planned.copy(plan = decided)
    else done(result(PassOutcome.Idle, decided, polled, decided.refused.size), decided, polled)
  }

  private def keyOf(record: CheckedRecord) = (record.record.lane, record.record.seq, record.record.nonce)

  /** C8 after a failure: the pointer in the table decides whether the commit landed. */
  protected def resolve(sending: Sending): PassState = {
    val Planned(polled, _, plan) = sending.planned
    val failure = sending.failure.get
    def end(outcome: PassOutcome) = done(result(outcome, plan, polled, polled.poll.records.size), plan, polled)
    val view =
      try Some(catalog.load())
      catch { case NonFatal(_) => None }
    val next = sending.next.pointer.text
    view.map(_.pointer(branch)) match {
      case Some(Some(`next`)) => Landed(sending, view.get.snapshotOf(branch, next).getOrElse(CommitPass.NoSnapshot))
      case Some(pointer) if pointer != polled.states.pointer => end(PassOutcome.Fenced)
      case found =>
        val isConflict = found.isEmpty || isCausedByConflict(failure)
        if (!isConflict || Elapsed.isAtLeast(settings.retryMillis, sending.startedAtMillis, environment.nowMillis()))
          end(
            PassOutcome.Unresolved(s"the commit was sent ${sending.attempts} times, and the last failure is: $failure"))
        else {
          environment.pause(sending.attempts)
          if (found.isEmpty) sending else repeated(sending, view.get)
        }
    }
  }

  /** The same state is sent again; the head of the branch may have moved. */
  private def repeated(sending: Sending, view: TableView): Sending =
    sending.copy(planned = sending.planned.copy(polled = sending.planned.polled.copy(view = view)), failure = None)

  private def isCausedByConflict(failure: Throwable): Boolean =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(10).exists(_.isInstanceOf[CommitFailedException])

  /** C9: the queue is settled by the state that the pointer names now, unless another process has marked the root. */
  private def finish(landed: Landed): PassState = {
    val Sending(Planned(polled, _, plan), next, started, attempts, _) = landed.sending
    if (landed.snapshotId != CommitPass.NoSnapshot)
      announce(LandedCommit(landed.snapshotId, plan.accepted.flatMap(_.files)))
    val states = polled.states.copy(pointer = Some(next.pointer.text), own = Some(next))
    val landedAt = environment.nowMillis()
    val owner = new QueueOwner(files, catalog.entry)
    if (owner.landed(polled.view, branch, next.pointer)) settleAll(states, polled.poll): Unit
    val outcome = PassOutcome.Committed(
      landed.snapshotId,
      plan.accepted.size,
      plan.accepted.map(_.files.size).sum,
      plan.accepted.map(_.record.rows).sum,
      next.pointer.text,
      attempts,
      landedAt - started
    )
    val left = polled.poll.records.count(d => !states.isSettled(d.name.lane, d.name.seq))
    done(result(outcome, plan, polled, left), plan, polled)
  }

  /** A planner that refuses some records in addition. */
  private final class RefusingPlanner(
      view: TableView,
      states: BranchStates,
      unwritable: Map[(String, Long, String), Refusal])
      extends BatchPlanner(
        view,
        states,
        settings,
        queue.identity,
        environment.nowMillis(),
        catalog.lengths,
        quarantine.discarded()) {

    override protected def refusalOf(record: IngestRecord): Option[Refusal] =
      unwritable.get((record.lane, record.seq, record.nonce))
  }
}

private object CommitPass {
  private val GapsKeptWhilePending = 1000

  /** A commit has landed, and its snapshot has already left the metadata. */
  private val NoSnapshot = -1L
}
