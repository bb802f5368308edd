// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import scala.collection.mutable

import org.apache.iceberg.FileScanTask

import zonemap.core.column.Bitmap
import zonemap.core.segment.{PathReader, ReadPaths, Segment}
import zonemap.iceberg.prune.ReadAhead
import zonemap.iceberg.store.StoreBudget

/**
 * Makes the tasks of selected files, each when `next` is called. If the index or its store fails, `next` throws, and
 * the walk is over. Not thread-safe.
 *
 * @param parts segments with their selected files, none empty
 * @param budget the time that the walk may wait for stores
 */
private[zonemap] final class TaskWalk(
    parts: IndexedSeq[(Segment, Bitmap)],
    assembler: TaskAssembler,
    budget: StoreBudget) {
  private val ahead = new ReadAhead.Files(parts)
  private var part = -1
  private var row = -1
  private var tasks: assembler.Of = _

  /** By part: the paths read from a segment that is not in memory, or that tasks need later; reading may fail. */
  private val fromStore = new Array[ReadPaths](parts.length)

  private val isRemote = parts.exists(_._1.isRemote)

  /** The next task, or null after the last one. */
  def next(): FileScanTask =
    if (isRemote && !(row >= 0 && tasks.isHeld(row))) StoreBudget.within(budget)(nextTask()) else nextTask()

  private def nextTask(): FileScanTask =
    if (isOver) null
    else {
      val task = tasks.task(row)
      row = parts(part)._2.nextSetBit(row + 1)
      task
    }

  /** Whether no row is left; if the result is false, the walk is at the next row. */
  private def isOver: Boolean = {
    while (row < 0 && part + 1 < parts.length) {
      ahead.upTo(part + 1)
      val segment = parts(part + 1)._1
      val next = part + 1
      if (assembler.makesCompact || !segment.isInMemory) fromStore(next) = segment.newReadPaths()
      tasks = new assembler.Of(segment, () => pathsOf(next))
      part = next
      row = parts(part)._2.nextSetBit(0)
    }
    row < 0
  }

  /** The counts of the tasks made so far. */
  def counts: TaskCounts = assembler.counts

  private def pathsOf(part: Int): PathReader = {
    val segment = parts(part)._1
    Option(fromStore(part)).fold(segment.newPathReader())(segment.newPathReader(_))
  }

  /** The paths of the tasks made so far, each with its number of tasks. */
  def made(): mutable.Map[String, Int] = {
    val paths = mutable.HashMap.empty[String, Int]
    (0 to part).foreach { i =>
      val (segment, rows) = parts(i)
      val reader = pathsOf(i)
      val until = if (i == part && row >= 0) row else segment.rows
      rows.toArray.iterator.takeWhile(_ < until).foreach { made =>
        paths.updateWith(reader.path(made))(times => Some(times.getOrElse(0) + 1))
      }
    }
    paths
  }
}
