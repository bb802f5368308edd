// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.store

import java.util.ArrayDeque
import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

/**
 * Daemon threads that make requests to stores. One store uses a limited number of the threads at once, so that a store
 * that hangs leaves threads for the others; further tasks of the store are queued. Idle threads end after some time.
 * Thread-safe.
 *
 * @param maxThreads the greatest number of threads for all stores
 * @param perStore the greatest number of threads for one store
 */
private[zonemap] final class StorePool(name: String, maxThreads: Int, perStore: Int) {
  import StorePool._

  private val lanes = mutable.HashMap.empty[String, Lane]

  private val executor = {
    val count = new AtomicInteger
    val threads = new ThreadPoolExecutor(
      maxThreads,
      maxThreads,
      IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      task => {
        val thread = new Thread(task, s"$name-${count.incrementAndGet()}")
        thread.setDaemon(true)
        thread
      }
    )
    threads.allowCoreThreadTimeOut(true)
    threads
  }

  /** Runs `task` when a thread of the store is free. */
  def execute(store: String)(task: => Unit): Unit = {
    val starts = synchronized {
      val lane = lanes.getOrElseUpdate(store, new Lane)
      val isFree = lane.running < perStore
      if (isFree) lane.started() else lane.waiting.add(() => task): Unit
      isFree
    }
    if (starts) launch(store, () => task)
  }

  /**
   * Whether all threads of the store are busy and no task of it has started or ended for some time: another task would
   * only wait behind the others.
   */
  def isStuck(store: String): Boolean = synchronized {
    lanes.get(store).exists(lane => lane.running == perStore && System.nanoTime() - lane.changedNanos > StuckNanos)
  }

  /** Whether no task runs or waits. */
  def isIdle: Boolean = synchronized(lanes.isEmpty)

  private def launch(store: String, task: Runnable): Unit =
    try
      executor.execute { () =>
        try task.run()
        finally next(store)
      }
    catch { case e: Throwable => next(store); throw e }

  /** Starts the next queued task of the store, because one of its threads has become free. */
  private def next(store: String): Unit = {
    val following = synchronized {
      val lane = lanes(store)
      lane.changedNanos = System.nanoTime()
      val task = lane.waiting.poll()
      if (task == null) {
        lane.running -= 1
        if (lane.running == 0) lanes.remove(store)
      }
      Option(task)
    }
    following.foreach(launch(store, _))
  }
}

private[zonemap] object StorePool {
  private val IdleSeconds = 20L
  private val StuckNanos = TimeUnit.SECONDS.toNanos(2)

  private final class Lane {
    var running = 0
    val waiting = new ArrayDeque[Runnable]

    /** The time at which a task of the store last started or ended. */
    var changedNanos: Long = System.nanoTime()

    def started(): Unit = {
      running += 1
      changedNanos = System.nanoTime()
    }
  }
}
