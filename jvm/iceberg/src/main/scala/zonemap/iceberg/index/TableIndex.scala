package zonemap.iceberg.index

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.iceberg.{HasTableOperations, Snapshot, Table, TableOperations}

import zonemap.core.segment.{ByteSource, DeleteSegment, ManifestIdentity, Segment}
import zonemap.iceberg.plan.PlannerSettings
import zonemap.iceberg.store.{FileIOByteSource, IndexStore}

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
  private val data = new KnownManifests[Segment]
  private val deletes = new KnownManifests[DeleteSegment]
  private var newestPut = Option.empty[SnapshotIndex]

  /** Guards work that should happen once: opening a store, decoding manifests, building. */
  private[iceberg] val work = new Object

  val storeState = new StoreState

  /** The last snapshot that was covered in memory and did not fit under the cap, with the bytes it needs. */
  @volatile private[iceberg] var oversized: Option[Oversized] = None

  /** How the table was reached last, while a snapshot of it is held. */
  @volatile private[iceberg] var lastSeen: Option[SeenTable] = None

  @volatile private var heldFacts = TableFacts.Empty

  /** The facts about data files of this table, whichever snapshots they are in. */
  def facts: TableFacts = heldFacts

  /** Takes over facts, unless a later snapshot's are held; equal ones stay as they are, with what was read of them. */
  def learn(facts: TableFacts): Unit = synchronized {
    if (facts.sequenceNumber >= heldFacts.sequenceNumber && facts.refs != heldFacts.refs) heldFacts = facts
  }

  def get(key: SnapshotKey): Option[SnapshotIndex] = synchronized(Option(snapshots.get(key)))

  /** Holds a snapshot, in place of one of the same key; beyond [[TableIndex.MaxSnapshots]] the one used least goes. */
  def put(snapshot: SnapshotIndex): Unit = synchronized {
    val replaced = Option(snapshots.put(snapshot.key, snapshot))
    newestPut = Some(snapshot)
    learn(snapshot)
    snapshot.facts.foreach(learn)
    replaced.foreach(forgetSegmentsOf)
    if (snapshots.size > TableIndex.MaxSnapshots) evictOldest(): Unit
  }

  /** The snapshot that was put last, if it is still held. */
  def newest: Option[SnapshotIndex] = synchronized(newestPut)

  def dataManifest(identity: ManifestIdentity): Option[Located[Segment]] = synchronized(data.find(identity))

  def deleteManifest(identity: ManifestIdentity): Option[Located[DeleteSegment]] = synchronized(deletes.find(identity))

  def isEmpty: Boolean = synchronized(snapshots.isEmpty)

  def snapshotCount: Int = synchronized(snapshots.size)

  /** Distinct segments of all snapshots held. */
  def segments: Set[Segment] = synchronized(distinct.keys.toSet)

  /** Bytes of memory and mapped files held for this table now. */
  def residentBytes: Long = synchronized {
    val deletes = mutable.Map.empty[DeleteSegment, Long]
    snapshots.values.forEach(s => deletes ++= s.deletes.segments.map(d => d.segment -> d.origin.source.sizeBytes))
    distinct.iterator.map { case (segment, origin) =>
      origin.residentBytes(segment.residentBytes)
    }.sum + deletes.values.sum + facts.residentBytes
  }

  /** Forgets the snapshot used least recently, and the manifests only it knew; `false` if there is none. */
  def evictOldest(): Boolean = synchronized {
    val keys = snapshots.keySet().iterator()
    val evicted = keys.hasNext
    if (evicted) discard(keys.next())
    evicted
  }

  /**
   * Lets go of what was read of stored segments whose commits are all older than `cutoffMillis`; they stay covered and
   * are read from the store again when a query needs them. The files are opened outside of the lock.
   */
  def coolBefore(cutoffMillis: Long): Unit = {
    val cold = synchronized(distinct).toSeq.filter { case (segment, origin) =>
      origin.residentBytes(segment.residentBytes) * 4 > origin.source.sizeBytes && origin.committedAtMillis.forall(
        _ < cutoffMillis)
    }
    for {
      seen <- lastSeen.toSeq
      (segment, origin) <- cold
      stored <- origin.stored
      (opened, source) <- reopened(new IndexStore(seen.operations.io(), stored.storeRoot), stored)
    } replace(segment, opened, origin.copy(source = source, isInMemory = false))
  }

  /** `None` where the store's file cannot be opened: what is in memory is then all there is of it. */
  private def reopened(store: IndexStore, stored: StoredSegment): Option[(Segment, ByteSource)] =
    try {
      val source = store.openSegment(stored.ref)
      val segment = Segment.open(source)
      segment.manifests // to find them, before the file is let go of
      FileIOByteSource.release(source)
      Some((segment, source))
    } catch { case NonFatal(_) => None }

  private def replace(before: Segment, after: Segment, origin: SegmentOrigin): Unit = synchronized {
    val holders = mutable.ArrayBuffer.empty[SnapshotIndex]
    snapshots.values.forEach(s => if (s.segments.exists(_.segment eq before)) holders += s)
    val shared = mutable.Map.empty[Seq[Int], LiveSegment]
    holders.foreach { holder =>
      val changed = holder.withSegments(holder.segments.map { live =>
        if (live.segment ne before) live
        else shared.getOrElseUpdate(live.liveManifests.toSeq, new LiveSegment(after, origin, live.liveManifests))
      })
      snapshots.replace(holder.key, changed)
      if (newestPut.contains(holder)) newestPut = Some(changed)
      learn(changed)
    }
    data.forget(before)
  }

  /** Forgets one snapshot, and the manifests only it knew. */
  def discard(key: SnapshotKey): Unit = synchronized {
    Option(snapshots.remove(key)).foreach { removed =>
      newestPut = newestPut.filter(_.key != key)
      forgetSegmentsOf(removed)
      if (snapshots.isEmpty) lastSeen = None
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
    data.clear()
    deletes.clear()
    newestPut = None
    lastSeen = None
    heldFacts = TableFacts.Empty
  }

  private def distinct: Map[Segment, SegmentOrigin] = {
    val found = mutable.Map.empty[Segment, SegmentOrigin]
    snapshots.values.forEach(s => s.segments.foreach(live => found.put(live.segment, live.origin)))
    found.toMap
  }

  private def learn(snapshot: SnapshotIndex): Unit = {
    snapshot.segments.foreach { live =>
      data.learn(live.segment, live.origin, live.liveManifests)(live.segment.manifests(_).identity)
    }
    snapshot.deletes.segments.foreach { live =>
      deletes.learn(live.segment, live.origin, live.liveManifests)(live.segment.manifests(_).identity)
    }
  }

  private def forgetSegmentsOf(removed: SnapshotIndex): Unit = {
    val kept = java.util.Collections.newSetFromMap(new java.util.IdentityHashMap[AnyRef, java.lang.Boolean])
    snapshots.values.forEach { s =>
      s.segments.foreach(live => kept.add(live.segment))
      s.deletes.segments.foreach(live => kept.add(live.segment))
    }
    removed.segments.filterNot(live => kept.contains(live.segment)).foreach(live => data.forget(live.segment))
    removed.deletes.segments
      .filterNot(live => kept.contains(live.segment))
      .foreach(live => deletes.forget(live.segment))
  }
}

