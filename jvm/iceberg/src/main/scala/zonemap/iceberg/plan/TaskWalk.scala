package zonemap.iceberg.plan

import scala.collection.mutable

import org.apache.iceberg.FileScanTask

import zonemap.core.eval.Bitmap
import zonemap.core.segment.{PathReader, ReadPaths, Segment}
import zonemap.iceberg.store.StoreBudget

/**
 * The tasks of selected files, each made when it is asked for. What goes wrong on the way is thrown, and the walk is
 * over. Not thread-safe.
 *
 * @param parts segments and their files, none empty
 * @param budget what may be waited for stores on the way
 */
private[plan] final class TaskWalk(
    parts: IndexedSeq[(Segment, Bitmap)],
    assembler: TaskAssembler,
    budget: StoreBudget) {
  private val ahead = new ReadAhead.Files(parts)
  private var part = -1
  private var row = -1
  private var tasks: assembler.Of = _

  /** By part: what was read of a segment that is not in memory, which may not be there to be read again. */
  private val fromStore = new Array[ReadPaths](parts.length)

  private val isRemote = parts.exists(_._1.isRemote)

  /** The next task, or null when all are made. */
  def next(): FileScanTask = if (isRemote) StoreBudget.within(budget)(nextTask()) else nextTask()

  private def nextTask(): FileScanTask =
    if (isOver) null
    else {
      val task = tasks.task(row)
      row = parts(part)._2.nextSetBit(row + 1)
      task
    }

  /** Whether there is no next row; otherwise it has been found. */
  private def isOver: Boolean = {
    while (row < 0 && part + 1 < parts.length) {
      ahead.upTo(part + 1)
      val segment = parts(part + 1)._1
      if (!segment.isInMemory) fromStore(part + 1) = segment.newReadPaths()
      tasks = new assembler.Of(segment, pathsOf(part + 1))
      part += 1
      row = parts(part)._2.nextSetBit(0)
    }
    row < 0
  }

  /** Of the tasks made so far. */
  def counts: TaskCounts = assembler.counts

  private def pathsOf(part: Int): PathReader = {
    val segment = parts(part)._1
    Option(fromStore(part)).fold(segment.newPathReader())(segment.newPathReader(_))
  }

  /** The paths of the tasks made so far, and how often each. */
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
