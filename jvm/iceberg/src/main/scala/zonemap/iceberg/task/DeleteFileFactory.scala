// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.util.IdentityHashMap

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{DeleteFile, FileContent, MetadataColumns, StructLike}

import zonemap.iceberg.convert.DeleteStats
import zonemap.iceberg.snapshot.LiveDelete

/**
 * Makes Iceberg's own `DeleteFile`s from templates, as [[DataFileFactory]] makes data files.
 *
 * Position deletes retain only the bounds of their path column, as in stock planning. Not thread-safe.
 */
private[zonemap] final class DeleteFileFactory(templates: ContentFileTemplates) {
  import DeleteFileFactory._

  private val made = new IdentityHashMap[LiveDelete, DeleteFile]

  /** The `DeleteFile` of this delete, made once for all tasks that share it. */
  def deleteFile(delete: LiveDelete): DeleteFile = made.computeIfAbsent(delete, newDeleteFile)

  /** A new `DeleteFile` of this delete, not retained for other tasks. */
  def newDeleteFile(delete: LiveDelete): DeleteFile = {
    val entry = delete.entry
    val file = templates.deleteFile(delete.specId, delete.tuple)
    val fields = file.asInstanceOf[StructLike]
    def set[V <: AnyRef](position: Int, value: V): Unit = if (value != null) fields.set(position, value)
    set(Fields.Path, entry.path)
    if (entry.format != ContentFileTemplates.Format.name()) set(Fields.Format, entry.format)
    set(Fields.RecordCount, Long.box(entry.recordCount))
    set(Fields.FileSize, Long.box(entry.fileSizeBytes))
    setStats(delete, set)
    set(Fields.SplitOffsets, Option(entry.splitOffsets).map(_.map(Long.box).toSeq.asJava).orNull)
    if (!isPosition(delete)) {
      set(Fields.Content, Int.box(entry.content))
      set(Fields.EqualityIds, entry.equalityIds.map(Int.box).toSeq.asJava)
    }
    fields.set(Fields.SortOrderId, entry.sortOrderId)
    set(Fields.ReferencedDataFile, entry.referencedDataFile)
    set(Fields.ContentOffset, entry.contentOffset)
    set(Fields.ContentSize, entry.contentSizeBytes)
    SequenceNumbers.set(file, entry.dataSequenceNumber, entry.fileSequenceNumber)
    file
  }

  private def setStats(delete: LiveDelete, set: (Int, AnyRef) => Unit): Unit = {
    val entry = delete.entry
    val keep: Int => Boolean = if (isPosition(delete)) _ == PathId else entry.equalityIds.toSet
    def counts(all: Map[Int, Long]) = DeleteStats.toIcebergCounts(only(all, keep))
    def bounds(all: Map[Int, Array[Byte]]) = DeleteStats.toIcebergBounds(only(all, keep))
    set(Fields.ColumnSizes, counts(entry.columnSizes))
    set(Fields.ValueCounts, counts(entry.valueCounts))
    set(Fields.NullCounts, counts(entry.nullCounts))
    set(Fields.NanCounts, counts(entry.nanCounts))
    set(Fields.LowerBounds, bounds(entry.lowerBounds))
    set(Fields.UpperBounds, bounds(entry.upperBounds))
  }

  private def only[V](stats: Map[Int, V], keep: Int => Boolean): Map[Int, V] =
    if (stats == null) null else stats.filter { case (id, _) => keep(id) }
}

private object DeleteFileFactory {
  private val PathId: Int = MetadataColumns.DELETE_FILE_PATH.fieldId()

  private def isPosition(delete: LiveDelete): Boolean =
    delete.entry.content == FileContent.POSITION_DELETES.id()
}