private[zonemap] object TableIndex {

  /** Snapshots of one table held at once; more are rarely asked for, and each has its own list of segments. */
  val MaxSnapshots = 32
}

/** A table as it was loaded by someone in this JVM, with the settings of that use. */
private[zonemap] final case class SeenTable(name: String, operations: TableOperations, settings: PlannerSettings)

/**
 * Which segments have which manifests, the one learned last first. Not thread-safe.
 *
 * A segment costs its manifests when it is learned first or with another live set, and when it is forgotten; not once a
 * snapshot.
 */
private final class KnownManifests[S <: AnyRef] {
  private val places = mutable.HashMap.empty[ManifestIdentity, List[Located[S]]]
  private val learned = new java.util.IdentityHashMap[S, Learned]

  private final class Learned(val origin: SegmentOrigin, val identityOf: Int => ManifestIdentity) {
    val ordinals = mutable.BitSet.empty
  }

  def find(identity: ManifestIdentity): Option[Located[S]] = places.get(identity).map(_.head)

  def learn(segment: S, origin: SegmentOrigin, liveManifests: Array[Int])(identityOf: Int => ManifestIdentity): Unit = {
    // a segment that has got into a store since is known by its place there
    if (origin.stored.isDefined && Option(learned.get(segment)).exists(_.origin.stored != origin.stored))
      forget(segment)
    val known = learned.computeIfAbsent(segment, _ => new Learned(origin, identityOf))
    liveManifests.foreach { ordinal =>
      if (known.ordinals.add(ordinal))
        places.updateWith(identityOf(ordinal)) { others =>
          Some(Located(segment, known.origin, ordinal) :: others.getOrElse(Nil))
        }
    }
  }

