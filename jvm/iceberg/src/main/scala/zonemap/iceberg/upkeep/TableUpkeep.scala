package zonemap.iceberg.upkeep

/**
 * The state that upkeep retains for one table: its pace, the time of the last write to its store, the write that is
 * pending, and the last failure. One thread changes it.
 */
private[upkeep] final class TableUpkeep {
  val pace = new Pace

  private var lastFlushNanos = Option.empty[Long]
  @volatile var waiting = Option.empty[() => Unit]
  @volatile private var isFlushing = false
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

  /** Runs the pending write; the flush interval starts again, even if the write fails. */
  def flushWaiting(): Unit = waiting.foreach { write =>
    isFlushing = true
    try {
      waiting = None
      lastFlushNanos = Some(System.nanoTime())
      write()
    } finally isFlushing = false
  }

  /** Whether a write waits or is under way; any thread may call it. */
  def isWriting: Boolean = waiting.isDefined || isFlushing
}
