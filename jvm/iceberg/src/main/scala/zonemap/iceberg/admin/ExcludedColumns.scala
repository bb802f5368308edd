// SPDX-License-Identifier: Apache-2.0
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
 * Deletes from a store the data about columns that are no longer chosen, without waiting for `gc`: the segments that
 * contain such a column, and the versions that name one of these segments. A snapshot that loses its version is covered
 * again or planned by Iceberg. A plan that has a deleted segment open falls back to Iceberg when a read fails.
 */
private[admin] object ExcludedColumns {

  /** The segments of a store and the snapshot ids of its versions. */
  final case class Contents(segments: Seq[SegmentRef], versions: Seq[Long]) {
    def and(other: Contents): Contents =
      Contents((segments ++ other.segments).distinctBy(_.relativePath), (versions ++ other.versions).distinct)
  }

  /**
   * Stores a snapshot with a choice of columns, and then deletes the store's data about other columns; returns the
   * stored snapshot and whether a file was deleted.
   */
  def leaveWith(table: Table, store: IndexStore, choice: ColumnChoice)(
      save: => SnapshotIndex): (SnapshotIndex, Boolean) =
    if (choice == ColumnChoice.All) (save, false)
    else {
      // without a listing, the segments of a version that `save` replaces are found in that version only
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
    // versions are deleted before segments, so that no version names a deleted segment
    val gone = stale.map(id => s"${IndexStore.Versions}/$id") ++ wide
    val locations = gone.map(name => s"${store.root}/$name")
    store.delete(locations)
    locations
  }

  /**
   * The segments and versions of a store: all files if the `FileIO` can list, else the files that versions of known
   * snapshots name.
   */
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

  /** The names of the files in a version; `None` if the version cannot be read. */
  private def names(store: IndexStore, snapshotId: Long): Option[Seq[String]] =
    readable(store.readVersion(snapshotId)).map(_.fileNames)

  /** Whether a segment provably contains nothing about columns that are not chosen. */
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
