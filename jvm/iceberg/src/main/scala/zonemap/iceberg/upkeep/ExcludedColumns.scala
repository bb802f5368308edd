package zonemap.iceberg.upkeep

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.iceberg.io.SupportsPrefixOperations

import zonemap.core.segment.{ColumnChoice, CorruptSegmentException, DeleteSegment, Segment, SegmentRef, StoreNames}
import zonemap.iceberg.build.DeleteStats
import zonemap.iceberg.index.SnapshotIndex
import zonemap.iceberg.store.IndexStore

/**
 * Takes out of a store what it holds of columns that are no longer chosen, without waiting for `gc`: segments with
 * something of such a column, and the versions that name one. Snapshots that lose their version are covered again or
 * planned by Iceberg; a plan that has a deleted segment open goes on with Iceberg where it can no longer read.
 */
private[upkeep] object ExcludedColumns {

  /**
   * Answers the locations of what was deleted.
   *
   * @param stored the snapshot that was stored with the choice
   */
  def delete(table: Table, store: IndexStore, stored: SnapshotIndex, choice: ColumnChoice): Seq[String] =
    if (choice == ColumnChoice.All) Nil
    else {
      val kept = (stored.segments.iterator.map(_.origin) ++ stored.deletes.segments.iterator.map(_.origin))
        .flatMap(_.stored.map(_.ref.relativePath))
        .toSet
      val (segments, versions) = contents(table, store)
      val wide = segments.filterNot(ref => kept(ref.relativePath) || holdsOnly(store, ref, choice)).map(_.relativePath)
      val isWide = wide.toSet
      val stale = versions.filter(id => id != stored.key.snapshotId && names(store, id).forall(_.exists(isWide)))
      // versions first: what is named is there
      val gone = stale.map(id => s"${IndexStore.Versions}/$id") ++ wide
      val locations = gone.map(name => s"${store.root}/$name")
      store.delete(locations)
      locations
    }

  /** The segments and the versions of a store: all that are listed, else those that versions of known snapshots name. */
  private def contents(table: Table, store: IndexStore): (Seq[SegmentRef], Seq[Long]) =
    if (table.io().isInstanceOf[SupportsPrefixOperations]) {
      val files = store.list()
      val segments = files.filter(f => StoreNames.isDataSegment(f.relativePath) || StoreNames.isDeleteSegment(f.relativePath))
      (segments.map(f => SegmentRef(f.relativePath, "", f.sizeBytes, Nil)), files.flatMap(_.versionId))
    } else {
      val ids = (store.readLatest().toSeq ++ table.snapshots().asScala.map(_.snapshotId())).distinct
      val versions = ids.flatMap(id => readable(store.readVersion(id)).map(id -> _))
      (versions.flatMap { case (_, v) => v.segments ++ v.deleteSegments }.distinctBy(_.relativePath), versions.map(_._1))
    }

  /** What a version names; None if that is not known. */
  private def names(store: IndexStore, snapshotId: Long): Option[Seq[String]] =
    readable(store.readVersion(snapshotId)).map(_.fileNames)

  /** Whether a segment is known to hold nothing of columns that are not chosen. */
  private def holdsOnly(store: IndexStore, ref: SegmentRef, choice: ColumnChoice): Boolean =
    try {
      val source = store.openSegment(ref)
      if (StoreNames.isDataSegment(ref.relativePath)) Segment.open(source).columnIds.forall(choice.holds)
      else DeleteSegment.open(source).files.forall(DeleteStats.isOnly(_, choice))
    } catch { case NonFatal(_) => false }

  private def readable[A](read: => Option[A]): Option[A] =
    try read
    catch { case _: CorruptSegmentException => None }
}
