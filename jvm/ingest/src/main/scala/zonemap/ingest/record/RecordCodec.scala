package zonemap.ingest.record

/**
 * The bytes of a record: a first line with a checksum, then one JSON object. docs/design/INGEST.md describes them for
 * writers in other languages.
 */
private[zonemap] object RecordCodec {

  /** The longest record, with its first line. */
  val MaxBytes: Int = 64 << 20

  def encode(record: IngestRecord): Array[Byte] = Framed.encode(RecordJson.write(record))

  /** The record, or the reason why the bytes are none. */
  def decode(bytes: Array[Byte]): Either[RecordProblem, IngestRecord] =
    if (bytes.length > MaxBytes)
      Left(RecordProblem(RecordProblem.TooLong, s"the record is longer than $MaxBytes bytes"))
    else Framed.decode(bytes).flatMap(RecordJson.read)
}
