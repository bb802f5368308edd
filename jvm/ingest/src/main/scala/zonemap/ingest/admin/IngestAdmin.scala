// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import java.time.Clock

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import zonemap.ingest.commit._
import zonemap.ingest.queue.{QueueStats, Receipt}
import zonemap.ingest.record.{IngestRecord, RecordCodec}
import zonemap.ingest.table._

/** The work of the procedures that look at and steer the ingestion of one table. Holds no state. */
private[zonemap] final class IngestAdmin(target: IngestTarget, settings: IngestSettings, clock: Clock) {
  private val catalog = new IcebergIngestCatalog(target.name, target.operations)
  private val quarantine = new Quarantine(target.files)
  private val receipts = new Receipts(target, clock)
  private val requeueing = new Requeue(target.name, target.table.uuid().toString, target.queue, target.files)
  private val owner = new QueueOwner(target.files, catalog.entry)

  def status(): IngestStatus = {
    val stats = target.queue.stats()
    val view = catalog.load()
    val states =
      try Right(BranchStates.load(catalog, IngestRecord.MainBranch, target.files, target.queue.identity)._2)
      catch { case e: IngestStoppedException => Left(e) }
    val all = states.fold(_ => Nil, s => (s.own ++ s.others).toSeq)
    val pause = PauseFile.read(target.files)
    val last = StatusFile.read(target.files)
    IngestStatus(
      target.name,
      target.files.root,
      target.queue.description,
      target.queue.identity,
      stats.records,
      stats.bytes,
      stats.oldestMillis.map(clock.millis() - _),
      quarantine.names().size.toLong,
      all.flatMap(_.lanes.keys).distinct.size.toLong,
      view.pointer(IngestRecord.MainBranch),
      all.map(_.totals.records).sum,
      all.map(_.totals.files).sum,
      all.map(_.totals.rows).sum,
      pause.map(_.reason),
      last,
      problem(stats, states.left.toOption, pause, last),
      target.warning.getOrElse("")
    )
  }

  private def problem(
      stats: QueueStats,
      stopped: Option[IngestStoppedException],
      pause: Option[CommitPause],
      last: Option[LastPass]): String = {
    val oldest = stats.oldestMillis.map(clock.millis() - _)
    val idle = last.map(clock.millis() - _.atMillis)
    Seq(
      stopped.map(_.getMessage),
      pause.map(p => s"the committers are paused: ${p.reason}"),
      Option.when(oldest.exists(_ > settings.oldestAlarmMillis))(
        s"the oldest pending record is ${oldest.get / 3600000} hours old"),
      Option.when(stats.records > 0 && pause.isEmpty && idle.forall(_ > IngestAdmin.idleMillis(settings)))(
        idle.fold("no committer has run")(millis => s"no committer has run for ${millis / 1000} s")),
      last.flatMap(_.waiting.headOption).map(r => s"record ${r.seq} of lane '${r.lane}' is refused: ${r.message}"),
      last.flatMap(_.alarms.headOption),
      Option.when(stats.records >= settings.softLimitRecords)(s"${stats.records} records are pending; writers wait")
    ).flatten.mkString("; ")
  }

  /** Lets every committer of the table stop before its next pass; writers go on to the limits of the queue. */
  def pause(reason: String): Unit = PauseFile.write(target.files, CommitPause(reason, clock.millis()))

  /** Ends a pause; returns `false` if there was none. */
  def resume(): Boolean = {
    val wasPaused = PauseFile.read(target.files).isDefined
    PauseFile.delete(target.files)
    wasPaused
  }

  /** Where the record of a receipt is now. */
  def visibility(receipt: Receipt): Visibility = receipts.visibility(receipt)

  /** Waits until the record is visible or quarantined, or the time is over. */
  def await(receipt: Receipt, timeoutMillis: Long): Visibility = receipts.await(receipt, timeoutMillis)

  /**
   * Commits by hand: passes until nothing is left that can be committed.
   *
   * @param announce called for each commit as soon as it has landed
   */
  def commit(timeoutMillis: Long, announce: LandedCommit => Unit = _ => ()): Seq[PassResult] = {
    target.warning.foreach(IngestAdmin.log.warn)
    new Committer(target, settings, clock, announce).drain(timeoutMillis)
  }

  def quarantined(): Seq[QuarantinedRecord] =
    quarantine.names().sortBy(name => (name.lane, name.seq, name.nonce)).map(describe)

  private def describe(name: zonemap.ingest.queue.RecordName): QuarantinedRecord = {
    val reason = quarantine.reason(name)
    val record = quarantine.read(name).flatMap { bytes =>
      try RecordCodec.decode(bytes).toOption
      catch { case NonFatal(_) => None }
    }
    QuarantinedRecord(
      name.lane,
      name.seq,
      name.nonce,
      reason.fold("unknown")(_.code),
      reason.fold("the reason is missing")(_.message),
      reason.fold(name.appendedAtMillis)(_.atMillis),
      record.map(_.rows),
      record.map(_.files.size)
    )
  }

  /**
   * Appends the quarantined records of a lane and `seq` again, each in a lane of its own that its name determines.
   * Repeating the call therefore never doubles a record.
   *
   * @throws IllegalArgumentException if no such record is in quarantine, or one of them cannot be read
   * @throws IngestStoppedException if the queue belongs to another catalog entry
   */
  def requeue(lane: String, seq: Long): Seq[Receipt] = {
    owner.verify(catalog)
    requeueing.run(found("requeue", lane, seq))
  }

  /**
   * Deletes the quarantined records of a lane and `seq`; gc deletes their data files later. A pending record that blocks
   * its lane is marked instead, and the next pass quarantines it.
   *
   * @return the records deleted or marked
   * @throws IngestStoppedException if the queue belongs to another catalog entry
   */
  def discard(lane: String, seq: Long): Seq[QuarantinedRecord] = {
    owner.verify(catalog)
    val blocking = target.queue.namesOf(lane).filter(_.seq == seq)
    val names = quarantine.names().filter(name => name.lane == lane && name.seq == seq)
    if (names.isEmpty && !(settings.blockLane && blocking.nonEmpty)) found("discard", lane, seq): Unit
    val deleted = names.map(describe)
    names.foreach(
      quarantine.remove(_, QuarantineReason(RefusalCode.Discarded, "a person discarded it", clock.millis())))
    if (settings.blockLane && names.isEmpty) {
      blocking.foreach(quarantine.markDiscarded)
      blocking.map { name =>
        QuarantinedRecord(
          lane,
          seq,
          name.nonce,
          RefusalCode.Discarded,
          "the next pass quarantines it",
          clock.millis(),
          None,
          None)
      }
    } else deleted
  }

  private def found(verb: String, lane: String, seq: Long) = {
    val names = quarantine.names().filter(name => name.lane == lane && name.seq == seq)
    if (names.isEmpty)
      throw new IllegalArgumentException(
        s"Cannot $verb record $seq of lane '$lane' of '${target.name}': it is not in quarantine. ingest_quarantined " +
          "lists the records in quarantine.")
    names
  }

  /**
   * Gives a branch a new pointer, for a table whose pointer or state is lost, and commits it with a snapshot without
   * files. Records at or below the watermark of their lane are dropped, all others are committed.
   *
   * @param watermarks the watermark of each lane, in addition to the known ones and instead of them
   * @param forgetKnown whether the watermarks of the current state are forgotten; needed if it cannot be read
   * @param takeOver whether the queue may belong to another catalog entry, which is gone or the same table
   * @return the text of the new pointer; empty if the branch was dropped, so that its pointer was removed
   * @throws IngestStoppedException if the queue belongs to another catalog entry, without `takeOver`
   */
  def reset(branch: String, watermarks: Map[String, Long], forgetKnown: Boolean, takeOver: Boolean = false): String =
    new Reset(target, catalog, clock).run(branch, watermarks, forgetKnown, takeOver)
}

private object IngestAdmin {
  private val log = LoggerFactory.getLogger("zonemap.ingest")

  /** The time without a pass after which status reports that no committer runs. */
  def idleMillis(settings: IngestSettings): Long =
    math.max(60000L, 4 * math.max(settings.intervalMillis, settings.pollMillis))
}
