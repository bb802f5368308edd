// SPDX-License-Identifier: Apache-2.0
package zonemap.ingest.record

/**
 * A data file of a record.
 *
 * @param specId the id of the partition spec with which the file was written
 * @param contentFile the JSON of Iceberg's `ContentFileParser`, see [[PartitionKeys]]
 */
private[zonemap] final case class QueuedFile(specId: Int, contentFile: String)

/**
 * One append that a producer hands over to the committer: all of its data files become visible in one snapshot, or none
 * of them.
 *
 * @param queueId the incarnation of the queue for which the record was written
 * @param tableUuid the UUID of the table
 * @param branch the branch to append to, usually `main`
 * @param lane the identity of the producer, see [[LaneName]]
 * @param seq the number of the append in its lane, at least 0; it grows
 * @param prevSeq the number of the append before it in its lane, `-1` for the first one
 * @param nonce 16 hexadecimal digits, drawn for this record
 * @param writer the host, process and application of the producer, for people
 * @param schemaId the id of the schema with which the files were written
 * @param baseSnapshotId the current snapshot of the branch when the files were written, `-1` if it had none
 * @param formatVersion the format version of the table when the files were written
 * @param existing whether the producer found the files in place, so that others may delete them at any time
 */
private[zonemap] final case class IngestRecord(
    queueId: String,
    tableUuid: String,
    branch: String,
    lane: String,
    seq: Long,
    prevSeq: Long,
    nonce: String,
    writer: String,
    createdAtMillis: Long,
    schemaId: Int,
    baseSnapshotId: Long,
    formatVersion: Int,
    rows: Long,
    bytes: Long,
    files: Seq[QueuedFile],
    existing: Boolean = false)

private[zonemap] object IngestRecord {
  val MainBranch = "main"

  /** The `seq` before the first one of a lane. */
  val NoSeq: Long = -1L
}