  def forget(segment: S): Unit =
    Option(learned.remove(segment)).foreach { known =>
      known.ordinals.foreach { ordinal =>
        places.updateWith(known.identityOf(ordinal))(_.map(_.filterNot(_.segment eq segment)).filter(_.nonEmpty))
      }
    }

  def clear(): Unit = {
    places.clear()
    learned.clear()
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
  private val names = new ConcurrentHashMap[String, java.lang.ref.WeakReference[TableIndex]]

  def of(table: Table): TableIndex = of(table.uuid())

  def of(uuid: UUID): TableIndex = synchronized(tables.computeIfAbsent(uuid, new TableIndex(_)))

  def residentBytes: Long = all.iterator.map(_.residentBytes).sum

  /**
   * Lets go of memory until at most `maxBytes` are held, tables used least recently first: what was read of facts, of
   * stored segments older than the hot window, then whole snapshots.
   */
  def shrinkTo(maxBytes: Long, hotWindowMillis: Long = Long.MaxValue): Unit =
    if (residentBytes > maxBytes) {
      untilFits(maxBytes) { table =>
        table.facts.release()
        false
      }
      if (hotWindowMillis < Long.MaxValue) {
        val cutoff = System.currentTimeMillis() - hotWindowMillis
        untilFits(maxBytes) { table =>
          table.coolBefore(cutoff)
          false
        }
      }
      untilFits(maxBytes)(_.evictOldest())
    }

  /** Calls `shrink` on tables until the cap is kept, on one as long as it answers `true`. */
  private def untilFits(maxBytes: Long)(shrink: TableIndex => Boolean): Unit = {
    val oldestFirst = all.iterator
    var held = residentBytes
    while (held > maxBytes && oldestFirst.hasNext) {
      val table = oldestFirst.next()
      var more = true
      while (held > maxBytes && more) {
        more = shrink(table)
        held = residentBytes
      }
    }
  }

  /** Notes how `table` was reached, so that commits to it, which name it only, can be followed. */
  def seen(index: TableIndex, table: Table, settings: PlannerSettings): Unit =
    table match {
      case withOperations: HasTableOperations =>
        val known = index.lastSeen.exists { seen =>
          (seen.operations eq withOperations.operations()) && seen.settings == settings && seen.name == table.name()
        }
        if (!known) {
          index.lastSeen = Some(SeenTable(table.name(), withOperations.operations(), settings))
          names.put(table.name(), new java.lang.ref.WeakReference(index)): Unit
        }
      case _ => ()
    }

  /** The table of that name that was seen last; names of different catalogs may collide, uuids decide later. */
  def named(name: String): Option[TableIndex] = Option(names.get(name)).flatMap(reference => Option(reference.get))

  def forget(uuid: UUID): Unit = synchronized(Option(tables.remove(uuid)).foreach(_.clear()))

  def clear(): Unit = synchronized {
    tables.clear()
    names.clear()
  }

  private def all: Seq[TableIndex] = synchronized {
    val copy = mutable.ArrayBuffer.empty[TableIndex]
    tables.values.forEach(t => copy += t)
    copy.toSeq
  }

  /** The snapshot id and its parents, newest first. */
  def lineage(table: Table, snapshot: Snapshot): Iterator[Long] =
    Iterator
      .iterate(Option(snapshot))(_.flatMap(s => Option(s.parentId())).flatMap(id => Option(table.snapshot(id))))
      .takeWhile(_.isDefined)
      .flatten
      .map(_.snapshotId())
}
