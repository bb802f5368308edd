package zonemap.iceberg.snapshot

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.column.{Bitmap, ColumnChoice}
import zonemap.core.io.{ByteSource, HeapBytes}
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.SegmentRef
import zonemap.iceberg.store.{FileIOByteSource, IndexStore, Level, SpillFiles}

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
 * Where a segment comes from and where its bytes are.
 *
 * @param source the open bytes
 * @param place where `source` has them
 * @param stored the store that holds the segment and its name there; `None` while it is in memory only
 * @param committedAtMillis the time of the newest snapshot that added one of its manifests; `None` if all are expired
 */
private[zonemap] final case class SegmentOrigin(
    source: ByteSource,
    place: SegmentPlace,
    stored: Option[StoredSegment],
    level: Level,
    committedAtMillis: Option[Long]) {

  def isStoredIn(storeRoot: String): Boolean = stored.exists(_.storeRoot == storeRoot)

  /** An estimate of what the origin takes on the heap, the bytes left out. */
  def ownBytes: Long = SegmentOrigin.FixedBytes + stored.fold(0L)(_.heapBytes)

  /** The same bytes one level up; a store has to hold them under another name. */
  def risenTo(higher: Level): SegmentOrigin = copy(level = higher, stored = None)

  /** Bytes held for a segment, on the heap or as pages of a spilled file: all of them where the source is in memory. */
  def residentBytes(segment: Segment): Long = {
    val whole = if (place == SegmentPlace.Memory) source.sizeBytes else FileIOByteSource.fetchedBytes(source)
    if (whole > 0) whole + segment.unpackedBytes else segment.residentBytes
  }

  /** The same bytes from another place. */
  def at(place: SegmentPlace, source: ByteSource): SegmentOrigin = copy(source = source, place = place)
}

/** Where the bytes of a segment are read from. */
private[zonemap] sealed trait SegmentPlace

private[zonemap] object SegmentPlace {

  /** The heap, whole. */
  case object Memory extends SegmentPlace

  /** A local file of this JVM alone, mapped. */
  case object Spilled extends SegmentPlace

  /** The table's store: what is asked for is copied into memory. */
  case object Store extends SegmentPlace
}

private[zonemap] object SegmentOrigin {

  /** The origin, its time, and the object that reads the bytes. */
  private val FixedBytes = 300L

  def inMemory(source: ByteSource, level: Level, committedAtMillis: Option[Long]): SegmentOrigin =
    SegmentOrigin(source, SegmentPlace.Memory, None, level, committedAtMillis)

  /** The origin of fresh bytes that are not needed on the heap: moved to local disk where that is possible. */
  def spilled(source: ByteSource, level: Level, committedAtMillis: Option[Long], spill: SpillFiles): SegmentOrigin =
    spill.of(source).fold(inMemory(source, level, committedAtMillis)) { mapped =>
      SegmentOrigin(mapped, SegmentPlace.Spilled, None, level, committedAtMillis)
    }

  /** The origin of a segment that a store holds under the name of `ref`. */
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

  /** When the newest of the snapshots that added `manifests` was committed. */
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

  /** An estimate; the name of the store is shared. */
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

  /** An estimate of what is held beside the segment. */
  def ownBytes: Long = HeapBytes.instance(16) + HeapBytes.array(liveManifests.length, 4)

  val liveCount: Int = liveManifests.iterator.map(segment.manifests(_).rowCount).sum

  /** The greatest sequence number of its live manifests. */
  def lastSequence: Long = liveManifests.iterator.map(segment.manifests(_).identity.sequenceNumber).max

  /** A fresh bitmap of the live rows. */
  def liveRows(): Bitmap =
    if (liveCount == segment.rows) Bitmap.full(segment.rows)
    else LiveRows.of(segment.rows, segment.manifests, liveManifests)
}

/**
 * Everything a plan of one snapshot needs: its live data files, columnar, and its live delete files.
 *
 * Immutable and thread-safe; shared by all sessions of the JVM.
 *
 * @param facts the facts that a store's version of the snapshot names; `None` if it was not read from one
 * @param choice the columns to index, as that version says
 * @param isVerified whether the live manifests are known to be those that the snapshot lists; else it serves to know
 *   manifests from, and no plan
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

  /** Bytes of memory and spilled files held by the segments now. */
  def residentBytes: Long = segments.iterator.map(_.residentBytes).sum + deletes.residentBytes

  /** An estimate of what the snapshot itself holds: its names and lists, without segments and their live parts. */
  val ownBytes: Long = SnapshotIndex.FixedBytes + HeapBytes.text(key.manifestListLocation) +
    HeapBytes.sequence(segments.size) + deletes.ownBytes

  /** Live manifests, of data and of deletes, that the store does not hold. */
  def unstoredManifests(storeRoot: String): Int =
    segments.iterator.filterNot(_.origin.isStoredIn(storeRoot)).map(_.liveManifests.length).sum +
      deletes.segments.iterator.filterNot(_.origin.isStoredIn(storeRoot)).map(_.liveManifests.length).sum

  def withSegments(data: IndexedSeq[LiveSegment]): SnapshotIndex =
    if (data.corresponds(segments)(_ eq _)) this
    else new SnapshotIndex(key, sequenceNumber, data, deletes, isVerified = isVerified)

  /** The same, to know manifests from. */
  def unverified: SnapshotIndex =
    new SnapshotIndex(key, sequenceNumber, segments, deletes, facts, choice, isVerified = false)

  /** How many data segments each level has, such as "day=1 hour=3 micro=7". */
  def levels: String =
    Level.ofData.map(level => s"${level.name}=${segments.count(_.origin.level == level)}").mkString(" ")
}

private object SnapshotIndex {

  /** The snapshot, its key, and its place among those of its table. */
  private val FixedBytes = 200L
}
