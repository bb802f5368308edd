package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}

/** A data file as planning needs it. `partition` is an ordinal of the segment; nullable fields may be null. */
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
    provenance: Provenance = Provenance.Unknown)

/**
 * A manifest as its manifest-list entry describes it. Equality is the test whether a segment knows a manifest: every
 * field must agree, since inherited values depend on them. Nullable fields are null where the list has no value.
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

  /** Each manifest has a path of its own, so the other fields would tell none apart: plans look up all of a snapshot. */
  override def hashCode: Int = path.hashCode
}

/** A manifest of a segment and its rows `firstRow until firstRow + rowCount`. */
final private[zonemap] case class SegmentManifest(identity: ManifestIdentity, firstRow: Int, rowCount: Int)

/** A partition of a segment: values as in [[TupleCodec]] (null, boxed primitives, String, Array[Byte], BigDecimal, UUID). */
final private[zonemap] case class PartitionTuple(specId: Int, values: Array[AnyRef])
