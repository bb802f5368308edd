package zonemap.iceberg.admin

import org.apache.iceberg.{Snapshot, Table}

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.{Merging, SegmentCompactor, SegmentTaskRunner, SnapshotIndexer}
import zonemap.iceberg.convert.Lineage
import zonemap.iceberg.fact.FactBuild
import zonemap.iceberg.prune.BoundsLevels
import zonemap.iceberg.registry.{IndexProcess, TableIndex}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots}
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

/**
 * The present state of a table's index. Counts refer to the requested snapshot; they are `-1` if it is not covered.
 *
 * @param columns the names of the indexed columns, or "all" if no columns were chosen
 * @param facts the facts of the table, such as `bloom(user_id)`, and their bytes
 * @param problem the reason why the snapshot is not covered or its index is not stored; empty if it is both covered and
 *   stored
 * @param bounds the number of data files with bounds of each level of trust; empty if the snapshot is not covered
 */
private[zonemap] final case class StatusResult(
    snapshotId: Long,
    covered: Boolean,
    lagSnapshots: Long,
    dataFiles: Long,
    deleteFiles: Long,
    segments: Int,
    bytes: Long,
    memoryBytes: Long,
    spilledBytes: Long,
    coldMemoryBytes: Long,
    coldDiskBytes: Long,
    store: String,
    levels: String,
    columns: String,
    facts: Seq[(String, Long)],
    problem: String,
    bounds: String)

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
  private[iceberg] def stored(table: Table, snapshot: Snapshot, settings: PlannerSettings): TableIndex = {
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

  /** The state of a table's index; the result describes the problem of a store that cannot be read. */
  def status(table: Table, snapshot: Option[Snapshot], settings: PlannerSettings): StatusResult = {
    val store = process.storeOf(table, settings)
    val index = process.tables.of(table)
    val held = snapshot.flatMap(s => index.get(SnapshotKey.of(s)))
    val look = StoreLook.at(table, snapshot, store, isHeld = held.isDefined)
    val exact = held.orElse(look.opened)
    val behind = snapshot.fold(0L)(s => lag(table, s, index, look))
    StatusResult(
      snapshotId = snapshot.fold(-1L)(_.snapshotId()),
      covered = exact.isDefined,
      lagSnapshots = behind,
      dataFiles = exact.fold(-1L)(_.dataFiles),
      deleteFiles = exact.fold(-1L)(_.deletes.count.toLong),
      segments = exact.fold(-1)(s => s.segments.size + s.deletes.segments.size),
      bytes = exact.fold(-1L)(bytes),
      memoryBytes = index.residentBytes,
      spilledBytes = index.spilledBytes,
      coldMemoryBytes = process.access.cold.memoryBytesOf(store.root),
      coldDiskBytes = process.access.cold.diskBytesOf(store.root),
      store = store.root,
      levels = exact.fold("")(_.levels),
      columns = ColumnChange
        .describe(table, exact.filter(_ => held.isEmpty).flatMap(_.choice).getOrElse(index.choice)),
      facts = FactBuild.describe(table, exact.filter(_ => held.isEmpty).flatMap(_.facts).getOrElse(index.facts)),
      problem = IndexProblem.of(snapshot, exact.isDefined, behind, index, look, settings, process.caps),
      bounds = exact.fold("")(BoundsLevels.of(table, _).toString)
    )
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
      process.access.cold.forget(store.root)
      process.tables.forget(table.uuid())
    }
    files
  }

  /**
   * The number of snapshots from `snapshot` back to its nearest covered ancestor; `-1` if no ancestor is known to be
   * covered.
   */
  private def lag(table: Table, snapshot: Snapshot, index: TableIndex, look: StoreLook): Long =
    Lineage
      .of(table, snapshot)
      .indexWhere(id => look.latest.contains(id) || index.get(SnapshotKey.of(table.snapshot(id))).isDefined)
      .toLong

  private def readable[A](read: => Option[A]): Option[A] =
    try read
    catch { case _: CorruptIndexException => None }
}

private[iceberg] object IndexAdmin {

  private[iceberg] def result(stored: SnapshotIndex, startedNanos: Long): BuildResult =
    BuildResult(
      stored.key.snapshotId,
      stored.dataFiles,
      stored.deletes.count.toLong,
      stored.segments.size + stored.deletes.segments.size,
      bytes(stored),
      (System.nanoTime() - startedNanos) / 1e9
    )

  /** The size of all segments of a snapshot. */
  private def bytes(index: SnapshotIndex): Long =
    (index.segments.iterator.map(_.origin) ++ index.deletes.segments.iterator.map(_.origin)).map(_.source.sizeBytes).sum
}
