package zonemap.iceberg.index

import java.util.UUID

import scala.collection.mutable

import org.apache.iceberg.TableOperations

import zonemap.core.segment.{ByteSource, ColumnChoice, DeleteSegment, ManifestIdentity, Segment}
import zonemap.iceberg.plan.PlannerSettings
import zonemap.iceberg.store.{ColdCache, IndexStore}

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

  /** What is being read of it: a store that is opened, manifests that are decoded. */
  private[iceberg] val flights = new Flights

  val storeState = new StoreState

  /** The last snapshot that was covered in memory and did not fit under the cap, with the bytes it needs. */
  @volatile private[iceberg] var oversized: Option[Oversized] = None

  /** How the table was reached last, while a snapshot of it is held. */
  @volatile private[iceberg] var lastSeen: Option[SeenTable] = None

  @volatile private var heldFacts = TableFacts.Empty
  @volatile private var held = TableIndex.FirstChoice

  /** The facts about data files of this table, whichever snapshots they are in. */
  def facts: TableFacts = heldFacts

  /** Takes over facts, unless a later snapshot's are held; equal ones stay as they are, with what was read of them. */
  def learn(facts: TableFacts): Unit = synchronized {
    if (facts.sequenceNumber >= heldFacts.sequenceNumber && facts.refs != heldFacts.refs) heldFacts = facts
  }

  /** The columns that new segments are to hold. */
  def choice: ColumnChoice = held.columns

  /** Takes over what the version of a snapshot says of columns, unless a later snapshot's is held. */
  def choose(sequenceNumber: Long, columns: ColumnChoice): Unit = synchronized {
    if (sequenceNumber >= held.sequenceNumber) held = DatedChoice(sequenceNumber, columns)
  }

  def get(key: SnapshotKey): Option[SnapshotIndex] = synchronized(Option(snapshots.get(key)))

  /** Holds a snapshot, in place of one of the same key; beyond [[TableIndex.MaxSnapshots]] the one used least goes. */
  def put(snapshot: SnapshotIndex): Unit = synchronized {
    val replaced = Option(snapshots.put(snapshot.key, snapshot))
    newestPut = Some(snapshot)
    learn(snapshot)
    snapshot.facts.foreach(learn)
    snapshot.choice.foreach(choose(snapshot.sequenceNumber, _))
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

  /** Bytes of memory and spilled files held for this table now. */
  def residentBytes: Long = synchronized {
    val deletes = mutable.Map.empty[DeleteSegment, Long]
    snapshots.values.forEach(s => deletes ++= s.deletes.segments.map(d => d.segment -> d.origin.source.sizeBytes))
    distinct.iterator.map { case (segment, origin) => origin.residentBytes(segment) }.sum + deletes.values.sum +
      facts.residentBytes
  }

  /** Bytes of the segments held that are in local files of this JVM. */
  def spilledBytes: Long = synchronized {
    distinct.valuesIterator.filter(_.place == SegmentPlace.Spilled).map(_.source.sizeBytes).sum
  }

  /** Forgets the snapshot used least recently, and the manifests only it knew; `false` if there is none. */
  def evictOldest(): Boolean = synchronized {
    val keys = snapshots.keySet().iterator()
    val evicted = keys.hasNext
    if (evicted) discard(keys.next())
    evicted
  }

  /**
   * Lets go of memory of segments whose commits are all older than `cutoffMillis`, oldest first, until `wantedBytes` are
   * free; answers how many are. What is covered stays covered. Files are written outside of the lock.
   */
  def cool(cutoffMillis: Long, wantedBytes: Long): Long = {
    val oldestFirst = synchronized(distinct).toSeq
      .filter { case (_, origin) => origin.committedAtMillis.forall(_ < cutoffMillis) }
      .sortBy { case (_, origin) => origin.committedAtMillis.getOrElse(Long.MinValue) }
      .iterator
    var freed = 0L
    val cooled = new java.util.IdentityHashMap[Segment, (Segment, SegmentOrigin)]
    while (freed < wantedBytes && oldestFirst.hasNext) {
      val (segment, origin) = oldestFirst.next()
      Cooling.of(segment, origin, openStored).foreach { case (after, changed) =>
        freed += origin.residentBytes(segment) - changed.residentBytes(after)
        cooled.put(segment, (after, changed))
      }
    }
    if (!cooled.isEmpty) replace(cooled)
    freed
  }

  /** A segment as its store has it; nothing is read. */
  private def openStored(stored: StoredSegment): Option[ByteSource] =
    lastSeen.map(seen => new IndexStore(seen.operations.io(), stored.storeRoot).openSegment(stored.ref))

  private def replace(cooled: java.util.Map[Segment, (Segment, SegmentOrigin)]): Unit = synchronized {
    val holders = mutable.ArrayBuffer.empty[SnapshotIndex]
    snapshots.values.forEach(s => if (s.segments.exists(live => cooled.containsKey(live.segment))) holders += s)
    val shared = mutable.Map.empty[(Segment, Seq[Int]), LiveSegment]
    holders.foreach { holder =>
      val changed = holder.withSegments(holder.segments.map { live =>
        Option(cooled.get(live.segment)).fold(live) { case (segment, origin) =>
          shared.getOrElseUpdate(
            (segment, live.liveManifests.toSeq),
            new LiveSegment(segment, origin, live.liveManifests))
        }
      })
      snapshots.replace(holder.key, changed)
      if (newestPut.contains(holder)) newestPut = Some(changed)
      learn(changed)
    }
    cooled.keySet().forEach(before => data.forget(before))
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
    // what was wrong may be what was fetched, not what is stored
    distinct.valuesIterator.flatMap(_.stored).map(_.storeRoot).toSet.foreach(ColdCache.forget)
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
    held = TableIndex.FirstChoice
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

  private val FirstChoice = DatedChoice(Long.MinValue, ColumnChoice.All)
}

/** A choice of columns and the sequence number of the snapshot whose version has it. */
private final case class DatedChoice(sequenceNumber: Long, columns: ColumnChoice)

/** A table as it was loaded by someone in this JVM, with the settings of that use. */
private[zonemap] final case class SeenTable(name: String, operations: TableOperations, settings: PlannerSettings)

/** A snapshot whose index needs more bytes than the cap allowed. */
private[zonemap] final case class Oversized(key: SnapshotKey, bytes: Long)
