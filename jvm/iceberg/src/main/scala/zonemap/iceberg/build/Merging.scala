// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import org.apache.iceberg.Table

import zonemap.core.column.ColumnChoice
import zonemap.iceberg.settings.{MergePoint, MergePolicy}
import zonemap.iceberg.snapshot.{LiveSegment, ManifestLookup, SnapshotDeletes, SnapshotIndex}
import zonemap.iceberg.store.Level

/**
 * Merges the segments of a snapshot in memory when the policy requires it.
 *
 * A merge reads immutable segments and holds no lock, so neither readers nor writers wait. Two merges of the same
 * segments do the work twice, and plans from either result are the same. Thread-safe: no state.
 */
private[zonemap] object Merging {

  def isDue(table: Table, snapshot: SnapshotIndex, policy: MergePolicy): Boolean =
    policy.isDue(point(table, snapshot, snapshot.segments)) || snapshot.deletes.segments.size >= policy.hardCap

  /** `snapshot` with its segments merged if `policy` requires a merge; the same object if no segment changes. */
  def ifDue(
      table: Table,
      snapshot: SnapshotIndex,
      index: ManifestLookup,
      policy: MergePolicy,
      compactor: SegmentCompactor): SnapshotIndex =
    if (!isDue(table, snapshot, policy)) snapshot
    else {
      // another caller may have merged the segments meanwhile, so that no merge is due any more
      val relocated = snapshot.withSegments(SnapshotIndexer.relocated(snapshot, index))
      if (isDue(table, relocated, policy))
        merged(table, relocated, policy.hardCap, purge = false, index.choice, compactor)
      else relocated
    }

  /** `snapshot` with all its segments merged one level up and without dead manifests. */
  def all(table: Table, snapshot: SnapshotIndex, index: ManifestLookup, compactor: SegmentCompactor): SnapshotIndex =
    merged(table, snapshot, maxDeletes = 2, purge = true, index.choice, compactor)

  private def merged(
      table: Table,
      snapshot: SnapshotIndex,
      maxDeletes: Int,
      purge: Boolean,
      choice: ColumnChoice,
      compactor: SegmentCompactor): SnapshotIndex = {
    val data = compactor.mergeUp(snapshot.segments, purge, choice)
    val deletes =
      if (snapshot.deletes.segments.size < maxDeletes) snapshot.deletes
      else
        new SnapshotDeletes(
          compactor.mergeDeletes(snapshot.deletes.segments, choice),
          SnapshotDeletes.unpartitioned(table))
    new SnapshotIndex(snapshot.key, snapshot.sequenceNumber, data, deletes)
  }

  private def point(table: Table, snapshot: SnapshotIndex, segments: IndexedSeq[LiveSegment]): MergePoint = {
    val runs = segments.filter(_.origin.level == Level.Micro)
    val newest = if (runs.isEmpty) Nil else runs.map(_.lastSequence).sorted.init
    MergePoint(table.uuid(), snapshot.sequenceNumber, newest.lastOption.getOrElse(snapshot.sequenceNumber), runs.size)
  }
}
