// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.sim

import java.io.IOException

import scala.collection.mutable

import zonemap.ingest.commit._
import zonemap.ingest.gc.FileGc
import zonemap.ingest.queue.{Delivered, RecordName, SpoolQueue}
import zonemap.ingest.record.{Digits, IngestRecord, QueuedFile, RecordCodec, UnreadableRecordException}
import zonemap.ingest.store.StoredIngestFile
import zonemap.ingest.table._
import zonemap.ingest.write.LaneTail

/** What a simulation shares: the table, the queue, and what the producers know. */
class SimTable(val world: SimWorld) {
  val uuid = "00000000-0000-0000-0000-000000000001"
  val files = new SimFiles(world)
  val data = new SimData(world)
  val catalog = new SimCatalog(world, data, uuid)

  /** The catalog of a copy of the table, if somebody makes one. */
  var copy: Option[SimCatalog] = None

  /** The files of the table and of its copy, which no gc and no orphan removal of this world deletes. */
  def live: Set[String] = copy.fold(catalog.live)(_.live ++ catalog.live)
  val queue: SpoolQueue = opened()

  /** The queue as another process opens it, which remembers nothing. */
  def opened(): SpoolQueue = world.quietly(SpoolQueue.open(files, world.trueMillis))

  /** The (lane, seq) whose append returned. */
  val accepted: mutable.LinkedHashSet[(String, Long)] = mutable.LinkedHashSet.empty

  /** When each drawn lane was drawn, by the true time. */
  val drawnAt: mutable.HashMap[String, Long] = mutable.HashMap.empty

  /** The accepted (lane, seq) whose append landed two hours after the lane was drawn: a committer may refuse them. */
  val hung: mutable.HashSet[(String, Long)] = mutable.HashSet.empty

  /** Whether the polls of committers leave out no record. */
  var pollsAll = false

  /** Whether a branch was dropped. */
  var dropped = false

  /** The (lane, seq) of a record that a person has appended again, and those of its copy. */
  val requeued: mutable.HashMap[(String, Long), (String, Long)] = mutable.HashMap.empty

  def accept(lane: String, seq: Long): Unit = {
    world.trace(s"accepted $lane-$seq")
    if (accepted.add((lane, seq)) && drawnAt.get(lane).exists(world.trueMillis - _ >= 2 * SimWorld.Hour))
      hung += ((lane, seq)): Unit
  }

  /** The (lane, seq) whose record or files were damaged: each may be committed or refused. */
  val damaged: mutable.HashSet[(String, Long)] = mutable.HashSet.empty

  /** The lanes that two producers use at the same time: some of their records are refused, or wait for a person. */
  val shared: mutable.HashSet[String] = mutable.HashSet.empty

  /** Whether the producer makes a record for another table, which must be refused; a person may append it to this one. */
  def isWrong(lane: String, seq: Long): Boolean =
    !lane.startsWith("requeue-") && math.abs((lane, seq, world.seed).hashCode) % 25 == 0
  private var nonces = 0L

  def nonce(): String = {
    nonces += 1
    Digits.hex8(world.rng.int(Int.MaxValue).toLong) + Digits.hex8(nonces)
  }
}

/**
 * What the next steps of a producer depend on. Immutable.
 *
 * @param last the greatest number that is durable; `None` until the lane is open
 * @param least the least number of the next record
 * @param written the record whose files are written, and since when
 */
final case class WriterState(
    last: Option[Long] = None,
    opens: Int = 0,
    appends: Int = 0,
    least: Long = 0,
    written: Option[(IngestRecord, Long)] = None)

/**
 * A producer of one lane: writes files, appends a record, and repeats the append after an error.
 *
 * @param first whether it is the first of the producers of its lane
 * @param skips whether it leaves out many numbers when it opens its lane, as in a store without locks
 */
