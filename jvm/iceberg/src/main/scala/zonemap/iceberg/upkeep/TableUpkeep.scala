// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

/**
 * The state that upkeep retains for one table: its pace, the time of the last write to its store, the write that is
 * pending, and the last failure. One thread changes it.
 */
private[upkeep] final class TableUpkeep {
  val pace = new Pace

  private var lastFlushNanos = Option.empty[Long]
  @volatile private var waiting = Option.empty[() => Unit]
  @volatile private var isFlushing = false
  @volatile private var dueMillis = 0L
  var isTimerSet = false

  @volatile private var failure = Option.empty[String]

  /** Why the last turn of work failed; `None` after a turn that succeeded. Any thread may call it. */
  def lastFailure: Option[String] = failure

  /** Runs a turn of work and retains its error, which it throws. */
  def recording(work: => Unit): Unit =
    try work
    catch {
      case e: Throwable =>
        failure = Some(e.toString)
        throw e
    }

  /** Records that a turn has covered or written a snapshot. */
  def succeeded(): Unit = failure = None

  /** Milliseconds until the next write to the store is due; the first write is due at once. */
  def millisUntilNextFlush(intervalMillis: Long): Long =
    lastFlushNanos.fold(0L)(last => intervalMillis - (System.nanoTime() - last) / 1000000)

  /** Sets the pending write, which replaces an earlier one and is due when that one was. */
  def await(write: () => Unit, delayMillis: Long): Unit = {
    if (waiting.isEmpty) dueMillis = System.currentTimeMillis() + math.max(0L, delayMillis)
    waiting = Some(write)
  }

  /** Runs the pending write; the flush interval starts again, even if the write fails. */
  def flushWaiting(): Unit = waiting.foreach { write =>
    isFlushing = true
    try {
      waiting = None
      lastFlushNanos = Some(System.nanoTime())
      write()
    } finally isFlushing = false
  }

  /** When the write that waits or is under way is or was due; `None` without such a write. Any thread may call it. */
  def writeDueMillis: Option[Long] = Option.when(waiting.isDefined || isFlushing)(dueMillis)
}
