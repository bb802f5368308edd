package zonemap.iceberg.index

import java.util.UUID

import scala.collection.mutable

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.segment.{DeleteSegment, ManifestIdentity, Segment}

/** Where a known manifest's entries stand: a segment and the manifest's ordinal in it. */
private[zonemap] final case class Located[S](segment: S, origin: SegmentOrigin, ordinal: Int)

/**
 * What this JVM knows of one table: the snapshots it has indexed or opened, and through them the manifests.
 *
 * A manifest counts as known only if its whole manifest-list entry matches, see [[ManifestIdentity]]. Snapshots are
 * kept in the order of their last use; [[IndexRegistry]] evicts the oldest. Thread-safe.
 */
private[zonemap] final class TableIndex(val uuid: UUID) {
  private val snapshots = new java.util.LinkedHashMap[SnapshotKey, SnapshotIndex](16, 0.75f, true)
  private var data = Map.empty[ManifestIdentity, Located[Segment]]
  private var deletes = Map.empty[ManifestIdentity, Located[DeleteSegment]]

  /** Guards work that should happen once: opening a store, decoding manifests, building. */
  private[iceberg] val work = new Object

  val storeState = new StoreState

  /** The last snapshot that was covered in memory and did not fit under the cap, with the bytes it needs. */
  @volatile private[iceberg] var oversized: Option[Oversized] = None

  def get(key: SnapshotKey): Option[SnapshotIndex] = synchronized(Option(snapshots.get(key)))

  def put(snapshot: SnapshotIndex): Unit = synchronized {
    snapshots.put(snapshot.key, snapshot)
    learn(snapshot)
  }

  def dataManifest(identity: ManifestIdentity): Option[Located[Segment]] = synchronized(data.get(identity))

  def deleteManifest(identity: ManifestIdentity): Option[Located[DeleteSegment]] = synchronized(deletes.get(identity))

  def isEmpty: Boolean = synchronized(snapshots.isEmpty)

  def snapshotCount: Int = synchronized(snapshots.size)

  /** Bytes of memory and mapped files held for this table now. */
  def residentBytes: Long = synchronized {
    val held = mutable.Map.empty[AnyRef, Long]
    snapshots.values.forEach { s =>
      held ++= s.segments.iterator.map(d => d.segment -> d.origin.heldBytes(d.segment))
      held ++= s.deletes.segments.iterator.map(d => d.segment -> d.origin.source.sizeBytes)
    }
    held.values.sum
  }

  /** Forgets the snapshot used least recently, and the manifests only it knew; `false` if there is none. */
  def evictOldest(): Boolean = synchronized {
    val keys = snapshots.keySet().iterator()
    val evicted = keys.hasNext
    if (evicted) discard(keys.next())
    evicted
  }

  /** Forgets one snapshot, and the manifests only it knew. */
  def discard(key: SnapshotKey): Unit = synchronized {
    if (snapshots.remove(key) != null) {
      data = Map.empty
      deletes = Map.empty
      snapshots.values.forEach(learn)
    }
  }

  def clear(): Unit = synchronized {
    forgetAll()
    storeState.reset()
  }

  /** Forgets every snapshot and leaves the store alone for a while: a segment of it turned out to be damaged. */
  def damaged(): Unit = synchronized {
    forgetAll()
    storeState.missed()
  }

  private def forgetAll(): Unit = {
    snapshots.clear()
    data = Map.empty
    deletes = Map.empty
  }

  private def learn(snapshot: SnapshotIndex): Unit = {
    data ++= snapshot.segments.iterator.flatMap { live =>
      live.liveManifests.iterator.map(o => live.segment.manifests(o).identity -> Located(live.segment, live.origin, o))
    }
    deletes ++= snapshot.deletes.segments.iterator.flatMap { live =>
      live.liveManifests.iterator.map(o => live.segment.manifests(o).identity -> Located(live.segment, live.origin, o))
    }
  }
}

/** A snapshot whose index needs more bytes than the cap allowed. */
private[zonemap] final case class Oversized(key: SnapshotKey, bytes: Long)

/**
 * What is known about the stored index of a table: whether it is worth a request.
 *
 * After a look that found nothing, or found damage, the store is left alone for a minute, so that tables without an
 * index cost no requests; after a write that failed, writing is. A build by a procedure resets both.
 */
private[zonemap] final class StoreState {
  private val reading = new Pause
  private val writing = new Pause
  @volatile private var seen = false

  def worthALook: Boolean = reading.isOver

  def worthAWrite: Boolean = writing.isOver

  /** Whether a version was ever found there. */
  def exists: Boolean = seen

  def found(): Unit = {
    seen = true
    reading.end()
    writing.end()
  }

  def missed(): Unit = reading.begin()

  def refused(): Unit = writing.begin()

  def reset(): Unit = {
    seen = false
    reading.end()
    writing.end()
  }
}

/** A minute of not trying again. Thread-safe. */
private final class Pause {
  @volatile private var until = Option.empty[Long]

  def isOver: Boolean = until.forall(System.nanoTime() - _ >= 0)
  def begin(): Unit = until = Some(System.nanoTime() + Pause.Nanos)
  def end(): Unit = until = None
}

private object Pause {
  private val Nanos: Long = 60L * 1000 * 1000 * 1000
}

/**
 * The indexes of this JVM, shared by all its sessions, under one cap in bytes.
 *
 * Thread-safe.
 */
private[zonemap] object IndexRegistry {
  private val tables = new java.util.LinkedHashMap[UUID, TableIndex](16, 0.75f, true)

  def of(table: Table): TableIndex = of(table.uuid())

  def of(uuid: UUID): TableIndex = synchronized(tables.computeIfAbsent(uuid, new TableIndex(_)))

  def residentBytes: Long = all.iterator.map(_.residentBytes).sum

  /** Evicts snapshots, least recently used tables first, until at most `maxBytes` are held. */
  def shrinkTo(maxBytes: Long): Unit = {
    val oldestFirst = all.iterator
    var held = residentBytes
    while (held > maxBytes && oldestFirst.hasNext) {
      val table = oldestFirst.next()
      while (held > maxBytes && table.evictOldest()) held = residentBytes
    }
  }

  def forget(uuid: UUID): Unit = synchronized(Option(tables.remove(uuid)).foreach(_.clear()))

  def clear(): Unit = synchronized(tables.clear())

  private def all: Seq[TableIndex] = synchronized {
    val copy = mutable.ArrayBuffer.empty[TableIndex]
    tables.values.forEach(t => copy += t)
    copy.toSeq
  }

  /** The snapshot id and its parents, newest first. */
  def lineage(table: Table, snapshot: Snapshot): Iterator[Long] =
    Iterator.iterate(Option(snapshot))(_.flatMap(s => Option(s.parentId())).flatMap(id => Option(table.snapshot(id))))
      .takeWhile(_.isDefined)
      .flatten
      .map(_.snapshotId())
}