final class SimWriter(
    table: SimTable,
    lane: String,
    records: Int,
    skips: Boolean = false,
    first: Boolean = true,
    branch: String = IngestRecord.MainBranch)
    extends Actor {
  private val world = table.world
  private var state = WriterState()
  private val clock = new SimClock(world, if (world.faults) SimWriter.MostSkewHours else 0)

  override def crash(): Unit = state = state.copy(last = None, written = None)

  def saved: WriterState = state
  def restore(saved: WriterState): Unit = state = saved

  /** Whether all records are appended. */
  def isDone: Boolean = state.written.isEmpty && state.last.exists(!hasMore(_))

  /** Whether the next step writes data files that nothing else knows yet. */
  def isNextLocal: Boolean = state.written.isEmpty && state.last.exists(hasMore)

  override def step(): Unit =
    try
      (state.last, state.written) match {
        case (None, _) => open()
        case (Some(seq), None) if hasMore(seq) =>
          val record = write(math.max(state.least, seq + 1), seq)
          state = state.copy(written = Some(record -> clock.millis()))
        case (Some(_), Some((record, startedAtMillis))) => append(record, startedAtMillis)
        case _                                          => ()
      }
    catch {
      case _: IOException                                        => ()
      case e: IngestStoppedException if SimCopies.isStop(e.code) => ()
    }

  private def hasMore(seq: Long): Boolean = if (skips) state.appends < records else seq < records - 1

  private def open(): Unit = {
    val last = lastOf()
    val opens = state.opens + 1
    val skipped = last + 2 + math.abs((lane, first, opens, world.seed).hashCode) % 1000000
    state = state.copy(last = Some(last), opens = opens, least = if (skips) skipped else state.least)
  }

  private def lastOf(): Long = {
    val pending = table.queue.pendingOf(lane).map(_.withoutFiles).toVector
    val (_, states) = BranchStates.load(table.catalog, branch, table.files, table.queue.identity)
    LaneTail.of(states.watermark(lane), states.lane(lane).holes, pending).last
  }

  private def write(seq: Long, prevSeq: Long): IngestRecord = {
    val rows = 1 + math.abs((lane, seq).hashCode) % 3
    val attempt = table.nonce()
    val paths = (0 until rows).map(i => s"sim:/data/$lane-$seq-$i-$attempt")
    paths.foreach { path =>
      table.data.write(path, SimCatalog.FileLength)
      world.interrupt()
    }
    val files = paths.map(path => QueuedFile(0, s"""{"file-path":"$path"}"""))
    val uuid = if (table.isWrong(lane, seq)) "another-table" else table.uuid
    IngestRecord(
      table.queue.identity,
      uuid,
      branch,
      lane,
      seq,
      prevSeq,
      table.nonce(),
      "sim",
      clock.millis(),
      0,
      -1,
      2,
      rows.toLong,
      rows * SimCatalog.FileLength,
      files
    )
  }

  /** Files that are too old are written again, because gc may have deleted them. */
  private def append(record: IngestRecord, startedAtMillis: Long): Unit =
    if (clock.millis() - startedAtMillis > 36 * SimWorld.Hour) state = state.copy(written = None)
    else {
      table.queue.append(record.copy(nonce = table.nonce(), createdAtMillis = clock.millis()))
      table.accept(lane, record.seq)
      state = state.copy(last = Some(record.seq), written = None, appends = state.appends + 1)
    }
}

object SimWriter {

  /**
   * The clocks of writers differ from the true time by this, at most. A step over the whole range adds twice as much to
   * the 36 hours after which a writer refuses its own files; gc, whose clock may be 12 hours fast, waits for 72.
   */
  val MostSkewHours = 6
}

/**
 * A committer: the product's pass, one step at a time.
 *
 * @param chosen its settings, which are random ones otherwise
 * @param catalog that of the table or of its copy; `None`: that of the table. A committer that is given one may stop
 */
