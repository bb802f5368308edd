// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import zonemap.core.io.LruBytes

/** Measures how long requests to stores take. Stores without recent requests are discarded. Thread-safe. */
private[zonemap] final class StoreRequests {
  import StoreRequests._

  private val usual = new LruBytes[String, java.lang.Long](_ => 1)

  /** The moving average of the duration of requests to a store, in nanoseconds; 0 before the first request. */
  def usualNanos(store: String): Long = {
    val known = synchronized(usual.get(store))
    known.fold(0L)(_.longValue)
  }

  /** Makes a request to a store on this thread and measures it. */
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

  /** The number of stores with a measured duration. */
  private[store] def storeCount: Int = synchronized(usual.size)
}

private[zonemap] object StoreRequests {
  private val Weight = 8

  /** Each table has a store of its own, so a driver that reads ever new tables would grow without this limit. */
  private[store] val MaxStores = 1024

  private val ofThread = new ThreadLocal[StoreMeter]

  /** Runs `wait`, which waits for a store, and adds its duration to the meter of this thread. */
  def counted[A](wait: => A): A = {
    val meter = ofThread.get
    if (meter == null) wait else meter.around(wait)
  }

  /** Runs `body` and adds the duration of its requests and waits to `meter`. */
  def metered[A](meter: StoreMeter)(body: => A): A = {
    ofThread.set(meter)
    try meter.started(body)
    finally ofThread.remove()
  }
}

/**
 * The time for which one piece of work has been waiting: for its start, and for stores afterwards. Other threads may
 * read it.
 */
private[zonemap] final class StoreMeter {
  private var nanos = 0L
  private var since = System.nanoTime()
  private var isWaiting = true

  def waitedNanos: Long = synchronized(if (isWaiting) nanos + System.nanoTime() - since else nanos)

  private[zonemap] def started[A](body: => A): A = {
    end()
    body
  }

  /** Runs `wait` and adds its duration; a wait inside another wait counts once. */
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
