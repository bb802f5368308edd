package zonemap.iceberg.plan

import scala.collection.mutable

import org.apache.iceberg.FileScanTask

import zonemap.core.eval.Bitmap
import zonemap.core.segment.Segment

/**
 * The tasks of selected files, each made when it is asked for. What goes wrong on the way is thrown, and the walk is
 * over. Not thread-safe.
 *
 * @param parts segments and their files, none empty
 */
private[plan] final class TaskWalk(parts: IndexedSeq[(Segment, Bitmap)], assembler: TaskAssembler) {
  private val ahead = new ReadAhead.Files(parts)
  private var part = -1
  private var row = -1
  private var tasks: assembler.Of = _

  /** Paths of segments that are not at hand, which may not be there to be read again. */
  private val pathsFromFar = mutable.ArrayBuffer.empty[String]

  /** The next task, or null when all are made. */
  def next(): FileScanTask =
    if (isOver) null
    else {
      val task = tasks.task(row)
      if (parts(part)._1.isRemote) pathsFromFar += task.file().location()
      row = parts(part)._2.nextSetBit(row + 1)
      task
    }

  /** Whether there is no next row; otherwise it has been found. */
  private def isOver: Boolean = {
    while (row < 0 && part + 1 < parts.length) {
      ahead.upTo(part + 1)
      tasks = new assembler.Of(parts(part + 1)._1)
      part += 1
      row = parts(part)._2.nextSetBit(0)
    }
    row < 0
  }

  /** Of the tasks made so far. */
  def counts: TaskCounts = assembler.counts

  /** The paths of the tasks made so far, and how often each. */
  def made(): mutable.Map[String, Int] = {
    val paths = mutable.HashMap.empty[String, Int]
    def add(path: String): Unit = paths.updateWith(path)(times => Some(times.getOrElse(0) + 1)): Unit
    pathsFromFar.foreach(add)
    parts.iterator.take(part + 1).zipWithIndex.filterNot(_._1._1.isRemote).foreach { case ((segment, rows), i) =>
      val reader = segment.newPathReader()
      val until = if (i == part && row >= 0) row else segment.rows
      rows.toArray.iterator.takeWhile(_ < until).foreach(made => add(reader.path(made)))
    }
    paths
  }
}
