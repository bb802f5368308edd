// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.advice

import scala.collection.mutable

import org.apache.iceberg.{Table, TableProperties}
import org.apache.iceberg.util.PropertyUtil

import zonemap.core.predicate.ColumnRef
import zonemap.iceberg.convert.PartitionTuples
import zonemap.iceberg.convert.PartitionTuples.TupleKey
import zonemap.iceberg.prune.FileSet

/**
 * The files of a table after a rewrite of all of them.
 *
 * @param now all files as they are
 */
private[advice] final class RewrittenFiles(table: Table, now: Size) {
  import RewrittenFiles._

  private val sizes = new java.util.IdentityHashMap[FileSet, collection.Map[TupleKey, Long]]

  /**
   * The size of the files: the present average, so that the number of files stays about the same, unless it is far from
   * the target size of the table's writers.
   */
  val fileBytes: Long = {
    val target = PropertyUtil.propertyAsLong(
      table.properties(),
      TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
      TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT)
    val average = now.bytes / now.files.max(1L)
    if (average * MuchSmaller >= target && average <= target * MuchLarger) average.max(1L) else target.max(1L)
  }

  /** The files that hold the rows of some files; each partition has files of its own. */
  def of(files: FileSet): Size = {
    val sizes = bytesOf(files).values
    Size(sizes.map(bytes => Math.round(bytes.toDouble / fileBytes).max(1L)).sum, sizes.sum)
  }

  /** About the files of as many bytes, in the order that they have now. */
  def merged(size: Size): Size =
    Size(Math.round(size.bytes.toDouble / fileBytes).max(1L).min(size.files.max(1L)), size.bytes)

  /** The files that a scan without a condition on a column keeps in a sort by it: only first rows are in few of them. */
  def withoutCondition(usage: Usage, column: ColumnRef): Size = {
    val base = of(usage.inPartitions)
    val first = usage.scan.topK.filter(k => k.column.id == column.id && usage.scan.conditions.isEmpty)
    first.fold(base)(k => base.only(holding(usage.inPartitions, base.files, k.rows)))
  }

  /** The files with the first rows of each partition, which is sorted on its own. */
  private def holding(files: FileSet, sorted: Long, wanted: Long): Long = {
    val perFile = rows(files).toDouble / sorted.max(1L)
    (partitionsOf(files).size + (wanted / perFile.max(1.0)).toLong).min(sorted)
  }

  private def partitionsOf(files: FileSet): collection.Set[TupleKey] = bytesOf(files).keySet

  private def bytesOf(files: FileSet): collection.Map[TupleKey, Long] = sizes.computeIfAbsent(files, countBytes(_))

  private def countBytes(files: FileSet): collection.Map[TupleKey, Long] = {
    val found = mutable.Map.empty[TupleKey, Long]
    files.foreachSegment { (segment, kept) =>
      val bytes = new Array[Long](segment.partitions.size)
      val isKept = new Array[Boolean](bytes.length)
      kept.forEach { row =>
        val partition = segment.partitionOrdinal(row)
        bytes(partition) += segment.fileSizeBytes(row)
        isKept(partition) = true
      }
      for ((tuple, i) <- segment.partitions.zipWithIndex if isKept(i)) {
        val key = PartitionTuples.key(tuple.specId, tuple.values)
        found(key) = found.getOrElse(key, 0L) + bytes(i)
      }
    }
    found
  }
}

private[advice] object RewrittenFiles {

  /** Files are far from the target size if they are this many times smaller or larger. */
  private val MuchSmaller = 8L
  private val MuchLarger = 2L

  def rows(files: FileSet): Long = {
    var rows = 0L
    files.foreachSegment((segment, kept) => kept.forEach(row => rows += segment.recordCount(row).max(0L)))
    rows
  }
}
