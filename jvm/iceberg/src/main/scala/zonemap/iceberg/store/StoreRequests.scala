package zonemap.iceberg.store

import java.util.concurrent.ConcurrentHashMap

/** How long the requests take that are made on this JVM's threads to stores. Thread-safe. */
private[zonemap] object StoreRequests {
  private val usual = new ConcurrentHashMap[String, java.lang.Long]
  private val ofThread = new ThreadLocal[StoreMeter]

  /** Of a store's requests of late, on average; 0 before the first. */
  def usualNanos(store: String): Long = {
    val known = usual.get(store)
    if (known == null) 0 else known
  }

  /** Makes a request to a store on this thread. */
  def timed[A](store: String)(request: => A): A = {
    val started = System.nanoTime()
    val answer = counted(request)
    val nanos = System.nanoTime() - started
    usual.merge(store, nanos, (before, now) => before + (now - before) / Weight)
    answer
  }

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

  private val Weight = 8
}

/** For how long one piece of work has been waiting: before it started, and for stores since then. Thread-safe to read. */
private[zonemap] final class StoreMeter {
  private var nanos = 0L
  private var since = System.nanoTime()
  private var isWaiting = true

  def waitedNanos: Long = synchronized(if (isWaiting) nanos + System.nanoTime() - since else nanos)

  private[store] def started[A](body: => A): A = {
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
