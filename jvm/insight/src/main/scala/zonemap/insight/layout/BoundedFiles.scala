// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.layout

import scala.collection.mutable

import zonemap.core.column.BoundsColumn
import zonemap.core.predicate.ColumnRef
import zonemap.core.value.{Presence, ZoneValue}
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.prune.FileSet

/** A file with bounds of each of some columns, in the order of the columns. */
private[layout] final case class BoundedFile(
    partition: TupleKey,
    lowers: IndexedSeq[ZoneValue],
    uppers: IndexedSeq[ZoneValue],
    rows: Double,
    bytes: Double)

private[layout] object BoundedFiles {

  /** The files with valid bounds of each column; a file of nulls only has none. */
  def read(files: FileSet, columns: Seq[ColumnRef]): IndexedSeq[BoundedFile] = {
    val found = mutable.ArrayBuffer.empty[BoundedFile]
    files.foreachSegment { (segment, rows) =>
      val stored = columns.map(c => segment.column(c.fieldId))
      val valid = columns.map(c => files.trust.isValid(segment, c.fieldId))
      lazy val keys = segment.partitions.map(p => PartitionTuples.key(p.specId, p.values))
      if (!rows.isEmpty && stored.forall(_.isDefined))
        rows.forEach { row =>
          val bounds = columns.indices.flatMap { i =>
            if (valid(i)(row)) boundsOf(columns(i), stored(i).get, row) else None
          }
          if (bounds.size == columns.size)
            found += BoundedFile(
              keys(segment.partitionOrdinal(row)),
              bounds.map(_._1),
              bounds.map(_._2),
              segment.recordCount(row).toDouble.max(1),
              segment.fileSizeBytes(row).toDouble)
        }
    }
    found.toIndexedSeq
  }

  private def boundsOf(column: ColumnRef, stored: BoundsColumn, row: Int): Option[(ZoneValue, ZoneValue)] = {
    def encoded(value: ZoneValue) = Option(value).flatMap(column.columnType.reencode(_, stored.columnType))
    if (stored.nulls(row) == Presence.All) None
    else
      for (lower <- encoded(stored.lower(row)); upper <- encoded(stored.upper(row)) if lower.compare(upper) <= 0)
        yield (lower, upper)
  }

  /** The number of files of this size with the rows of some files of one partition. */
  def count(files: Iterable[BoundedFile], fileBytes: Option[Long]): Int =
    fileBytes.fold(files.size)(one => count(files.iterator.map(_.bytes).sum, one))

  def count(bytes: Double, fileBytes: Long): Int = Math.max(1L, Math.round(bytes / fileBytes)).toInt
}