final class SimCommitter(table: SimTable, chosen: Option[IngestSettings] = None, catalog: Option[SimCatalog] = None)
    extends Actor {
  private val world = table.world
  private var state: PassState = PassState.Begin
  private val clock = new SimClock(world, if (chosen.isEmpty) SimCommitter.MostSkewHours else 0)

  /** Records of a shared lane may be held. This committer defers no lanes, so its polls need room for them. */
  private def heldRecords: Int = if (table.shared.isEmpty && !table.pollsAll) 0 else 100
  private val settings = chosen.getOrElse(
    IngestSettings(
      maxRecordsPerCommit = 1 + world.rng.int(6) + heldRecords,
      maxFilesPerCommit = 1 + world.rng.int(8),
      quarantineMillis = 60000,
      checkFilesAfterMillis = if (world.has(Guard.HeadCheck)) 600000 else Long.MaxValue,
      gapsKept = 1 + (world.seed % 7).toInt
    ))
  private val environment = new PassEnvironment {
    override def nowMillis(): Long = clock.millis()
    override def pause(attempts: Int): Unit = ()
    override def nonce(): String = table.nonce()
  }
  private var queue = table.opened()
  private var pass = started(IngestRecord.MainBranch)

  private def started(branch: String) =
    new SimPass(branch, table, catalog.getOrElse(table.catalog), queue, settings, environment)

  /** Whether the queue belongs to another table. */
  var isStopped = false

  override def crash(): Unit = restore(PassState.Begin)

  def isIdle: Boolean = state == PassState.Begin

  def saved: PassState = state

  /** Continues from a state in a new process, whose queue remembers nothing. */
  def restore(saved: PassState): Unit = {
    state = saved
    queue = table.opened()
    pass = started(IngestRecord.MainBranch)
  }

  /** A failure ends the pass, as it does in a loop; the next one starts afresh. */
  override def step(): Unit =
    try {
      state = pass.step(state)
      state match {
        case PassState.Done(result, others, _) =>
          pass = started((others - result.branch).headOption.getOrElse(IngestRecord.MainBranch))
          result.outcome match {
            case PassOutcome.Stopped(code, _) if catalog.isDefined && SimCopies.isStop(code) =>
              isStopped = true
              state = PassState.Begin
            case PassOutcome.Stopped(_, message) => throw new AssertionError(message)
            case _                               => state = PassState.Begin
          }
        case _ => ()
      }
    } catch {
      case _: IOException =>
        state = PassState.Begin
        pass = started(IngestRecord.MainBranch)
    }

  /**
   * Passes without faults until one is idle. Only a refused record waits for a time, `quarantineMillis` by clocks that
   * differ, so the time goes on once. Each pass but the last one commits or removes records, or takes the second poll
   * that confirms one.
   */
  def drain(): Unit = {
    state = PassState.Begin
    world.trueMillis += SimCommitter.MostSkewHours * SimWorld.Hour + settings.quarantineMillis
    pass = started(IngestRecord.MainBranch)
    val most = 3 * (table.queue.names().size + 1)
    val results = Iterator.fill(most) {
      val main = pass.run()
      main.result +: (main.otherBranches - IngestRecord.MainBranch).toSeq.map(started(_).run().result)
    }
    assert(
      results.exists(_.forall(result => result.outcome == PassOutcome.Idle && !result.more)),
      s"the committer does not come to rest in $most passes")
  }
}

object SimCommitter {

  /** Clocks of committers differ from that of the store by this time, at most. */
  val MostSkewHours = 12
}

/** The product's pass, with some guards taken out. */
final class SimPass(
    branch: String,
    table: SimTable,
    catalog: SimCatalog,
    queue: SpoolQueue,
    settings: IngestSettings,
    environment: PassEnvironment)
    extends CommitPass(branch, catalog, queue, table.files, settings, environment) {
  private val world = table.world

  override protected def planner(view: TableView, states: BranchStates): BatchPlanner =
    new BatchPlanner(
      view,
      states,
      settings,
      queue.identity,
      environment.nowMillis(),
      table.catalog.lengths,
      Set.empty) {
      override protected def laneWalk(
          check: IngestRecord => RecordVerdict,
          confirmed: RecordName => Boolean,
          batch: Batch): LaneWalk = new LaneWalk(
        states.branch,
        view,
        check,
        if (world.has(Guard.SecondPoll)) confirmed else _ => true,
        _ => false,
        () => batch.isFull) {
        override def walk(lane: LaneView, records: Seq[Delivered]): LaneDecision =
          if (world.has(Guard.PrevSeq)) super.walk(lane, records) else super.walk(lane, relinked(records))

        /** Each record as if it followed the delivered one before it. */
        private def relinked(records: Seq[Delivered]): Seq[Delivered] = {
          val seqs = watermarkOf(records) +: records.map(_.name.seq).distinct.sorted
          records.map(d =>
            d.copy(content = d.content.map(r => r.copy(prevSeq = seqs.filter(_ < r.seq).maxOption.getOrElse(-1L)))))
        }

        private def watermarkOf(records: Seq[Delivered]): Long =
          records.headOption.fold(-1L)(d => states.watermark(d.name.lane))
      }
    }

  override def step(state: PassState): PassState = state match {
    case sending: PassState.Sending if !world.has(Guard.SettleAfterProof) =>
      queue.settle(sending.planned.plan.accepted.map(r => RecordName(r.record.lane, r.record.seq, r.record.nonce, 0)))
      super.step(state)
    case _ =>
      super.step(state) match {
        case PassState.Loaded(view, states) if !world.has(Guard.Gaps)    => PassState.Loaded(view, withoutGaps(states))
        case PassState.Loaded(view, states) if !world.has(Guard.Retired) => PassState.Loaded(view, unaware(states))
        case next                                                        => next
      }
  }

  private def unaware(states: BranchStates): BranchStates =
    states.copy(
      own = states.own.map(_.copy(retired = IngestRecord.NoSeq)),
      others = states.others.map(_.copy(retired = IngestRecord.NoSeq)))

  private def withoutGaps(states: BranchStates): BranchStates = states.copy(own = states.own.map { state =>
    state.copy(lanes = state.lanes.view.mapValues(_.copy(gaps = Nil)).toMap)
  })

  override protected def resolve(sending: PassState.Sending): PassState = {
    if (!world.has(Guard.NoCleanUp)) sending.planned.plan.accepted.flatMap(_.files).foreach { file =>
      table.data.delete(file.location())
    }
    super.resolve(sending)
  }
}

