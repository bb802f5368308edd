// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.iceberg.Table

import zonemap.core.column.ColumnChoice
import zonemap.core.io.{Checksums, CorruptIndexException}
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.{FactRef, SegmentRef, VersionFile}
import zonemap.iceberg.convert.IcebergValues
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, Level}

/** Writes snapshots to a store; [[StoredSnapshots]] reads them. Thread-safe: no state. */
private[zonemap] object SnapshotWriter {

  /**
   * Writes the segments of `index` that the store does not contain yet, and then the version of the snapshot; returns
   * the stored snapshot. The store gets no data and no reference about a column that is not chosen: a segment that
   * contains such a column is rewritten first.
   *
   * @param held the facts and columns in the memory of this process, for a store whose versions cannot be read
   * @param facts makes the facts that the version names of those that the newest version names
   * @param choice the columns to index from now on; `None`: the columns that the newest version names
   */
  def save(
      table: Table,
      index: SnapshotIndex,
      store: IndexStore,
      held: => (Seq[FactRef], ColumnChoice),
      facts: Seq[FactRef] => Seq[FactRef] = identity,
      choice: Option[ColumnChoice] = None): SnapshotIndex = {
    val compactor = new SegmentCompactor(store.access.spill)
    val (namedBefore, columnsBefore) = standing(table, index, store, held)
    val named = facts(namedBefore)
    val columns = choice.getOrElse(columnsBefore)
    val data = compactor.slimmed(index.segments, columns).map { live =>
      if (live.origin.isStoredIn(store.root)) live
      else {
        val origin = stored(live.origin, live.segment.manifests, store)
        // a stored segment is read from its local file when a query needs it, so it leaves the heap
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
   * The facts and columns that the next version names again. They come from the store and not from this JVM, because
   * another JVM may have built or dropped facts since.
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

  /** The version of the table that the hint names as the last one written, else the version of the snapshot. */
  def newestVersion(table: Table, snapshotId: Long, store: IndexStore): Option[VersionFile] =
    (store.readLatest().iterator ++ Iterator.single(snapshotId))
      .flatMap(store.readVersion)
      .find(_.tableUuid == table.uuid().toString)

  private def stored(
      origin: SegmentOrigin,
      manifests: IndexedSeq[SegmentManifest],
      store: IndexStore): SegmentOrigin = {
    val bytes = IcebergValues.toArray(origin.source.read(0, Math.toIntExact(origin.source.sizeBytes)))
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
