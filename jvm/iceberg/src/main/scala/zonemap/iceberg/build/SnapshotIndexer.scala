// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.build

import scala.collection.mutable

import org.apache.iceberg.{ManifestContent, ManifestFile, Snapshot, Table}

import zonemap.core.column.ColumnChoice
import zonemap.core.io.ByteSource
import zonemap.core.segment.{Segment, SegmentManifest}
import zonemap.core.version.SegmentRef
import zonemap.iceberg.convert.{ManifestIdentities, PartitionTuples}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot._
import zonemap.iceberg.store.{IndexStore, Level, StorePool}

/**
 * The manifests of a snapshot, split into known ones, which the index contains, and unknown ones.
 *
 * @param held the segments of the newest snapshot in the index
 * @param choice the columns to index when the unknown manifests are decoded
 */
private[zonemap] final class ManifestDiff(
    val knownData: Seq[Located[Segment]],
    val unknownData: Seq[ManifestFile],
    val held: Iterable[LiveSegment],
    val choice: ColumnChoice,
    val knownDeletes: Seq[Located[KeyedDeletes]],
    val unknownDeletes: Seq[ManifestFile]) {

  /** The number of entries to decode, estimated by the length of a manifest if the manifest list has no counts. */
  def unknownEntries: Long = (unknownData ++ unknownDeletes).iterator.map { m =>
    ManifestIdentities.liveEntries(m).fold(m.length() / 100)(_.toLong)
  }.sum

  /** Whether nothing has to be decoded. */
  def isKnown(files: AppendedFiles): Boolean = unknownDeletes.isEmpty && unknownData.forall(files.in(_).isDefined)

  def knowsAnything: Boolean = knownData.nonEmpty || knownDeletes.nonEmpty
}

/**
 * Builds the [[SnapshotIndex]] of a snapshot from the existing segments of known manifests and from unknown
 * manifests, which it decodes.
 *
 * Reads the snapshot's manifest list and every unknown manifest once. Thread-safe: no state.
 */
