package zonemap.core.segment

import java.lang.{Integer => JInteger, Long => JLong}

import zonemap.core.value.{ColumnType, Presence, ZoneValue}

/** An indexed column: its field id and the type its bounds are stored as. */
final private[zonemap] case class ColumnSpec(fieldId: Int, columnType: ColumnType)

/**
 * What is known of one column in one file. A null bound is absent: unbounded on that side. Bounds are valid (no live
 * value lies outside), not necessarily reached; `tight` says they are the true minimum and maximum of the physical rows.
 * Nulls and NaN lie outside the bounds.
 */
final private[zonemap] case class ColumnBounds(
    lower: ZoneValue,
    upper: ZoneValue,
    tight: Boolean,
    nulls: Presence,
    nans: Presence)

private[zonemap] object ColumnBounds {
  val NothingKnown: ColumnBounds = ColumnBounds(null, null, tight = false, Presence.Unknown, Presence.Unknown)
}

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
