package zonemap.ingest.admin

import zonemap.core.io.Checksums
import zonemap.ingest.commit.Quarantine
import zonemap.ingest.queue.{Receipt, RecordName}
import zonemap.ingest.record.{DataFilePath, IngestRecord, Nonce, RecordCodec}
import zonemap.ingest.table.IngestTarget

/**
 * Appends quarantined records again. The new lane of a record is determined by its old name, so that a record that is
 * appended twice, because a call was repeated or died or because it was stored twice, is committed once.
 */
private[admin] final class Requeue(target: IngestTarget) {
  private val quarantine = new Quarantine(target.files)

  /** @throws IllegalArgumentException if a record cannot be read; nothing was appended then */
  def run(names: Seq[RecordName]): Seq[Receipt] = {
    val records = names.map(name => name -> readable(name))
    records.map { case (name, record) =>
      val receipt = target.queue.append(
        record.copy(
          queueId = target.queue.identity,
          tableUuid = target.table.uuid().toString,
          lane = laneOf(name, record),
          seq = 0,
          prevSeq = IngestRecord.NoSeq,
          nonce = Nonce.draw()))
      quarantine.delete(name)
      receipt
    }
  }

  private def readable(name: RecordName): IngestRecord = quarantine.read(name).map(RecordCodec.decode) match {
    case Some(Right(record)) => record
    case other =>
      val why = other.fold("it was deleted meanwhile")(_.left.toOption.fold("")(_.message))
      throw new IllegalArgumentException(
        s"Cannot requeue record ${name.seq} of lane '${name.lane}' of '${target.name}': $why. Write its data again, and " +
          "discard it with ingest_discard.")
  }

  /** Copies of a record, which a producer made because it did not learn that one landed, have the same files. */
  private def laneOf(name: RecordName, record: IngestRecord): String = {
    val paths = record.files.map(DataFilePath.of).sorted
    "requeue-" + Checksums.sha256(s"${name.lane}\n${name.seq}\n${paths.mkString("\n")}", 16)
  }
}
