// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.{AppendedFiles, ManifestDiff, SegmentCompactor, SnapshotIndexer, SnapshotWriter}
import zonemap.iceberg.registry.{IndexProcess, TableIndex}
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.store.IndexStore

/**
 * Decodes the manifests of snapshots into memory, and writes snapshots from memory to their store. Thread-safe: no
 * state.
 */
private[zonemap] final class Covering(process: IndexProcess) {

  /** Reads the manifest list, and decodes every manifest that neither the index nor `known` contains. */
  def cover(
      table: Table,
      snapshot: Snapshot,
      index: TableIndex,
      known: AppendedFiles = AppendedFiles.Empty): SnapshotIndex =
    cover(table, snapshot, SnapshotIndexer.diff(table, snapshot, index), known)

  /** Reads the manifest list; `None` if a manifest would have to be decoded. */
  def coverKnown(table: Table, snapshot: Snapshot, index: TableIndex, known: AppendedFiles): Option[SnapshotIndex] = {
    val diff = SnapshotIndexer.diff(table, snapshot, index)
    Option.when(diff.isKnown(known))(cover(table, snapshot, diff, known))
  }

  private def cover(table: Table, snapshot: Snapshot, diff: ManifestDiff, known: AppendedFiles): SnapshotIndex =
    SnapshotIndexer.inMemory(table, snapshot, diff, process.access.fetches, known)

  /**
   * Writes a snapshot to its store. The manifests decoded since the last flush become one segment. If a segment that
   * this needs is missing or damaged in the store, `index` discards its snapshots.
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
