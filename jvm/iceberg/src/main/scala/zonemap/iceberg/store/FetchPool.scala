package zonemap.iceberg.store

import java.util.concurrent.{Executor, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/**
 * Threads that wait for requests to storage, so that requests take their time side by side.
 *
 * Tasks here never wait for one another, so no number of plans can block. The threads are daemons and go when nothing
 * is fetched; Iceberg's worker pool is left to Iceberg.
 */
private[iceberg] object FetchPool {
  private val MaxThreads = 16
  private val IdleSeconds = 20L

  private val pool: Executor = {
    val count = new AtomicInteger
    val executor = new ThreadPoolExecutor(
      MaxThreads,
      MaxThreads,
      IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      task => {
        val thread = new Thread(task, s"zonemap-fetch-${count.incrementAndGet()}")
        thread.setDaemon(true)
        thread
      }
    )
    executor.allowCoreThreadTimeOut(true)
    executor
  }

  def execute(task: => Unit): Unit = pool.execute(() => task)
}
