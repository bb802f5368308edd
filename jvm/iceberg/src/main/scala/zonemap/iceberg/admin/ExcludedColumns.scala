package zonemap.iceberg.admin

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.Table
import org.apache.iceberg.io.SupportsPrefixOperations

import zonemap.core.column.ColumnChoice
import zonemap.core.io.CorruptIndexException
import zonemap.core.segment.{DeleteSegment, Segment}
import zonemap.core.version.{SegmentRef, StoreNames}
import zonemap.iceberg.convert.DeleteStats
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.store.IndexStore

/**
 * Takes out of a store what it holds of columns that are no longer chosen, without waiting for `gc`: segments with
 * something of such a column, and the versions that name one. Snapshots that lose their version are covered again or
 * planned by Iceberg; a plan that has a deleted segment open goes on with Iceberg where it can no longer read.
 */
private[admin] object ExcludedColumns {

  /** What a store holds. */
  final case class Contents(segments: Seq[SegmentRef], versions: Seq[Long]) {
    def and(other: Contents): Contents =
      Contents((segments ++ other.segments).distinctBy(_.relativePath), (versions ++ other.versions).distinct)
  }

  /**
   * Stores a snapshot with a choice of columns, then deletes what the store has of others; answers the snapshot as
   * stored, and whether something was deleted.
   */
  def leaveWith(table: Table, store: IndexStore, choice: ColumnChoice)(
      save: => SnapshotIndex): (SnapshotIndex, Boolean) =
    if (choice == ColumnChoice.All) (save, false)
    else {
      // without a listing, what the version names that is replaced is found in it only
      val before = contents(table, store)
      val stored = save
      val wide = delete(store, before.and(contents(table, store)), stored, choice)
      (stored, wide.nonEmpty)
    }

  private def delete(
      store: IndexStore,
      contents: Contents,
      stored: SnapshotIndex,
      choice: ColumnChoice): Seq[String] = {
    import contents.{segments, versions}
    val kept = (stored.segments.iterator.map(_.origin) ++ stored.deletes.segments.iterator.map(_.origin))
      .flatMap(_.stored.map(_.ref.relativePath))
      .toSet
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
  private def contents(table: Table, store: IndexStore): Contents =
    if (table.io().isInstanceOf[SupportsPrefixOperations]) {
      val files = store.list()
      val segments =
        files.filter(f => StoreNames.isDataSegment(f.relativePath) || StoreNames.isDeleteSegment(f.relativePath))
      Contents(segments.map(f => SegmentRef(f.relativePath, "", f.sizeBytes, Nil)), files.flatMap(_.versionId))
    } else {
      val ids = (store.readLatest().toSeq ++ table.snapshots().asScala.map(_.snapshotId())).distinct
      val versions = ids.flatMap(id => readable(store.readVersion(id)).map(id -> _))
      val segments = versions.flatMap { case (_, v) => v.segments ++ v.deleteSegments }
      Contents(segments.distinctBy(_.relativePath), versions.map(_._1))
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
    catch { case _: CorruptIndexException => None }
}
