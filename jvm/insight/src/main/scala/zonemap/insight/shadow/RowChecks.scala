// SPDX-License-Identifier: Apache-2.0
package zonemap.insight.shadow

import java.util.concurrent.{
  ArrayBlockingQueue,
  RejectedExecutionException,
  ThreadLocalRandom,
  ThreadPoolExecutor,
  TimeUnit
}
import java.util.concurrent.atomic.LongAdder

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.QueryExecutionListener
import org.slf4j.LoggerFactory

import zonemap.iceberg.report.Survivable
import zonemap.spark.conf.ZoneMapConf
import zonemap.spark.scan.SparkProcess

/**
 * Listens to finished queries of sessions and runs a sample of them again with [[RowCheck]] (SOUNDNESS, S139).
 *
 * All sessions share this listener. It is registered with a session when the session plans its first query with
 * `shadow.sample` above 0. One daemon thread of the process runs the checks one after the other. While its queue is
 * full, further checks are dropped and counted.
 */
private[zonemap] final class RowChecks(process: SparkProcess) extends QueryExecutionListener {
  import RowChecks._

  private val heard =
    java.util.Collections.newSetFromMap(new java.util.WeakHashMap[SparkSession, java.lang.Boolean])

  /** The context class loader of the thread that planned the first query; with it, jobs find zonemap's classes. */
  @volatile private var loader = Option.empty[ClassLoader]

  private val (comparedCount, skippedCount, droppedCount) = (new LongAdder, new LongAdder, new LongAdder)

  /** Queries that were run again and compared since the process started. */
  def compared: Long = comparedCount.sum()

  /** Sampled queries that could not be compared. */
  def skipped: Long = skippedCount.sum()

  /** Sampled queries that were not checked, because the queue was full. */
  def dropped: Long = droppedCount.sum()

  private val worker = {
    val pool = new ThreadPoolExecutor(
      1,
      1,
      IdleSeconds,
      TimeUnit.SECONDS,
      new ArrayBlockingQueue[Runnable](MaxWaiting),
      (work: Runnable) => {
        val thread = new Thread(work, "zonemap-shadow-rows")
        thread.setDaemon(true)
        thread
      }
    )
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  /** Registers this listener with the session if `shadow.sample` is above 0. The user's listeners remain. */
  def listenTo(session: SparkSession): Unit =
    try
      if (share(SQLConf.get) > 0 && heard.synchronized(heard.add(session))) {
        loader = loader.orElse(Option(Thread.currentThread().getContextClassLoader))
        session.listenerManager.register(this)
      }
    catch { case Survivable(e) => log.warn(s"Zonemap: shadow mode runs no query of this session again: $e") }

  override def onFailure(funcName: String, query: QueryExecution, error: Exception): Unit = ()

  override def onSuccess(funcName: String, query: QueryExecution, durationNs: Long): Unit =
    try
      if (ThreadLocalRandom.current().nextDouble() < share(query.sparkSession.sessionState.conf)) submit(query)
    catch { case Survivable(e) => log.warn(s"Zonemap: shadow mode does not run a query again: $e") }

  private def submit(query: QueryExecution): Unit =
    Comparable.of(query) match {
      case Left(why) => skip(why)
      case Right(compared) =>
        val check = new RowCheck(query.sparkSession, compared, process)
        try worker.execute(() => run(check))
        catch { case _: RejectedExecutionException => droppedCount.increment() }
    }

  private def run(check: RowCheck): Unit =
    try {
      loader.foreach(Thread.currentThread().setContextClassLoader)
      check.run() match {
        case Left(why) => skip(why)
        case Right(_)  => comparedCount.increment()
      }
    } catch {
      case Survivable(e) =>
        log.warn(s"Zonemap: shadow mode could not run a query again: $e")
        skippedCount.increment()
    }

  private def skip(why: String): Unit = {
    log.debug(s"Zonemap: shadow mode does not run a query again: $why")
    skippedCount.increment()
  }

  private def share(conf: SQLConf): Double = {
    val text = conf.getConfString(ZoneMapConf.ShadowSample.key, ZoneMapConf.ShadowSample.default)
    ZoneMapConf.ShadowSample.parse(text.trim).getOrElse(0.0)
  }
}

private object RowChecks {
  private val log = LoggerFactory.getLogger("zonemap.shadow")
  private val MaxWaiting = 16
  private val IdleSeconds = 10L
}
