package zonemap.iceberg.index

import org.apache.iceberg.Snapshot

import zonemap.core.eval.Bitmap
import zonemap.core.segment.{ByteSource, Segment, SegmentRef}
import zonemap.iceberg.store.FileIOByteSource

/**
 * Names one snapshot of one table for good.
 *
 * The manifest list belongs to it: `rewrite_table_path` clones table uuids and snapshot ids while paths differ.
 */
private[zonemap] final case class SnapshotKey(snapshotId: Long, manifestListLocation: String)

private[zonemap] object SnapshotKey {

  def of(snapshot: Snapshot): SnapshotKey =
    SnapshotKey(snapshot.snapshotId(), Option(snapshot.manifestListLocation()).getOrElse(EmbeddedList))

  /** Snapshots of old v1 tables that list their manifests in the table metadata: the snapshot id alone names them. */
  private val EmbeddedList = "embedded"
}

/**
 * Where the bytes of a segment are.
 *
 * @param source the open bytes
 * @param stored the store that holds the segment and its name there; `None` while it is in memory only
 */
private[zonemap] final case class SegmentOrigin(source: ByteSource, stored: Option[StoredSegment]) {

  /** Bytes held for `segment` now: its sections read so far, and all of it where the source keeps the whole file. */
  def heldBytes(segment: Segment): Long =
    if (stored.isEmpty || source.sizeBytes <= FileIOByteSource.WholeFileBytes)
      math.max(segment.residentBytes, source.sizeBytes)
    else segment.residentBytes
}

private[zonemap] final case class StoredSegment(storeRoot: String, ref: SegmentRef)

/**
 * The part of a segment that is live in one snapshot.
 *
 * @param liveManifests ordinals of the segment's manifests that the snapshot lists, ascending
 */
private[zonemap] final class LiveSegment(
    val segment: Segment,
    val origin: SegmentOrigin,
    val liveManifests: Array[Int]) {

  val liveCount: Int = liveManifests.iterator.map(segment.manifests(_).rowCount).sum

  /** A fresh bitmap of the live rows. */
  def liveRows(): Bitmap =
    if (liveCount == segment.rows) Bitmap.full(segment.rows)
    else {
      val rows = Bitmap.empty(segment.rows)
      liveManifests.foreach { ordinal =>
        val manifest = segment.manifests(ordinal)
        rows.setRange(manifest.firstRow, manifest.firstRow + manifest.rowCount)
      }
      rows
    }
}

/**
 * Everything a plan of one snapshot needs: its live data files, columnar, and its live delete files.
 *
 * Immutable and thread-safe; shared by all sessions of the JVM.
 */
private[zonemap] final class SnapshotIndex(
    val key: SnapshotKey,
    val sequenceNumber: Long,
    val segments: IndexedSeq[LiveSegment],
    val deletes: SnapshotDeletes) {

  val dataFiles: Long = segments.iterator.map(_.liveCount.toLong).sum
  val dataManifests: Int = segments.iterator.map(_.liveManifests.length).sum

  /** Bytes of memory and mapped files held by the segments now. */
  def residentBytes: Long = segments.iterator.map(s => s.origin.heldBytes(s.segment)).sum + deletes.residentBytes
}
