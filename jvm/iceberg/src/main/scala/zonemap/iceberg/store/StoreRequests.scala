package zonemap.iceberg.store

import zonemap.core.io.LruBytes

/** How long the requests of a process to stores take. Stores that were not asked for long are forgotten. Thread-safe. */
private[zonemap] final class StoreRequests {
  import StoreRequests._

  private val usual = new LruBytes[String, java.lang.Long](_ => 1)

  /** Of a store's requests of late, on average; 0 before the first. */
  def usualNanos(store: String): Long = {
    val known = synchronized(usual.get(store))
    known.fold(0L)(_.longValue)
  }

  /** Makes a request to a store on this thread. */
  def timed[A](store: String)(request: => A): A = {
    val started = System.nanoTime()
    val answer = counted(request)
    val nanos = System.nanoTime() - started
    learn(store, nanos)
    answer
  }

  private def learn(store: String, nanos: Long): Unit = synchronized {
    usual.put(store, usual.get(store).fold(nanos)(before => before + (nanos - before) / Weight))
    usual.shrinkTo(MaxStores)
  }

  /** Of how many stores something is known. */
  private[store] def storeCount: Int = synchronized(usual.size)
}

private[zonemap] object StoreRequests {
  private val Weight = 8

  /** Tables have a store each, so that a driver may go on to new ones for ever. */
  private[store] val MaxStores = 1024

  private val ofThread = new ThreadLocal[StoreMeter]

  /** Waits on this thread for what a store answers. */
  def counted[A](wait: => A): A = {
    val meter = ofThread.get
    if (meter == null) wait else meter.around(wait)
  }

  /** Runs `body`, whose requests and waits count for `meter`. */
  def metered[A](meter: StoreMeter)(body: => A): A = {
    ofThread.set(meter)
    try meter.started(body)
    finally ofThread.remove()
  }
}

/** For how long one piece of work has been waiting: before it started, and for stores since then. Thread-safe to read. */
private[zonemap] final class StoreMeter {
  private var nanos = 0L
  private var since = System.nanoTime()
  private var isWaiting = true

  def waitedNanos: Long = synchronized(if (isWaiting) nanos + System.nanoTime() - since else nanos)

  private[iceberg] def started[A](body: => A): A = {
    end()
    body
  }

  /** Waits inside of waits count once. */
  private[store] def around[A](wait: => A): A = {
    val isOutermost = begin()
    try wait
    finally if (isOutermost) end()
  }

  private def begin(): Boolean = synchronized {
    val begins = !isWaiting
    if (begins) {
      isWaiting = true
      since = System.nanoTime()
    }
    begins
  }

  private def end(): Unit = synchronized {
    nanos += System.nanoTime() - since
    isWaiting = false
  }
}