private[zonemap] object SnapshotIndexer {

  /**
   * Reads the manifest list and looks up every manifest in `index`. Manifests without live entries are left out.
   *
   * @param isUsable whether the manifests of a data segment count as known
   * @param knowsDeletes whether the manifests of delete segments count as known
   */
  def diff(
      table: Table,
      snapshot: Snapshot,
      index: ManifestLookup,
      isUsable: Segment => Boolean = _ => true,
      knowsDeletes: Boolean = true): ManifestDiff = {
    val (dataManifests, deleteManifests) =
      ManifestIdentities.live(table, snapshot).partition(_.content() == ManifestContent.DATA)
    val data =
      dataManifests.map(m => (m, index.dataManifest(ManifestIdentities.of(m)).filter(known => isUsable(known.segment))))
    val deletes =
      deleteManifests.map(m => (m, index.deleteManifest(ManifestIdentities.of(m)).filter(_ => knowsDeletes)))
    new ManifestDiff(
      data.flatMap(_._2),
      data.collect { case (m, None) => m },
      index.newest.fold(Iterable.empty[LiveSegment])(_.segments),
      index.choice,
      deletes.flatMap(_._2),
      deletes.collect { case (m, None) => m }
    )
  }

  /**
   * Decodes the unknown manifests of `diff` into memory, on threads of `fetches`, and builds the snapshot's index.
   *
   * @param known data files whose manifests are not read
   */
  def inMemory(
      table: Table,
      snapshot: Snapshot,
      diff: ManifestDiff,
      fetches: StorePool,
      known: AppendedFiles = AppendedFiles.Empty): SnapshotIndex = {
    val specs = PartitionTuples.specsById(table.specs())
    val columns = IndexedColumns.of(table, snapshot, diff.choice)
    val writers = FileWriters.of(table, snapshot, diff.unknownData)
    def origin(task: SegmentTask, source: ByteSource, manifests: IndexedSeq[SegmentManifest]) =
      SegmentOrigin.inMemory(source, task.level, SegmentOrigin.committedAtMillis(table, manifests))
    val data = SegmentTask.group(diff.unknownData, columns, Level.Micro, writers).map { task =>
      val source = ByteSource.ofBytes(task.bytes(table.io(), specs, fetches, known))
      val segment = Segment.open(source)
      live(segment, origin(task, source, segment.manifests))
    }
    val deletes = SegmentTask.group(diff.unknownDeletes, columns, Level.Deletes, writers).map { task =>
      val source = ByteSource.ofBytes(task.bytes(table.io(), specs, fetches))
      val segment = KeyedDeletes.open(source)
      liveDeletes(segment, origin(task, source, segment.manifests))
    }
    assemble(table, snapshot, diff, data, deletes)
  }

  /**
   * Builds segments of the unknown manifests of `diff` in `store` with `runner`, and builds the snapshot's index.
   *
   * @param written segments of the store that tasks reuse if they build the same bytes
   */
  def inStore(
      table: Table,
      snapshot: Snapshot,
      diff: ManifestDiff,
      store: IndexStore,
      runner: SegmentTaskRunner,
      segmentRows: Int = PlannerSettings.SegmentRows,
      written: Seq[SegmentRef] = Nil): SnapshotIndex = {
    val columns = IndexedColumns.of(table, snapshot, diff.choice)
    val writers = FileWriters.of(table, snapshot, diff.unknownData)
    val level = if (diff.knowsAnything) Level.Micro else Level.Day
    def run(manifests: Seq[ManifestFile], level: Level) = {
      val tasks = SegmentTask.group(manifests, columns, level, writers, segmentRows)
      runner.run(tasks.map(_.copy(written = written)), store)
    }
    val data = run(diff.unknownData, level).map { ref =>
      val source = store.openSegment(ref)
      val segment = Segment.open(source)
      live(segment, SegmentOrigin.inStore(table, source, ref, segment.manifests, store))
    }
    val deletes = run(diff.unknownDeletes, Level.Deletes).map { ref =>
      val source = store.openSegment(ref)
      val segment = KeyedDeletes.open(source)
      liveDeletes(segment, SegmentOrigin.inStore(table, source, ref, segment.manifests, store))
    }
    assemble(table, snapshot, diff, data, deletes)
  }

  /**
   * The live data segments of `snapshot`. Merges and flushes may have moved manifests: each manifest is taken from its
   * present segment in `index`.
   */
  def relocated(snapshot: SnapshotIndex, index: ManifestLookup): IndexedSeq[LiveSegment] = {
    val located = snapshot.segments.flatMap { live =>
      live.liveManifests.map { ordinal =>
        index
          .dataManifest(live.segment.manifests(ordinal).identity)
          .getOrElse(Located(live.segment, live.origin, ordinal))
      }
    }
    known(located, snapshot.segments).toIndexedSeq
  }

  private def assemble(
      table: Table,
      snapshot: Snapshot,
      diff: ManifestDiff,
      data: Seq[LiveSegment],
      deletes: Seq[LiveDeleteSegment]): SnapshotIndex =
    new SnapshotIndex(
      SnapshotKey.of(snapshot),
      snapshot.sequenceNumber(),
      (known(diff.knownData, diff.held) ++ data).toIndexedSeq,
      new SnapshotDeletes((knownDeletes(diff) ++ deletes).toIndexedSeq, SnapshotDeletes.unpartitioned(table))
    )

  /**
   * The segments of located manifests; a segment of `held` with the same live manifests is reused, so that snapshots
   * share it.
   */
  private def known(located: Seq[Located[Segment]], held: Iterable[LiveSegment]): Seq[LiveSegment] = {
    val shared = new java.util.IdentityHashMap[Segment, LiveSegment]
    held.foreach(live => shared.put(live.segment, live))
    bySegment(located).map { case (first, ordinals) =>
      Option(shared.get(first.segment))
        .filter(live => java.util.Arrays.equals(live.liveManifests, ordinals))
        .getOrElse(new LiveSegment(first.segment, first.origin, ordinals))
    }
  }

  private def knownDeletes(diff: ManifestDiff): Seq[LiveDeleteSegment] =
    bySegment(diff.knownDeletes).map { case (located, ordinals) =>
      new LiveDeleteSegment(located.segment, located.origin, ordinals)
    }

  private def bySegment[S](located: Seq[Located[S]]): Seq[(Located[S], Array[Int])] = {
    val groups = mutable.LinkedHashMap.empty[S, mutable.ArrayBuffer[Located[S]]]
    located.foreach(l => groups.getOrElseUpdate(l.segment, mutable.ArrayBuffer.empty) += l)
    groups.valuesIterator.map(group => (group.head, group.iterator.map(_.ordinal).toArray.sorted)).toSeq
  }

  private def live(segment: Segment, origin: SegmentOrigin): LiveSegment =
    new LiveSegment(segment, origin, segment.manifests.indices.toArray)

  private def liveDeletes(segment: KeyedDeletes, origin: SegmentOrigin): LiveDeleteSegment =
    new LiveDeleteSegment(segment, origin, segment.manifests.indices.toArray)
}
