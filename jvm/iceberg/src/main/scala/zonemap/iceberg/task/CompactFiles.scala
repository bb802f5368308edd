// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import java.util.Collections

import scala.collection.mutable

import org.apache.iceberg.{BaseFileScanTask, FileFormat, FileScanTask, PartitionSpec, StructLike}

import zonemap.core.segment.{PathReader, Segment}

/**
 * The files of one segment, from which [[CompactTask]]s make Iceberg's own tasks when they are asked for.
 *
 * Whatever can fail has been done before a task is handed out: the arrays of the segment are loaded, the stored bytes
 * of the task's path are retained and checked, and the first task of each partition and of each format has been made.
 * So a task neither reads the store nor finds damage later, when no plan of Iceberg's can replace it (S145). `task` is
 * for one thread; tasks may be used by any.
 *
 * @param newReader returns a reader of paths; all of these readers share the stored bytes that one has read
 * @param make makes Iceberg's own task of a row, from the retained bytes
 * @param lock held while `make` runs: the walk through a plan shares its templates
 */
private[task] final class CompactFiles(
    segment: Segment,
    newReader: () => PathReader,
    make: Int => BaseFileScanTask,
    specs: Int => PartitionSpec,
    lock: AnyRef) {
  segment.loadFiles()

  private val held = newReader()
  private val paths = newReader()
  private val tuples = new Array[StructLike](segment.partitions.size)
  private val formats = mutable.HashMap.empty[String, FileFormat]
  private val isAlike = segment.filesAreAlike
  private val offsetsOfAll = if (isAlike) segment.splitOffsets(0) else null
  private val formatOfAll = if (isAlike) FileFormat.fromString(segment.format(0)) else null

  def task(row: Int): CompactTask = {
    held.hold(row)
    val partition = segment.partitionOrdinal(row)
    if (tuples(partition) == null) tuples(partition) = made(row).file().partition()
    if (!isAlike) formats.getOrElseUpdate(segment.format(row), made(row).file().format()): Unit
    new CompactTask(this, row)
  }

  /** Whether `task` reads nothing for this row. */
  def isHeld(row: Int): Boolean = held.isHeld(row)

  /** Iceberg's own task of the file. */
  def made(row: Int): BaseFileScanTask = lock.synchronized(make(row))

  def path(row: Int): String = lock.synchronized(paths.path(row))
  def sizeBytes(row: Int): Long = segment.fileSizeBytes(row)
  def partition(row: Int): StructLike = tuples(segment.partitionOrdinal(row))
  def spec(row: Int): PartitionSpec = specs(segment.partitions(segment.partitionOrdinal(row)).specId)
  def format(row: Int): FileFormat = if (isAlike) formatOfAll else formats(segment.format(row))

  /** The estimated rows in `length` bytes of the file, by Iceberg's formula. */
  def estimatedRows(row: Int, length: Long): Long = {
    val offsets = splitOffsets(row)
    val first = if (offsets == null) 0L else offsets(0)
    (length.toDouble / (sizeBytes(row) - first).toDouble * segment.recordCount(row).toDouble).toLong
  }

  /** The splits of the file, as Iceberg's `BaseFileScanTask.split` cuts it. */
  def splits(task: CompactTask, splitSize: Long): java.lang.Iterable[FileScanTask] = {
    val size = sizeBytes(task.row)
    val offsets = splitOffsets(task.row)
    if (!format(task.row).isSplittable) Collections.singletonList(task)
    else if (offsets != null && isAscending(offsets)) between(task, offsets, size)
    else if (size > 0 && size <= splitSize) Collections.singletonList(new CompactSplit(task, 0, size))
    else between(task, Array.tabulate(piecesOf(size, splitSize))(_ * splitSize), size)
  }

  private def between(task: CompactTask, starts: Array[Long], end: Long): java.util.List[FileScanTask] =
    if (starts.length == 1) Collections.singletonList(new CompactSplit(task, starts(0), end - starts(0)))
    else {
      val splits = new java.util.ArrayList[FileScanTask](starts.length)
      starts.indices.foreach { i =>
        val next = if (i + 1 < starts.length) starts(i + 1) else end
        splits.add(new CompactSplit(task, starts(i), next - starts(i)))
      }
      splits
    }

  private def piecesOf(size: Long, splitSize: Long): Int =
    if (size <= 0) 0 else Math.toIntExact((size - 1) / splitSize + 1)

  private def isAscending(offsets: Array[Long]): Boolean =
    (1 until offsets.length).forall(i => offsets(i) > offsets(i - 1))

  /** The split offsets of a file as its `DataFile` gives them: null if it has none, or none that Iceberg believes. */
  private def splitOffsets(row: Int): Array[Long] = if (isAlike) offsetsOfAll else segment.splitOffsets(row)
}
