package zonemap.ingest.queue

import zonemap.ingest.record._
import zonemap.ingest.store.IngestFiles

/**
 * The queue that needs no server: one immutable file for each record, below `pending/<lane>/` of the ingest root of the
 * table. Thread-safe; any number of processes may use the same root.
 *
 * @param files the ingest root of the table
 */
private[zonemap] final class SpoolQueue private (files: IngestFiles, override val identity: String)
    extends CommitQueue {

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

  override def poll(limits: PollLimits): Poll = Poll.inTurn(names(), limits)(name => name)(deliver)

  /** The record of that name; `None` if it was settled meanwhile. */
  private def deliver(name: RecordName): Option[Delivered] =
    files.read(pathOf(name), RecordCodec.MaxBytes).map(Delivered.of(name, _))

  override def names(): Seq[RecordName] = namesIn(SpoolNames.Pending)

  override def pendingOf(lane: String): Seq[Delivered] =
    namesIn(s"${SpoolNames.Pending}/${LaneName.encode(lane)}").sortBy(_.seq).flatMap(deliver)

  private def namesIn(folder: String): Seq[RecordName] =
    files.list(folder).flatMap(file => SpoolNames.parse(SpoolNames.Pending, file.path, file.modifiedAtMillis))

  override def settle(records: Seq[RecordName]): Unit = records.foreach(name => files.delete(pathOf(name)))

  override def pendingFiles(): Iterator[String] =
    names().iterator.flatMap(deliver).flatMap { delivered =>
      delivered.content match {
        case Right(record) => record.files.map(DataFilePath.of)
        case Left(problem) =>
          throw new UnreadableRecordException(
            s"Cannot list the pending files of '${files.root}': the record '${pathOf(delivered.name)}' cannot be " +
              s"read: ${problem.message}. Let the committer quarantine it, then discard it with ingest_discard.")
      }
    }

  override def stats(): QueueStats = {
    val pending = files.list(SpoolNames.Pending).filter(_.path.endsWith(".rec"))
    QueueStats(pending.size.toLong, pending.map(_.sizeBytes).sum, pending.map(_.modifiedAtMillis).minOption)
  }

  override def close(): Unit = ()

  private def pathOf(name: RecordName): String =
    SpoolNames.record(SpoolNames.Pending, name.lane, name.seq, name.nonce)
}

private[zonemap] object SpoolQueue {

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
