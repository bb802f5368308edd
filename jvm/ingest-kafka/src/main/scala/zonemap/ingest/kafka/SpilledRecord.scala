// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.util.zip.CRC32

import zonemap.ingest.queue.{RecordName, SpoolNames}
import zonemap.ingest.record.{IngestRecord, RecordProblem}
import zonemap.ingest.store.IngestFiles

/**
 * The pointer that a message holds instead of a record that is too long for a message. The record is in a file of the
 * ingest root, whose path follows from its name.
 *
 * @param crc the CRC-32 of the file
 * @param length the length of the file
 */
private[kafka] final case class SpilledRecord(crc: Long, length: Int) {
  import SpilledRecord._

  /** The bytes of the record, or why the file does not have them. `None` if the file does not exist. */
  def read(files: IngestFiles, name: RecordName): Option[Either[RecordProblem, Array[Byte]]] =
    files.read(path(name), length).map { bytes =>
      if (bytes.length == length && checksum(bytes) == crc) Right(bytes)
      else
        Left(
          RecordProblem(
            RecordProblem.Damaged,
            s"its file '${files.root}/${path(name)}' has ${bytes.length} bytes, and the message names $length bytes " +
              f"with the checksum $crc%08x"
          ))
    }
}

private[kafka] object SpilledRecord {
  private val FirstLine = "zonemap-spilled 1 ([0-9a-f]{8}) ([0-9]{1,9})\n".r
  private val MaxPointer = 64

  def path(name: RecordName): String = SpoolNames.record(SpoolNames.Spilled, name.lane, name.seq, name.nonce)

  /** Writes the record to its file; returns the value of its message. */
  def write(files: IngestFiles, record: IngestRecord, bytes: Array[Byte]): Array[Byte] = {
    files.create(path(RecordName(record.lane, record.seq, record.nonce, 0)), bytes): Unit
    f"zonemap-spilled 1 ${checksum(bytes)}%08x ${bytes.length}\n".getBytes(UTF_8)
  }

  /** The pointer in the value of a message; `None` if the value is the record itself. */
  def parse(value: Array[Byte]): Option[SpilledRecord] =
    if (value.length > MaxPointer) None
    else
      new String(value, UTF_8) match {
        case FirstLine(crc, length) => Some(SpilledRecord(java.lang.Long.parseLong(crc, 16), length.toInt))
        case _                      => None
      }

  private def checksum(bytes: Array[Byte]): Long = {
    val crc = new CRC32
    crc.update(bytes)
    crc.getValue
  }
}
