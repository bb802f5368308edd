// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.registry

import java.util.{IdentityHashMap, UUID}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.iceberg.TableOperations

import zonemap.core.column.ColumnChoice
import zonemap.core.io.ByteSource
import zonemap.core.segment.{ManifestIdentity, Segment}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, StoreAccess}

/**
 * The index of one table in this JVM: the snapshots that it has indexed or loaded, and their manifests.
 *
 * A manifest counts as known only if its complete manifest-list entry matches, see [[ManifestIdentity]]. Snapshots are
 * ordered by their last use; [[IndexRegistry]] evicts the least recently used one first. Thread-safe.
 *
 * @param access the caches and threads that this process shares for requests to stores
 */
private[zonemap] final class TableIndex(val uuid: UUID, access: StoreAccess) extends ManifestLookup {
  private val snapshots = new java.util.LinkedHashMap[SnapshotKey, SnapshotIndex](16, 0.75f, true)
  private val data = new ManifestSegments[Segment]
  private val deletes = new ManifestSegments[KeyedDeletes]
  private var newestPut = Option.empty[SnapshotIndex]

  /** The reads of this table that are under way: loading a stored snapshot, and decoding manifests. */
  private[zonemap] val flights = new InFlight(access.loads)

  val storeState = new StoreState

  /** The rows of snapshots of this table, if it is small and queries have needed them. */
  private[zonemap] val rows = new HeldRows

  /** The last covered snapshot that did not fit under the cap, with the bytes that it needs. */
  @volatile private[zonemap] var oversized: Option[Oversized] = None

  /** How the table was loaded last; set only while a snapshot of it is retained. */
  @volatile private[zonemap] var lastSeen: Option[SeenTable] = None

  /** Whether a build has found the table without a snapshot, until the first snapshot that a commit makes is covered. */
  @volatile private[zonemap] var isExpected = false

  /** The name by which the table was loaded last; retained if the index is discarded. */
  @volatile private[zonemap] var lastName = Option.empty[String]

  /** The snapshot for whose data files this JVM has built all facts that the table has. */
  @volatile private[zonemap] var factsBuiltFor: Option[Long] = None

  /** What upkeep has chosen, tried and dropped by observed scans: the facts, each with its reason. */
  @volatile private[zonemap] var factNotes: Seq[(String, String)] = Nil

  /** Held while facts of the table are built or dropped. */
  private[zonemap] val changesOfFacts = new Object

  @volatile private var usedNanos = System.nanoTime()

  @volatile private var heldFacts = TableFacts.Empty
  @volatile private var held = TableIndex.FirstChoice

  /** The facts about data files of this table, in any snapshot. */
  def facts: TableFacts = heldFacts

  /**
   * Replaces the facts, unless the present ones are of a later snapshot. Equal facts are not replaced, so that the
   * files that were read stay loaded.
   */
  def learn(facts: TableFacts): Unit = synchronized {
    if (facts.sequenceNumber >= heldFacts.sequenceNumber && facts.refs != heldFacts.refs) heldFacts = facts
  }

  /** Discards the facts until a snapshot that names facts is added. */
  private[registry] def forgetFacts(): Unit = synchronized { heldFacts = TableFacts.Empty }

  /** Records the time of a use. */
  private[zonemap] def used(): Unit = usedNanos = System.nanoTime()

  /** Whether the index is empty, no pause is in effect, and no caller has used the table for some time. */
  private[registry] def isIdle(nowNanos: Long): Boolean =
    nowNanos - usedNanos >= TableIndex.IdleNanos && storeState.isIdle && isEmpty && facts.refs.isEmpty && quarantined.isEmpty

  /** The columns that new segments contain. */
  override def choice: ColumnChoice = held.columns

  /**
   * Replaces the columns to index by the columns in a snapshot's version, unless the present ones are of a later
   * snapshot.
   */
  def choose(sequenceNumber: Long, columns: ColumnChoice): Unit = synchronized {
    if (sequenceNumber >= held.sequenceNumber) held = DatedChoice(sequenceNumber, columns)
  }

  /** The verified index of a snapshot, from which scans can be planned. */
  def get(key: SnapshotKey): Option[SnapshotIndex] = synchronized(Option(snapshots.get(key)).filter(_.isVerified))

  /** The snapshots that [[get]] returns now. Unlike [[get]], this does not count as a use of a snapshot. */
  def covered: Map[SnapshotKey, SnapshotIndex] = synchronized {
    snapshots.values.asScala.iterator.filter(_.isVerified).map(s => s.key -> s).toMap
  }

  /**
   * Adds a snapshot and replaces one with the same key. Above [[TableIndex.MaxSnapshots]], the least recently used
   * snapshot is evicted.
   */
  def put(snapshot: SnapshotIndex): Unit = synchronized {
    val replaced = Option(snapshots.put(snapshot.key, snapshot))
    newestPut = Some(snapshot)
    learn(snapshot)
    snapshot.facts.foreach(learn)
    snapshot.choice.foreach(choose(snapshot.sequenceNumber, _))
    replaced.foreach(forgetSegmentsOf)
    if (snapshots.size > TableIndex.MaxSnapshots) evictOldest(): Unit
  }

  /** The snapshot that was added last, if it is still retained. */
  override def newest: Option[SnapshotIndex] = synchronized(newestPut)

  override def dataManifest(identity: ManifestIdentity): Option[Located[Segment]] = synchronized(data.find(identity))

  override def deleteManifest(identity: ManifestIdentity): Option[Located[KeyedDeletes]] = synchronized(
    deletes.find(identity))

  def isEmpty: Boolean = synchronized(snapshots.isEmpty)

  /** Whether commits of this process are indexed. */
  private[zonemap] def isFollowed: Boolean = isExpected || !isEmpty

  /** The distinct segments of all retained snapshots. */
  def segments: Set[Segment] = synchronized(distinct.keys.toSet)

  /** The bytes of memory and of spilled files that this table uses now: segments, delete files, facts, rows, names. */
  def residentBytes: Long = synchronized {
    val beside = facts.residentBytes + rows.bytes
    if (snapshots.isEmpty) beside
    else HeldBytes.of(snapshots.values) + data.heapBytes + deletes.heapBytes + beside
  }

  /** The bytes of the retained segments that are in spilled files of this JVM. */
  def spilledBytes: Long = synchronized {
    distinct.valuesIterator.filter(_.place == SegmentPlace.Spilled).map(_.source.sizeBytes).sum
  }

  /**
   * Evicts the least recently used snapshot and the manifests that only it contains; returns `false` if there is none.
   */
  def evictOldest(): Boolean = synchronized {
    val keys = snapshots.keySet().iterator()
    val evicted = keys.hasNext
    if (evicted) discard(keys.next())
    evicted
  }

  /**
   * Releases the memory of segments whose commits are all older than `cutoffMillis`, oldest first, until `wantedBytes`
   * are free; returns the number of freed bytes. Covered snapshots stay covered. No lock is held while files are
   * written.
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
      Cooling.of(segment, origin, access.spill, openStored).foreach { case (after, changed) =>
        freed += origin.residentBytes(segment) - changed.residentBytes(after)
        cooled.put(segment, (after, changed))
      }
    }
    if (!cooled.isEmpty) replace(cooled)
    freed
  }

  /** The bytes of a segment in its store; nothing is read yet. */
  private def openStored(stored: StoredSegment): Option[ByteSource] =
    lastSeen.map(seen => new IndexStore(seen.operations.io(), stored.storeRoot, access).openSegment(stored.ref))

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

  /** Removes one snapshot and the manifests that only it contains. */
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

  @volatile private var wrong = Option.empty[String]

  /** The reason why the index of the table must not be used, if shadow mode found a wrong plan. */
  def quarantined: Option[String] = wrong

  /** Discards the index; Iceberg plans the table until a build has created a new index. */
  def quarantine(difference: String): Unit = {
    wrong = Some(difference)
    damaged(difference)
  }

  /** Ends the quarantine, because a build has created the index from the manifests alone. */
  def rebuilt(): Unit = wrong = None

  /**
   * Discards every snapshot, because a segment is damaged; the store is not read again for some time.
   *
   * @param why the description of the damage
   */
  def damaged(why: String): Unit = synchronized {
    // the damage may be in the cached bytes and not in the store
    distinct.valuesIterator.flatMap(_.stored).map(_.storeRoot).toSet.foreach(access.cold.forget)
    forgetAll()
    storeState.unusable(StoreState.damaged(why))
  }

  private def forgetAll(): Unit = {
    snapshots.clear()
    data.clear()
    deletes.clear()
    newestPut = None
    lastSeen = None
    heldFacts = TableFacts.Empty
    factsBuiltFor = None
    rows.release()
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

  /**
   * The greatest number of retained snapshots of one table. Queries rarely read more, and each snapshot has its own
   * list of segments.
   */
  val MaxSnapshots = 32

  /** An empty table is removed after an hour without a plan, which is longer than any work on its index takes. */
  private[registry] val IdleNanos: Long = 3600L * 1000 * 1000 * 1000

  private val FirstChoice = DatedChoice(Long.MinValue, ColumnChoice.All)
}

/** The columns to index and the sequence number of the snapshot whose version names them. */
private final case class DatedChoice(sequenceNumber: Long, columns: ColumnChoice)

/** A table as a caller in this JVM loaded it, with the settings of that caller. */
private[zonemap] final case class SeenTable(name: String, operations: TableOperations, settings: PlannerSettings)

/**
 * A snapshot whose index needs more bytes than the cap allows.
 *
 * @param deleteBytes the bytes of its delete files, all of which every plan needs
 */
private[zonemap] final case class Oversized(key: SnapshotKey, bytes: Long, deleteBytes: Long) {

  /** Whether the index does not fit under a cap even if nothing else is retained. */
  def isForGood(maxBytes: Long): Boolean = deleteBytes > maxBytes
}

/**
 * Adds up the memory of snapshots, and counts each object that they share once. The size on the heap is an estimate
 * from the sizes of the objects; it agrees with a heap histogram within 20 %.
 */
private[registry] object HeldBytes {

  def of(snapshots: java.lang.Iterable[SnapshotIndex]): Long = {
    val counted = new IdentityHashMap[AnyRef, AnyRef]
    var bytes = 0L
    def once(shared: AnyRef)(size: => Long): Unit = if (counted.put(shared, shared) == null) bytes += size
    snapshots.forEach { snapshot =>
      bytes += snapshot.ownBytes
      snapshot.segments.foreach { live =>
        once(live)(live.ownBytes)
        once(live.origin)(live.origin.ownBytes)
        once(live.segment)(live.residentBytes)
      }
      snapshot.deletes.segments.foreach { live =>
        once(live.origin)(live.origin.ownBytes)
        once(live.segment)(live.segment.heapBytes)
      }
    }
    bytes
  }
}
