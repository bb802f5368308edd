package zonemap.iceberg.build

import org.apache.iceberg.Table

import zonemap.core.column.ColumnChoice
import zonemap.core.io.{Checksums, CorruptIndexException}
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.{FactRef, SegmentRef, VersionFile}
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, Level}

/** Writes snapshots to a store, for [[StoredSnapshots]] to read. Thread-safe: no state. */
private[zonemap] object SnapshotWriter {

  /**
   * Writes what of `index` the store does not hold yet, then its version; answers the snapshot as stored. Nothing of a
   * column that is not chosen is written or named: segments that hold more are written anew.
   *
   * @param held the facts and columns that this process knows of, for a store whose versions cannot be read
   * @param facts the facts that the version names; `None`: those that are there
   * @param choice the columns to index from now on; `None`: those that are by now
   */
  def save(
      table: Table,
      index: SnapshotIndex,
      store: IndexStore,
      held: => (Seq[FactRef], ColumnChoice),
      facts: Option[Seq[FactRef]] = None,
      choice: Option[ColumnChoice] = None): SnapshotIndex = {
    val compactor = new SegmentCompactor(store.access.spill)
    lazy val before = standing(table, index, store, held)
    val named = facts.getOrElse(before._1)
    val columns = choice.getOrElse(before._2)
    val data = compactor.slimmed(index.segments, columns).map { live =>
      if (live.origin.isStoredIn(store.root)) live
      else {
        val origin = stored(live.origin, live.segment.manifests, store)
        // what is in a local file is read from there when it is needed, and leaves the heap
        val segment = if (origin.source eq live.origin.source) live.segment else Segment.open(origin.source)
        new LiveSegment(segment, origin, live.liveManifests)
      }
    }
    val deletes = compactor.slimmedDeletes(index.deletes.segments, columns).map { live =>
      if (live.origin.isStoredIn(store.root)) live
      else new LiveDeleteSegment(live.segment, stored(live.origin, live.segment.manifests, store), live.liveManifests)
    }
    val refs = data.map(s => refOf(s.origin, s.liveManifests))
    val deleteRefs = deletes.map(s => refOf(s.origin, s.liveManifests))
    val version = VersionFile(
      tableUuid = table.uuid().toString,
      snapshotId = index.key.snapshotId,
      manifestListLocation = index.key.manifestListLocation,
      sequenceNumber = index.sequenceNumber,
      segments = refs,
      deleteSegments = deleteRefs,
      dataFiles = index.dataFiles,
      deleteFiles = index.deletes.count.toLong,
      facts = named,
      columns = columns
    )
    store.writeVersion(version)
    new SnapshotIndex(
      index.key,
      index.sequenceNumber,
      data,
      new SnapshotDeletes(deletes, SnapshotDeletes.unpartitioned(table)),
      Some(new TableFacts(index.sequenceNumber, named, store)),
      Some(columns)
    )
  }

  /**
   * The facts and columns that the next version goes on naming. The store is asked, not this JVM: another one may have
   * built some, or let go of some, since.
   */
  private def standing(
      table: Table,
      index: SnapshotIndex,
      store: IndexStore,
      held: => (Seq[FactRef], ColumnChoice)): (Seq[FactRef], ColumnChoice) =
    try
      newestVersion(table, index.key.snapshotId, store)
        .fold((Seq.empty[FactRef], ColumnChoice.All))(version => (version.facts, version.columns))
    catch { case _: CorruptIndexException => held }

  /** The version of the table that was written last, as far as the hint tells, else that of the snapshot. */
  def newestVersion(table: Table, snapshotId: Long, store: IndexStore): Option[VersionFile] =
    (store.readLatest().iterator ++ Iterator.single(snapshotId))
      .flatMap(store.readVersion)
      .find(_.tableUuid == table.uuid().toString)

  private def stored(
      origin: SegmentOrigin,
      manifests: IndexedSeq[SegmentManifest],
      store: IndexStore): SegmentOrigin = {
    val buffer = origin.source.read(0, Math.toIntExact(origin.source.sizeBytes))
    val bytes = new Array[Byte](buffer.remaining)
    buffer.get(bytes)
    val ref = writeSegment(bytes, manifests, origin.level, store)
    val saved = origin.copy(stored = Some(StoredSegment(store.root, ref)))
    store.local(ref).fold(saved)(saved.at(SegmentPlace.Store, _))
  }

  private def writeSegment(
      bytes: Array[Byte],
      manifests: IndexedSeq[SegmentManifest],
      level: Level,
      store: IndexStore): SegmentRef = {
    val sequences = manifests.map(_.identity.sequenceNumber)
    val hash = Checksums.contentHash(bytes)
    val path = store.writeSegment(level, sequences.min, sequences.max, hash, bytes)
    SegmentRef(path, hash, bytes.length.toLong, manifests.indices)
  }

  private def refOf(origin: SegmentOrigin, liveManifests: Array[Int]): SegmentRef =
    origin.stored.get.ref.copy(liveManifests = liveManifests.toSeq)
}
