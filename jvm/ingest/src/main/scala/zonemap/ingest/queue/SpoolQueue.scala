package zonemap.ingest.queue

import scala.collection.mutable.ArrayBuffer

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

  override def append(record: IngestRecord): Receipt = {
    val bytes = RecordCodec.encode(record)
    if (bytes.length > RecordCodec.MaxBytes)
      throw new IllegalArgumentException(
        s"Cannot append the record ${record.seq} of lane '${record.lane}': it has ${bytes.length} bytes, and " +
          s"${RecordCodec.MaxBytes} are allowed. Append fewer data files at once.")
    val path = SpoolNames.record(SpoolNames.Pending, record.lane, record.seq, record.nonce)
    if (!files.create(path, bytes))
      throw new IllegalStateException(
        s"Cannot append the record '${files.root}/$path': a file of that name exists. Draw a new nonce for each append.")
    Receipt(record.tableUuid, record.branch, record.lane, record.seq, record.nonce, s"${files.root}/$path")
  }

  override def poll(limits: PollLimits): Poll = {
    val ordered = inTurn(names()).iterator
    val records = ArrayBuffer.empty[Delivered]
    var bytes = 0L
    while (ordered.hasNext && records.size < limits.maxRecords && bytes < limits.maxBytes)
      deliver(ordered.next()).foreach { delivered =>
        records += delivered
        bytes += delivered.bytes.length
      }
    Poll(records.toSeq, complete = !ordered.hasNext)
  }

  /** The first record of each lane, then the second of each, and so on: a long lane does not hold up the others. */
  private def inTurn(names: Seq[RecordName]): Seq[RecordName] =
    names
      .groupBy(_.lane)
      .values
      .flatMap(_.sortBy(name => (name.seq, name.appendedAtMillis, name.nonce)).zipWithIndex)
      .toSeq
      .sortBy { case (name, turn) => (turn, name.appendedAtMillis, name.lane) }
      .map(_._1)

  /** The record of that name; `None` if it was settled meanwhile. */
  private def deliver(name: RecordName): Option[Delivered] =
    files.read(pathOf(name), RecordCodec.MaxBytes).map { bytes =>
      val content = RecordCodec.decode(bytes).flatMap { record =>
        if (record.lane == name.lane && record.seq == name.seq && record.nonce == name.nonce) Right(record)
        else
          Left(
            RecordProblem(
              RecordProblem.Invalid,
              s"its name is not that of its content, lane '${record.lane}' seq ${record.seq} nonce ${record.nonce}"))
      }
      Delivered(name, content, bytes)
    }

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

  /** Opens the queue of an ingest root, and creates its identity if the root has none. */
  def open(files: IngestFiles, nowMillis: Long): SpoolQueue =
    new SpoolQueue(files, QueueIdentity.read(files).getOrElse(QueueIdentity.create(files, nowMillis)))

  /** Opens the queue of an ingest root that has an identity; `None` if the root has none. */
  def existing(files: IngestFiles): Option[SpoolQueue] = QueueIdentity.read(files).map(new SpoolQueue(files, _))
}
