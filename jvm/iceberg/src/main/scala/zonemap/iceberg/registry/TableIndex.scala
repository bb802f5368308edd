package zonemap.iceberg.registry

import java.util.UUID

import scala.collection.mutable

import org.apache.iceberg.TableOperations

import zonemap.core.column.ColumnChoice
import zonemap.core.io.ByteSource
import zonemap.core.segment.{ManifestIdentity, Segment}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, StoreAccess}

/**
 * What this JVM knows of one table: the snapshots it has indexed or opened, and through them the manifests.
 *
 * A manifest counts as known only if its whole manifest-list entry matches, see [[ManifestIdentity]]. Snapshots are
 * kept in the order of their last use; [[IndexRegistry]] evicts the oldest. Thread-safe.
 *
 * @param access what this process shares for requests to stores
 */
private[zonemap] final class TableIndex(val uuid: UUID, access: StoreAccess) extends ManifestLookup {
  private val snapshots = new java.util.LinkedHashMap[SnapshotKey, SnapshotIndex](16, 0.75f, true)
  private val data = new KnownManifests[Segment]
  private val deletes = new KnownManifests[KeyedDeletes]
  private var newestPut = Option.empty[SnapshotIndex]

  /** What is being read of it: a store that is opened, manifests that are decoded. */
  private[iceberg] val flights = new Flights(access.loads)

  val storeState = new StoreState

  /** The last snapshot that was covered in memory and did not fit under the cap, with the bytes it needs. */
  @volatile private[iceberg] var oversized: Option[Oversized] = None

  /** How the table was reached last, while a snapshot of it is held. */
  @volatile private[iceberg] var lastSeen: Option[SeenTable] = None

  /** The snapshot whose data files have all the facts that the table has, as far as this JVM has built them. */
  @volatile private[iceberg] var factsBuiltFor: Option[Long] = None

  @volatile private var usedNanos = System.nanoTime()

  @volatile private var heldFacts = TableFacts.Empty
  @volatile private var held = TableIndex.FirstChoice

  /** The facts about data files of this table, whichever snapshots they are in. */
  def facts: TableFacts = heldFacts

  /** Takes over facts, unless a later snapshot's are held; equal ones stay as they are, with what was read of them. */
  def learn(facts: TableFacts): Unit = synchronized {
    if (facts.sequenceNumber >= heldFacts.sequenceNumber && facts.refs != heldFacts.refs) heldFacts = facts
  }

  /** Forgets the facts until a snapshot that names some is put. */
  private[registry] def forgetFacts(): Unit = synchronized { heldFacts = TableFacts.Empty }

  /** Notes that somebody is about to use this. */
  private[iceberg] def used(): Unit = usedNanos = System.nanoTime()

  /** Whether nothing is held, nothing waits to be tried again, and nobody has asked for a while. */
  private[registry] def isIdle(nowNanos: Long): Boolean =
    nowNanos - usedNanos >= TableIndex.IdleNanos && storeState.isIdle && isEmpty && facts.refs.isEmpty && quarantined.isEmpty

  /** The columns that new segments are to hold. */
  override def choice: ColumnChoice = held.columns

  /** Takes over what the version of a snapshot says of columns, unless a later snapshot's is held. */
  def choose(sequenceNumber: Long, columns: ColumnChoice): Unit = synchronized {
    if (sequenceNumber >= held.sequenceNumber) held = DatedChoice(sequenceNumber, columns)
  }

  /** The index of a snapshot, to plan from. */
  def get(key: SnapshotKey): Option[SnapshotIndex] = synchronized(Option(snapshots.get(key)).filter(_.isVerified))

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
  override def newest: Option[SnapshotIndex] = synchronized(newestPut)

  override def dataManifest(identity: ManifestIdentity): Option[Located[Segment]] = synchronized(data.find(identity))

  override def deleteManifest(identity: ManifestIdentity): Option[Located[KeyedDeletes]] = synchronized(
    deletes.find(identity))

  def isEmpty: Boolean = synchronized(snapshots.isEmpty)

  /** Distinct segments of all snapshots held. */
  def segments: Set[Segment] = synchronized(distinct.keys.toSet)

  /** Bytes of memory and spilled files held for this table now: of segments, delete files, facts, and names. */
  def residentBytes: Long = synchronized {
    if (snapshots.isEmpty) facts.residentBytes
    else HeldBytes.of(snapshots.values) + data.heapBytes + deletes.heapBytes + facts.residentBytes
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
      Cooling.of(segment, origin, access.spill, openStored).foreach { case (after, changed) =>
        freed += origin.residentBytes(segment) - changed.residentBytes(after)
        cooled.put(segment, (after, changed))
      }
    }
    if (!cooled.isEmpty) replace(cooled)
    freed
  }

  /** A segment as its store has it; nothing is read. */
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

  @volatile private var wrong = Option.empty[String]

  /** Why the index of the table must not be used, if shadow mode found it wrong. */
  def quarantined: Option[String] = wrong

  /** Forgets the index and has Iceberg plan the table until a build has made it anew. */
  def quarantine(difference: String): Unit = {
    wrong = Some(difference)
    damaged(difference)
  }

  /** The index was made anew from the manifests alone. */
  def rebuilt(): Unit = wrong = None

  /**
   * Forgets every snapshot and leaves the store alone for a while: a segment of it turned out to be damaged.
   *
   * @param why what is wrong with it
   */
  def damaged(why: String): Unit = synchronized {
    // what was wrong may be what was fetched, not what is stored
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

  /** A table that holds nothing is forgotten after an hour without a plan: longer than any work on its index takes. */
  private[registry] val IdleNanos: Long = 3600L * 1000 * 1000 * 1000

  private val FirstChoice = DatedChoice(Long.MinValue, ColumnChoice.All)
}

/** A choice of columns and the sequence number of the snapshot whose version has it. */
private final case class DatedChoice(sequenceNumber: Long, columns: ColumnChoice)

/** A table as it was loaded by someone in this JVM, with the settings of that use. */
private[zonemap] final case class SeenTable(name: String, operations: TableOperations, settings: PlannerSettings)

/**
 * A snapshot whose index needs more bytes than the cap allowed.
 *
 * @param deleteBytes those of its delete files, all of which every plan needs
 */
private[zonemap] final case class Oversized(key: SnapshotKey, bytes: Long, deleteBytes: Long) {

  /** Whether it does not fit under a cap even if nothing else is held. */
  def isForGood(maxBytes: Long): Boolean = deleteBytes > maxBytes
}