/** Everything around producers and committers: other writers, late requests, gc, damage. */
final class SimSurroundings(table: SimTable) extends Actor {
  private val world = table.world
  private val MinAge = 72 * SimWorld.Hour

  /** A person discards an unreadable record after a week, when no committer of that time runs any more. */
  private val DiscardAge = 168 * SimWorld.Hour

  override def crash(): Unit = ()

  override def step(): Unit =
    try
      world.rng.int(6) match {
        case 0 => table.catalog.foreignCommit()
        case 1 => table.catalog.landLate()
        case 2 => gc()
        case 3 => if (world.rng.int(4) == 0) world.quietly(removeOrphans())
        case 4 => if (world.rng.int(6) == 0) damage()
        case _ => ()
      }
    catch { case _: IOException => () }

  private def gc(): Unit = {
    val nowMillis = world.trueMillis + (world.rng.int(25) - 12) * SimWorld.Hour
    if (mayDelete(nowMillis)) gc(nowMillis)
  }

  /** Whether a file is old enough and not in the table. Gc deletes no other file, because files stay in the table. */
  private def mayDelete(nowMillis: Long): Boolean = {
    val live = table.live
    table.data.exists((path, writtenAt) => nowMillis - writtenAt > MinAge && !live(path))
  }

  private def gc(nowMillis: Long): Unit = {
    val gc = new FileGc(() => queued(), () => reachable(), () => candidates()) {
      override protected def read(): (Set[String], Set[String]) =
        if (world.has(Guard.GcOrder)) super.read()
        else {
          val inTable = reachable()
          world.interrupt()
          (queued(), inTable)
        }
    }
    val garbage =
      try gc.garbage(MinAge, nowMillis)
      catch { case _: UnreadableRecordException => Nil }
    garbage.foreach { file =>
      world.trace(s"gc deletes ${file.path}")
      world.interrupt()
      table.data.delete(file.path)
    }
  }

  /** As the product does, gc waits until a person has discarded each unreadable record in quarantine. */
  private def queued(): Set[String] = {
    val quarantine = new Quarantine(table.files)
    table.queue.pendingFiles().toSet ++ quarantine.names().flatMap { name =>
      quarantine.read(name).toSeq.map(RecordCodec.decode).flatMap {
        case Right(record)                => record.files.map(fileOf)
        case Left(_) if isDiscarded(name) => Nil
        case Left(problem)                => throw new UnreadableRecordException(problem.message)
      }
    }
  }

  private def isDiscarded(name: RecordName): Boolean =
    new Quarantine(table.files).reason(name).exists(world.trueMillis - _.atMillis > DiscardAge)

  private def fileOf(file: QueuedFile): String = zonemap.ingest.record.DataFilePath.of(file)

  private def reachable(): Set[String] = {
    world.interrupt()
    table.live
  }

  private def candidates(): Seq[StoredIngestFile] =
    table.data.paths.map(path => StoredIngestFile(path, SimCatalog.FileLength, table.data.writtenAt(path)))

  /** Another engine removes orphan files, and knows nothing of the queue. */
  private def removeOrphans(): Unit =
    if (!table.catalog.hasLate && !table.copy.exists(_.hasLate) && world.actors.forall {
        case c: SimCommitter => c.isIdle; case _ => true
      }) {
      val live = table.live
      val lost = table.data.paths.filter { path =>
        !live(path) && world.trueMillis - table.data.writtenAt(path) > MinAge
      }
      markBad(lost.toSet)
      world.trace(s"orphan removal deletes ${lost.mkString(" ")}")
      lost.foreach(table.data.delete)
    }

  private def markBad(lost: Set[String]): Unit =
    allPending().foreach { record =>
      if (record.files.map(fileOf).exists(lost)) table.damaged += ((record.lane, record.seq))
    }

  private def allPending(): Seq[IngestRecord] = table.files
    .list("pending")
    .flatMap(file => table.files.read(file.path, RecordCodec.MaxBytes))
    .flatMap(RecordCodec.decode(_).toSeq)

  /** A pending record is damaged on the disk. */
  private def damage(): Unit = {
    val pending = table.files.list("pending")
    if (pending.nonEmpty) {
      val file = world.rng.pick(pending)
      zonemap.ingest.queue.SpoolNames.parse("pending", file.path, 0).foreach { name =>
        table.damaged += ((name.lane, name.seq))
        table.files.damage(file.path)
      }
    }
  }
}
