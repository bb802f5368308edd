// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.snapshot

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.column.{Bitmap, ColumnChoice}
import zonemap.core.io.{ByteSource, HeapBytes}
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.SegmentRef
import zonemap.iceberg.store.{FileIOByteSource, IndexStore, Level, SpillFiles}

/**
 * Identifies one snapshot of one table permanently.
 *
 * The manifest list belongs to the key because `rewrite_table_path` copies table uuids and snapshot ids to a table with
 * other paths.
 */
private[zonemap] final case class SnapshotKey(snapshotId: Long, manifestListLocation: String)

private[zonemap] object SnapshotKey {

  def of(snapshot: Snapshot): SnapshotKey =
    SnapshotKey(snapshot.snapshotId(), Option(snapshot.manifestListLocation()).getOrElse(EmbeddedList))

  /**
   * The location for snapshots of old v1 tables, which list their manifests in the table metadata: the snapshot id
   * alone identifies them.
   */
  private val EmbeddedList = "embedded"
}

/**
 * The origin of a segment: the place of its bytes, its stored copy, its level and its time.
 *
 * @param source the open bytes
 * @param place the kind of storage that `source` reads
 * @param stored the store that contains the segment and its name there; `None` while it is in no store
 * @param committedAtMillis the time of the newest snapshot that added one of its manifests; `None` if all are expired
 */
private[zonemap] final case class SegmentOrigin(
    source: ByteSource,
    place: SegmentPlace,
    stored: Option[StoredSegment],
    level: Level,
    committedAtMillis: Option[Long]) {

  def isStoredIn(storeRoot: String): Boolean = stored.exists(_.storeRoot == storeRoot)

  /** An estimate of the heap that the origin uses, without the bytes of the segment. */
  def ownBytes: Long = SegmentOrigin.FixedBytes + stored.fold(0L)(_.heapBytes)

  /** The same bytes one level up. They are no longer stored, because a store names segments after their level. */
  def risenTo(higher: Level): SegmentOrigin = copy(level = higher, stored = None)

  /**
   * The bytes retained for a segment, on the heap or as pages of a spilled file. A source in memory retains the whole
   * segment.
   */
  def residentBytes(segment: Segment): Long = {
    val whole = if (place == SegmentPlace.Memory) source.sizeBytes else FileIOByteSource.fetchedBytes(source)
    if (whole > 0) whole + segment.unpackedBytes else segment.residentBytes
  }

  /** The same bytes, read from another place. */
  def at(place: SegmentPlace, source: ByteSource): SegmentOrigin = copy(source = source, place = place)
}

/** The place from which the bytes of a segment are read. */
private[zonemap] sealed trait SegmentPlace

private[zonemap] object SegmentPlace {

  /** The whole segment is on the heap. */
  case object Memory extends SegmentPlace

  /** A memory-mapped local file that only this JVM uses. */
  case object Spilled extends SegmentPlace

  /** The table's store; each read copies its range into memory. */
  case object Store extends SegmentPlace
}

private[zonemap] object SegmentOrigin {

  /** The heap of the origin, its time, and the object that reads the bytes. */
  private val FixedBytes = 300L

  def inMemory(source: ByteSource, level: Level, committedAtMillis: Option[Long]): SegmentOrigin =
    SegmentOrigin(source, SegmentPlace.Memory, None, level, committedAtMillis)

  /** The origin of new bytes that need not be on the heap: spilled to local disk if possible. */
  def spilled(source: ByteSource, level: Level, committedAtMillis: Option[Long], spill: SpillFiles): SegmentOrigin =
    spill.of(source).fold(inMemory(source, level, committedAtMillis)) { mapped =>
      SegmentOrigin(mapped, SegmentPlace.Spilled, None, level, committedAtMillis)
    }

  /** The origin of a segment that a store contains under the name in `ref`. */
  def inStore(
      table: Table,
      source: ByteSource,
      ref: SegmentRef,
      manifests: IndexedSeq[SegmentManifest],
      store: IndexStore): SegmentOrigin =
    SegmentOrigin(
      source,
      SegmentPlace.Store,
      Some(StoredSegment(store.root, ref)),
      Level.ofPath(ref.relativePath),
      committedAtMillis(table, manifests))

  /** The commit time of the newest of the snapshots that added `manifests`. */
  def committedAtMillis(table: Table, manifests: Iterable[SegmentManifest]): Option[Long] =
    manifests.iterator
      .map(_.identity.addedSnapshotId)
      .filter(_ != null)
      .toSet[java.lang.Long]
      .iterator
      .flatMap(id => Option(table.snapshot(id)))
      .map(_.timestampMillis())
      .maxOption
}

