package zonemap.iceberg.index

/**
 * What is known about the stored index of a table: whether it is worth a request.
 *
 * After a look that found nothing, or found damage, the store is left alone for a minute, so that tables without an
 * index cost no requests; after a write that failed, writing is. A build by a procedure resets both.
 */
private[zonemap] final class StoreState {
  private val reading = new Pause
  private val writing = new Pause
  @volatile private var seen = false

  def worthALook: Boolean = reading.isOver

  def worthAWrite: Boolean = writing.isOver

  /** Whether a version was ever found there. */
  def exists: Boolean = seen

  def found(): Unit = {
    seen = true
    reading.end()
    writing.end()
  }

  /** Whether nothing waits to be tried again. */
  def isIdle: Boolean = worthALook && worthAWrite

  def missed(): Unit = reading.begin()

  def refused(): Unit = writing.begin()

  def reset(): Unit = {
    seen = false
    reading.end()
    writing.end()
  }
}

/** A minute of not trying again. Thread-safe. */
private final class Pause {
  @volatile private var until = Option.empty[Long]

  def isOver: Boolean = until.forall(System.nanoTime() - _ >= 0)
  def begin(): Unit = until = Some(System.nanoTime() + Pause.Nanos)
  def end(): Unit = until = None
}

private object Pause {
  private val Nanos: Long = 60L * 1000 * 1000 * 1000
}
