// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.task

import org.apache.iceberg.FileScanTask
import org.apache.iceberg.io.{CloseableGroup, CloseableIterable, CloseableIterator}

import zonemap.iceberg.report.Survivable

/**
 * The tasks of a plan. Each task is made when the iterator reaches it, so millions of tasks take no memory unless the
 * caller retains them.
 *
 * If the index fails during the iteration, Iceberg plans the scan, and the iterator continues with the tasks of
 * Iceberg's plan whose files it has not returned. The tasks are therefore complete, whether the index fails before
 * the first task or before the last. Not thread-safe.
 *
 * @param walk starts a walk through the plan
 * @param stock returns Iceberg's plan after the index failed
 * @param finished called once with the counts of the made tasks, when a walk reaches its end or is closed
 */
private[zonemap] final class PlannedTasks(
    walk: () => TaskWalk,
    stock: Throwable => CloseableIterable[FileScanTask],
    finished: TaskCounts => Unit)
    extends CloseableGroup
    with CloseableIterable[FileScanTask] {
  private var isFinished = false

  override def iterator(): CloseableIterator[FileScanTask] = {
    val tasks = new Tasks(walk())
    addCloseable(tasks)
    tasks
  }

  private final class Tasks(planned: TaskWalk) extends CloseableIterator[FileScanTask] {
    private var ready: FileScanTask = _
    private var rest: Option[Iterator[FileScanTask]] = None

    override def hasNext: Boolean = {
      if (ready == null && rest.isEmpty) advance()
      rest.fold(ready != null)(_.hasNext)
    }

    override def next(): FileScanTask =
      if (!hasNext) throw new NoSuchElementException("All tasks of the plan have been returned.")
      else
        rest.fold {
          val task = ready
          ready = null
          task
        }(_.next())

    private def advance(): Unit =
      try {
        ready = planned.next()
        if (ready == null) finish()
      } catch {
        case Survivable(e) => rest = Some(restOf(stock(e)))
      }

    /**
     * The tasks of Iceberg's plan whose files were not returned yet; a file that the table lists twice is read twice.
     */
    private def restOf(all: CloseableIterable[FileScanTask]): Iterator[FileScanTask] = {
      addCloseable(all)
      val handedOut = planned.made()
      val tasks = all.iterator()
      Iterator.continually(tasks).takeWhile(_.hasNext).map(_.next()).filter { task =>
        val path = task.file().location()
        val times = handedOut.getOrElse(path, 0)
        if (times > 0) handedOut(path) = times - 1
        times == 0
      }
    }

    private def finish(): Unit =
      if (!isFinished && rest.isEmpty) {
        isFinished = true
        finished(planned.counts)
      }

    override def close(): Unit = finish()
  }
}