private[zonemap] final case class StoredSegment(storeRoot: String, ref: SegmentRef) {

  /** An estimate of the heap, without the root of the store, which is shared. */
  def heapBytes: Long =
    HeapBytes.instance(28) + HeapBytes.text(ref.relativePath) + HeapBytes.text(ref.contentHash) +
      HeapBytes.sequence(ref.liveManifests.size) + ref.liveManifests.size * HeapBytes.instance(4)
}

/**
 * The part of a segment that is live in one snapshot.
 *
 * @param liveManifests ordinals of the segment's manifests that the snapshot lists, ascending
 */
private[zonemap] final class LiveSegment(
    val segment: Segment,
    val origin: SegmentOrigin,
    val liveManifests: Array[Int]) {

  def residentBytes: Long = origin.residentBytes(segment)

  /** An estimate of the heap that this object uses, without the segment. */
  def ownBytes: Long = HeapBytes.instance(16) + HeapBytes.array(liveManifests.length, 4)

  val liveCount: Int = liveManifests.iterator.map(segment.manifests(_).rowCount).sum

  /** The greatest sequence number of the live manifests. */
  def lastSequence: Long = liveManifests.iterator.map(segment.manifests(_).identity.sequenceNumber).max

  /** A new bitmap of the live rows. */
  def liveRows(): Bitmap =
    if (liveCount == segment.rows) Bitmap.full(segment.rows)
    else LiveRows.of(segment.rows, segment.manifests, liveManifests)
}

/**
 * Everything that a plan of one snapshot needs: the live data files in columnar form, and the live delete files.
 *
 * Immutable and thread-safe; all sessions of the JVM share it.
 *
 * @param facts the facts that the store's version of the snapshot names; `None` if the index was not loaded from a
 *   version
 * @param choice the columns to index, from that version
 * @param isVerified whether the live manifests were compared with the manifest list of the snapshot; an index that is
 *   not verified serves to find known manifests, and no scan is planned from it
 */
private[zonemap] final class SnapshotIndex(
    val key: SnapshotKey,
    val sequenceNumber: Long,
    val segments: IndexedSeq[LiveSegment],
    val deletes: SnapshotDeletes,
    val facts: Option[TableFacts] = None,
    val choice: Option[ColumnChoice] = None,
    val isVerified: Boolean = true) {

  val dataFiles: Long = segments.iterator.map(_.liveCount.toLong).sum

  val dataManifests: Int = segments.iterator.map(_.liveManifests.length).sum

  /** The bytes of memory and of spilled files that the segments retain now. */
  def residentBytes: Long = segments.iterator.map(_.residentBytes).sum + deletes.residentBytes

  /**
   * An estimate of the heap that this object itself uses: its names and lists, without the segments and their live
   * parts.
   */
  val ownBytes: Long = SnapshotIndex.FixedBytes + HeapBytes.text(key.manifestListLocation) +
    HeapBytes.sequence(segments.size) + deletes.ownBytes

  /** The number of live manifests, data and delete manifests, that the store does not contain. */
  def unstoredManifests(storeRoot: String): Int =
    segments.iterator.filterNot(_.origin.isStoredIn(storeRoot)).map(_.liveManifests.length).sum +
      deletes.segments.iterator.filterNot(_.origin.isStoredIn(storeRoot)).map(_.liveManifests.length).sum

  def withSegments(data: IndexedSeq[LiveSegment]): SnapshotIndex =
    if (data.corresponds(segments)(_ eq _)) this
    else new SnapshotIndex(key, sequenceNumber, data, deletes, isVerified = isVerified)

  /** The same index as unverified: it serves to find known manifests only. */
  def unverified: SnapshotIndex =
    new SnapshotIndex(key, sequenceNumber, segments, deletes, facts, choice, isVerified = false)

  /** The number of data segments on each level, such as "day=1 hour=3 micro=7". */
  def levels: String =
    Level.ofData.map(level => s"${level.name}=${segments.count(_.origin.level == level)}").mkString(" ")
}

private object SnapshotIndex {

  /** The heap of the snapshot, its key, and its place among the snapshots of its table. */
  private val FixedBytes = 200L
}
