package zonemap.iceberg.upkeep

/** What upkeep remembers of one table: its pace, when its store was written last, and what waits to be. Used by one thread. */
private[upkeep] final class TableUpkeep {
  val pace = new Pace

  private var lastFlushNanos = Option.empty[Long]
  var waiting = Option.empty[() => Unit]
  var isTimerSet = false

  /** The first write does not wait. */
  def millisUntilNextFlush(intervalMillis: Long): Long =
    lastFlushNanos.fold(0L)(last => intervalMillis - (System.nanoTime() - last) / 1000000)

  /** Writes what waits, which counts as written from now on. */
  def flushWaiting(): Unit = waiting.foreach { write =>
    waiting = None
    lastFlushNanos = Some(System.nanoTime())
    write()
  }
}
