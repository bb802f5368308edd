package zonemap.iceberg.upkeep

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.{SegmentCompactor, SnapshotIndexer, SnapshotWriter}
import zonemap.iceberg.registry.{IndexProcess, TableIndex}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.store.IndexStore

/** Brings snapshots from their manifests into memory, and from memory into their store. Thread-safe: no state. */
private[zonemap] final class Covering(process: IndexProcess) {

  /** Reads the manifest list and every manifest the index does not know, into memory. */
  def cover(table: Table, snapshot: Snapshot, index: TableIndex): SnapshotIndex =
    SnapshotIndexer.inMemory(table, snapshot, SnapshotIndexer.diff(table, snapshot, index), process.access.fetches)

  /**
   * Saves a snapshot that grew in memory: what was decoded since the last flush becomes one segment. Where that needs a
   * segment which has left the store, `index` forgets what it holds.
   */
  def flush(table: Table, snapshot: SnapshotIndex, index: TableIndex, store: IndexStore): SnapshotIndex =
    try {
      val current = SnapshotIndexer.relocated(snapshot, index)
      val joined = new SegmentCompactor(store.access.spill).joinUnstored(current, store.root, index.choice)
      SnapshotWriter.save(table, snapshot.withSegments(joined), store, process.held(table))
    } catch {
      case e: CorruptIndexException =>
        index.damaged(e.toString)
        throw e
    }
}
