// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

/**
 * The bytes of a record: a first line with a checksum, then one JSON object. docs/design/INGEST.md describes them for
 * writers in other languages.
 */
private[zonemap] object RecordCodec {

  /** The longest record, with its first line. */
  val MaxBytes: Int = 64 << 20

  def encode(record: IngestRecord): Array[Byte] = Framed.encode(RecordJson.write(record))

  /**
   * The bytes of a record to append.
   *
   * @throws IllegalArgumentException if the record is too long
   */
  def encodeChecked(record: IngestRecord): Array[Byte] = {
    val bytes = encode(record)
    if (bytes.length > MaxBytes)
      throw new IllegalArgumentException(
        s"Cannot append the record ${record.seq} of lane '${record.lane}': it has ${bytes.length} bytes, and " +
          s"$MaxBytes are allowed. Append fewer data files at once.")
    bytes
  }

  /** The record, or the reason why the bytes are none. */
  def decode(bytes: Array[Byte]): Either[RecordProblem, IngestRecord] =
    if (bytes.length > MaxBytes)
      Left(RecordProblem(RecordProblem.TooLong, s"the record is longer than $MaxBytes bytes"))
    else Framed.decode(bytes).flatMap(RecordJson.read)
}
