// SPDX-License-Identifier: Apache-2.0
package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}

/**
 * A data file, with the fields that planning needs. `partition` is the ordinal of a partition in the segment; nullable
 * fields may be null.
 *
 * @param doubted the field ids of columns whose statistics the provenance does not prove
 */
final private[zonemap] case class FileEntry(
    path: String,
    format: String,
    fileSizeBytes: Long,
    recordCount: Long,
    partition: Int,
    dataSequenceNumber: Long,
    fileSequenceNumber: Long,
    firstRowId: JLong,
    sortOrderId: JInteger,
    splitOffsets: Array[Long],
    provenance: Provenance = Provenance.Unknown,
    doubted: Iterable[Int] = Nil)

/**
 * A manifest as its manifest-list entry describes it. A segment covers a manifest only if all fields are equal, since
 * inherited values depend on every field. Nullable fields are null where the manifest list has no value.
 */
final private[zonemap] case class ManifestIdentity(
    path: String,
    lengthBytes: Long,
    content: Int,
    specId: Int,
    sequenceNumber: Long,
    minSequenceNumber: Long,
    addedSnapshotId: JLong,
    firstRowId: JLong,
    addedFiles: JInteger,
    existingFiles: JInteger,
    deletedFiles: JInteger,
    addedRows: JLong,
    existingRows: JLong,
    deletedRows: JLong) {

  /**
   * Only the path is hashed: each manifest has its own path, so hashing the other fields would cost time without
   * avoiding collisions.
   */
  override def hashCode: Int = path.hashCode
}

/** A manifest of a segment. Its files are the rows `firstRow until firstRow + rowCount`. */
final private[zonemap] case class SegmentManifest(identity: ManifestIdentity, firstRow: Int, rowCount: Int)

/**
 * A partition of a segment. The values have the classes of [[TupleCodec]]: null, boxed primitives, String, Array[Byte],
 * BigDecimal, UUID.
 */
final private[zonemap] case class PartitionTuple(specId: Int, values: Array[AnyRef])
