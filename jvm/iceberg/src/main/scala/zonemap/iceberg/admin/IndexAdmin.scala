// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.admin

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.{Merging, SegmentCompactor, SegmentTaskRunner, SnapshotIndexer}
import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.registry.{IndexProcess, TableIndex}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SegmentOrigin, SnapshotIndex, SnapshotKey, StoredSnapshots}
import zonemap.iceberg.store.Level

/** The result of a build or a refresh. */
private[zonemap] final case class BuildResult(
    snapshotId: Long,
    dataFiles: Long,
    deleteFiles: Long,
    segments: Int,
    bytes: Long,
    seconds: Double)

private[zonemap] object BuildResult {

  /** The result for a table without a snapshot: no file is indexed, and nothing is written. */
  val OfNoSnapshot: BuildResult = BuildResult(-1L, 0L, 0L, 0, 0L, 0.0)
}

/** The result of a merge for the segments of one level. */
private[zonemap] final case class LevelMerge(
    level: String,
    segmentsBefore: Int,
    segmentsAfter: Int,
    bytesBefore: Long,
    bytesAfter: Long)

private[zonemap] object LevelMerge {

  /** The result for a table without a snapshot: every level is empty. */
  val OfNoSnapshot: Seq[LevelMerge] = (Level.ofData :+ Level.Deletes).map(l => LevelMerge(l.name, 0, 0, 0L, 0L))
}

/** Implements the SQL procedures. Storage errors reach the caller. Thread-safe. */
private[zonemap] final class IndexAdmin(process: IndexProcess) {
  import IndexAdmin._

  private val compactor = new SegmentCompactor(process.access.spill)

  /**
   * Indexes `snapshot` from its manifests alone, without using the segments in the store, and writes it to the store.
   */
  def build(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: Table => SegmentTaskRunner): BuildResult = {
    val built = indexInto(table, snapshot, settings, unknown(table, snapshot, settings), runner)
    process.tables.of(table).rebuilt()
    built
  }

  /** Updates the store to `snapshot`; manifests that the index contains are not read again. */
  def refresh(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: Table => SegmentTaskRunner): BuildResult =
    indexInto(table, snapshot, settings, stored(table, snapshot, settings), runner)

  /**
   * Updates the store to `snapshot` and merges its segments: micro segments into hours, hours of past days into days,
   * and without dead manifests. Returns one row for each level.
   */
  def merge(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      runner: Table => SegmentTaskRunner): Seq[LevelMerge] = {
    val store = process.storeOf(table, settings)
    val known = stored(table, snapshot, settings)
    val diff = SnapshotIndexer.diff(table, snapshot, known)
    val before = SnapshotIndexer.inStore(table, snapshot, diff, store, runner(table))
    val after = process.save(table, Merging.all(table, before, known, compactor), store, settings)
    def data(index: SnapshotIndex, level: Level) =
      index.segments.map(_.origin).filter(_.level == level).map(_.source.sizeBytes)
    def deletes(index: SnapshotIndex) = index.deletes.segments.map(_.origin.source.sizeBytes)
    def row(level: Level, before: Seq[Long], after: Seq[Long]) =
      LevelMerge(level.name, before.size, after.size, before.sum, after.sum)
    Level.ofData.map(level => row(level, data(before, level), data(after, level))) :+
      row(Level.Deletes, deletes(before), deletes(after))
  }

  /** An empty index, which contains only the columns to index. */
  private def unknown(table: Table, snapshot: Snapshot, settings: PlannerSettings): TableIndex =
    process.newTable(table, snapshot.snapshotId(), process.storeOf(table, settings))

  /** The index that the store contains of `snapshot`, or of a snapshot near it. */
  private[zonemap] def stored(table: Table, snapshot: Snapshot, settings: PlannerSettings): TableIndex = {
    val store = process.storeOf(table, settings)
    val known = new TableIndex(table.uuid(), process.access)
    try
      StoredSnapshots
        .load(table, snapshot, store)
        .orElse(StoredSnapshots.loadNearest(table, snapshot, store, 8))
        .foreach(known.put)
    catch { case _: CorruptIndexException => () }
    // a later version may name other columns than the version of the snapshot
    process.followChoice(table, snapshot.snapshotId(), store, known)
    known
  }

  private def indexInto(
      table: Table,
      snapshot: Snapshot,
      settings: PlannerSettings,
      known: TableIndex,
      runner: Table => SegmentTaskRunner): BuildResult = {
    val started = System.nanoTime()
    val store = process.storeOf(table, settings)
    val diff = SnapshotIndexer.diff(table, snapshot, known)
    // if the index contains some manifests, only manifests that no version names are built, so no stored segment can
    // have the same bytes
    val written =
      if (diff.knowsAnything) Nil
      else readable(store.readVersion(snapshot.snapshotId())).toSeq.flatMap(v => v.segments ++ v.deleteSegments)
    val indexed = SnapshotIndexer.inStore(table, snapshot, diff, store, runner(table), settings.segmentRows, written)
    val merged = Merging.ifDue(table, indexed, known, settings.maintenance.merge, compactor)
    val isStored = (merged eq indexed) && known.get(SnapshotKey.of(snapshot)).isDefined
    process.tables.of(table).learn(known.facts)
    val stored =
      if (isStored) process.remember(table, merged, settings) else process.save(table, merged, store, settings)
    result(stored, started)
  }

  /** The files of the table's store that no retained snapshot needs; deletes them unless `dryRun`. */
  def gc(table: Table, settings: PlannerSettings, graceMillis: Long, dryRun: Boolean): Seq[Garbage] =
    new StoreGc(process.warnings)
      .run(table, process.storeOf(table, settings), graceMillis, System.currentTimeMillis(), dryRun)

  /** The files of the table's store. Unless `dryRun`, deletes them and discards the table's index in this JVM. */
  def drop(table: Table, settings: PlannerSettings, dryRun: Boolean): Seq[String] = {
    val store = process.storeOf(table, settings)
    val snapshotIds = Option(table.currentSnapshot()).toSeq.flatMap(Lineage.of(table, _))
    val files = store.files(snapshotIds, table.uuid().toString)
    if (!dryRun) {
      store.delete(files)
      store.deleteEmptyFolders()
      process.access.cold.forget(store.root)
      process.tables.forget(table.uuid())
    }
    files
  }

  private def readable[A](read: => Option[A]): Option[A] =
    try read
    catch { case _: CorruptIndexException => None }
}

private[zonemap] object IndexAdmin {

  private[zonemap] def result(stored: SnapshotIndex, startedNanos: Long): BuildResult =
    BuildResult(
      stored.key.snapshotId,
      stored.dataFiles,
      stored.deletes.count.toLong,
      stored.segments.size + stored.deletes.segments.size,
      bytes(stored),
      (System.nanoTime() - startedNanos) / 1e9
    )

  /** The size of all segments of a snapshot that `isCounted`. */
  private[admin] def bytes(index: SnapshotIndex, isCounted: SegmentOrigin => Boolean = _ => true): Long =
    (index.segments.iterator.map(_.origin) ++ index.deletes.segments.iterator.map(_.origin))
      .filter(isCounted)
      .map(_.source.sizeBytes)
      .sum
}
