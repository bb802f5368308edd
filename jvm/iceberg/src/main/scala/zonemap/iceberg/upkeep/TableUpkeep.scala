package zonemap.iceberg.upkeep

/** What upkeep remembers of one table: its pace, when its store was written last, and what waits to be. One thread changes it. */
private[upkeep] final class TableUpkeep {
  val pace = new Pace

  private var lastFlushNanos = Option.empty[Long]
  @volatile var waiting = Option.empty[() => Unit]
  @volatile private var isFlushing = false
  var isTimerSet = false

  /** The first write does not wait. */
  def millisUntilNextFlush(intervalMillis: Long): Long =
    lastFlushNanos.fold(0L)(last => intervalMillis - (System.nanoTime() - last) / 1000000)

  /** Writes what waits, which counts as written from now on. */
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
