// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.queue

import scala.util.control.NonFatal

import zonemap.ingest.record._
import zonemap.ingest.store.{IngestFiles, StoredIngestFile}

/**
 * The queue that needs no server: one immutable file for each record, below `pending/<lane>/` of the ingest root of the
 * table. Thread-safe; any number of processes may use the same root.
 *
 * @param files the ingest root of the table
 */
private[zonemap] final class SpoolQueue private (files: IngestFiles, override val identity: String)
    extends CommitQueue {
  private val undeleted = new UndeletedRecords
  private val known = new PendingRecords(SpoolQueue.KnownBytes)

  override def description: String = "spool"

  /** A spool is part of its root, which therefore names it already. */
  override def adopt(): Unit = ()

  override def append(record: IngestRecord): Receipt = {
    val bytes = RecordCodec.encodeChecked(record)
    val path = SpoolNames.record(SpoolNames.Pending, record.lane, record.seq, record.nonce)
    if (!files.create(path, bytes))
      throw new IllegalStateException(
        s"Cannot append the record '${files.root}/$path': a file of that name exists. Draw a new nonce for each append.")
    Receipt(record.tableUuid, record.branch, record.lane, record.seq, record.nonce, s"${files.root}/$path")
  }

  override def poll(limits: PollLimits): Poll = {
    val listing = files.listing(SpoolNames.Pending)
    val listed = recordsOf(listing.files)
    undeleted.listed(listed.map(_.name), limits.hasPassed)
    known.retain(listed)
    val order = PollOrder.of(listed.filterNot(record => undeleted.contains(record.name)), limits.deferred)
    val delivery = new PollDelivery(limits, readAll).run(order)
    val unlisted = listing.unlisted.flatMap { case (path, why) =>
      SpoolNames.laneOf(SpoolNames.Pending, path).map(lane => StuckRecord(RecordName(lane, -1, "", 0), why))
    }
    Poll(delivery.delivered, delivery.isComplete, unlisted ++ delivery.failed, undeleted.all)
  }

  override def readAhead(limits: PollLimits): Option[Int] = Some(poll(limits).records.size)

  /** The listed records, each with its result; `None` if it was settled meanwhile. */
  private def readAll(listed: Seq[ListedRecord]): Seq[Either[StuckRecord, Option[Delivered]]] = {
    val held = listed.map(known.get)
    val missing = listed.zip(held).collect { case (record, None) => record.name }
    val found = files.inParallel(missing)(read).iterator
    held.map(record => if (record.isDefined) Right(record) else found.next())
  }

  private def read(name: RecordName): Either[StuckRecord, Option[Delivered]] =
    try
      deliver(name) match {
        case Some(Delivered(_, Left(_), _)) if isUnfinished(name) =>
          Left(StuckRecord(name, "its record may not be written to its end yet"))
        case delivered =>
          delivered.foreach(known.add)
          Right(delivered)
      }
    catch { case NonFatal(e) => Left(StuckRecord(name, s"its record cannot be read: $e")) }

  private def isUnfinished(name: RecordName): Boolean =
    files.showsUnfinished && System.currentTimeMillis() - name.appendedAtMillis < SpoolQueue.UnfinishedMillis

  /** The record of that name; `None` if it was settled meanwhile. */
  private def deliver(name: RecordName): Option[Delivered] =
    files.read(pathOf(name), RecordCodec.MaxBytes).map(Delivered.of(name, _))

  override def names(): Seq[RecordName] = namesIn(SpoolNames.Pending)

  override def namesOf(lane: String): Seq[RecordName] = namesIn(s"${SpoolNames.Pending}/${LaneName.encode(lane)}")

  override def pendingOf(lane: String): LazyList[Delivered] =
    namesOf(lane).sortBy(_.seq).to(LazyList).flatMap(deliver)

  private def namesIn(folder: String): Seq[RecordName] = recordsOf(files.list(folder)).map(_.name)

  private def recordsOf(stored: Seq[StoredIngestFile]): Seq[ListedRecord] = stored.flatMap { file =>
    SpoolNames.parse(SpoolNames.Pending, file.path, file.modifiedAtMillis).map(ListedRecord(_, file.sizeBytes))
  }

  /** Removes the records, and some of those that could not be removed before. */
  override def settle(records: Seq[RecordName]): Unit = {
    val names = records ++ undeleted.next()
    val failed = files.deleteAll(names.map(pathOf))
    names.foreach { name =>
      failed.get(pathOf(name)) match {
        case None      => undeleted.deleted(name)
        case Some(why) => undeleted.add(StuckRecord(name, s"its record cannot be deleted: $why"))
      }
    }
  }

  override def pendingFiles(): Iterator[String] =
    names().iterator.grouped(SpoolQueue.Chunk).flatMap(files.inParallel(_)(deliver)).flatten.flatMap { delivered =>
      delivered.content match {
        case Right(record) => record.files.map(DataFilePath.of)
        case Left(problem) =>
          throw new UnreadableRecordException(
            s"Cannot list the pending files of '${files.root}': the record '${pathOf(delivered.name)}' cannot be " +
              s"read: ${problem.message}. Let the committer quarantine it, then discard it with ingest_discard.")
      }
    }

  override def stats(): QueueStats = {
    val pending = recordsOf(files.listing(SpoolNames.Pending).files)
    QueueStats(
      pending.size.toLong,
      pending.map(_.sizeBytes).sum,
      pending.map(_.name.appendedAtMillis).minOption,
      pending.groupMapReduce(_.name.lane)(_ => 1L)(_ + _))
  }

  override def countByLane(): Map[String, Long] =
    for {
      (folder, names) <- files.namesByFolder(SpoolNames.Pending)
      lane <- LaneName.decode(folder)
      records = names.count(SpoolNames.isRecord)
      if records > 0
    } yield lane -> records.toLong

  override def close(): Unit = ()

  private def pathOf(name: RecordName): String =
    SpoolNames.record(SpoolNames.Pending, name.lane, name.seq, name.nonce)
}

private[zonemap] object SpoolQueue {
  private val Chunk = 64

  /** Some 10,000 records of a few data files. */
  private val KnownBytes = 16L << 20

  /** After this time, a record that is not whole has lost its writer. */
  private val UnfinishedMillis = 10 * 60 * 1000L

  /**
   * Opens the queue of an ingest root, and creates its identity if the root has none.
   *
   * @throws IllegalArgumentException if the root belongs to a queue of another kind
   */
  def open(files: IngestFiles, nowMillis: Long): SpoolQueue =
    of(files, QueueIdentity.read(files).getOrElse(QueueIdentity.create(files, QueueIdentity.newSpool(nowMillis))))

  /** Opens the queue of an ingest root that has an identity; `None` if the root has none. */
  def existing(files: IngestFiles): Option[SpoolQueue] = QueueIdentity.read(files).map(of(files, _))

  private def of(files: IngestFiles, identity: QueueIdentity): SpoolQueue = {
    identity.topic.foreach { topic =>
      throw new IllegalArgumentException(
        s"Cannot open '${files.root}' as a spool: its queue is the Kafka topic '$topic'. Choose the queue 'kafka' for " +
          "the table, as its other writers and committers do.")
    }
    new SpoolQueue(files, identity.id)
  }
}
