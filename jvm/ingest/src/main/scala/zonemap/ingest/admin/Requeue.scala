// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.admin

import zonemap.core.io.Checksums
import zonemap.ingest.commit.{Quarantine, QuarantineReason}
import zonemap.ingest.queue.{CommitQueue, Receipt, RecordName}
import zonemap.ingest.record.{DataFilePath, IngestRecord, Nonce, RecordCodec}
import zonemap.ingest.store.IngestFiles

/**
 * Appends quarantined records again. The new lane of a record is determined by its old name, so that a record that is
 * appended twice, because a call was repeated or died or because it was stored twice, is committed once.
 */
private[ingest] final class Requeue(table: String, tableUuid: => String, queue: CommitQueue, files: IngestFiles) {
  private val quarantine = new Quarantine(files)

  /** @throws IllegalArgumentException if a record cannot be read; nothing was appended then */
  def run(names: Seq[RecordName]): Seq[Receipt] = {
    val records = names.map(name => name -> readable(name))
    records.map { case (name, record) =>
      val receipt = queue.append(
        record.copy(
          queueId = queue.identity,
          tableUuid = tableUuid,
          lane = laneOf(name, record),
          seq = 0,
          prevSeq = IngestRecord.NoSeq,
          nonce = Nonce.draw()))
      val reason = quarantine
        .reason(name)
        .getOrElse(QuarantineReason("unknown", "the reason is missing", name.appendedAtMillis))
      quarantine.remove(name, reason.copy(requeuedTo = Some(receipt.lane -> receipt.nonce)))
      receipt
    }
  }

  private def readable(name: RecordName): IngestRecord = quarantine.read(name).map(RecordCodec.decode) match {
    case Some(Right(record)) => record
    case other =>
      val why = other.fold("it was deleted meanwhile")(_.left.toOption.fold("")(_.message))
      throw new IllegalArgumentException(
        s"Cannot requeue record ${name.seq} of lane '${name.lane}' of '$table': $why. Write its data again, and " +
          "discard it with ingest_discard.")
  }

  /** Copies of a record, which a producer made because it did not learn that one landed, have the same files. */
  private def laneOf(name: RecordName, record: IngestRecord): String = {
    val paths = record.files.map(DataFilePath.of).sorted
    "requeue-" + Checksums.sha256(s"${name.lane}\n${name.seq}\n${paths.mkString("\n")}", 16)
  }
}
