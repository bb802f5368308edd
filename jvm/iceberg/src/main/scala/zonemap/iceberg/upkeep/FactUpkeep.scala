// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.util.UUID
import java.util.concurrent.{
  ConcurrentHashMap,
  LinkedBlockingQueue,
  RejectedExecutionException,
  ThreadPoolExecutor,
  TimeUnit,
  TimeoutException
}

import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.iceberg.fact.{FactBuild, FactLimit, FactRequest, FactTaskRunner}
import zonemap.iceberg.registry.IndexProcess
import zonemap.iceberg.settings.PlannerSettings

/**
 * Builds the facts of a table for new data files, if the settings enable it.
 *
 * A separate thread does this work because it reads data files: neither a commit nor the index waits for it. It works
 * on one table at a time, and only the newest of a table's queued snapshots is processed. A failure is logged and
 * leaves the files without facts, so that plans retain them; the next snapshot tries again. Thread-safe.
 */
private[zonemap] final class FactUpkeep(process: IndexProcess) {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")
  private val waiting = new ConcurrentHashMap[UUID, () => Unit]
  @volatile private var runnerOf: Table => Option[FactTaskRunner] = (_: Table) => None

  private val worker = {
    val executor = new ThreadPoolExecutor(
      1,
      1,
      FactUpkeep.IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      (task: Runnable) => {
        val thread = new Thread(task, "zonemap-facts")
        thread.setDaemon(true)
        thread.setPriority(Thread.MIN_PRIORITY)
        thread
      }
    )
    executor.allowCoreThreadTimeOut(true)
    executor
  }

  /**
   * Sets the function that returns the runner for [[enqueue]]. It is called on the thread that waits for the runner,
   * and returns `None` if no session can read data now.
   */
  def register(runner: Table => Option[FactTaskRunner]): Unit = runnerOf = runner

  /** Queues other work on the facts of a table; its runner is `None` if no session can read data when its turn comes. */
  def withRunner(table: Table)(work: Option[FactTaskRunner] => Unit): Unit =
    try worker.execute(() => work(runnerOf(table)))
    catch { case _: RejectedExecutionException if worker.isShutdown => () }

  /** Queues the building of the facts that the snapshot's files lack. The store must contain the snapshot. */
  def enqueue(table: Table, snapshot: Snapshot, settings: PlannerSettings): Unit =
    if (isWanted(table, snapshot, settings)) {
      val uuid = table.uuid()
      val work = () => runnerOf(table).foreach(run(table, snapshot, settings, _))
      if (waiting.put(uuid, work) == null)
        try worker.execute(() => Option(waiting.remove(uuid)).foreach(_.apply()))
        catch { case _: RejectedExecutionException if worker.isShutdown => () }
    }

  /** Builds the facts that the snapshot's files lack. The store must contain the snapshot. */
  def run(table: Table, snapshot: Snapshot, settings: PlannerSettings, runner: FactTaskRunner): Unit =
    if (isWanted(table, snapshot, settings))
      try {
        val known = FactRequest.known(table, process.factsOf(table))
        val requests = known.filter(_.path.forall(path => runner.evaluator.contains(path.evaluator)))
        if (requests.nonEmpty)
          new FactBuild(process).build(table, snapshot, settings, requests, runner, FactLimit.Unlimited): Unit
        process.tables.of(table).factsBuiltFor = Some(snapshot.snapshotId())
      } catch {
        case NonFatal(e) =>
          log.warn(s"Cannot build the facts of snapshot ${snapshot.snapshotId()} of ${table.name()}: $e")
      }

  /**
   * Waits until all work queued so far is done, for tests and an orderly shutdown; returns `false` after the timeout.
   */
  def await(timeoutMillis: Long): Boolean =
    try {
      val nothing: Runnable = () => ()
      worker.submit(nothing).get(timeoutMillis, TimeUnit.MILLISECONDS)
      true
    } catch { case _: TimeoutException => false }

  /** Accepts no more work and drops queued work; a build that is under way ends normally. */
  def close(): Unit = {
    worker.getQueue.clear()
    worker.shutdown()
  }

  private def isWanted(table: Table, snapshot: Snapshot, settings: PlannerSettings): Boolean =
    settings.maintenance.maintainFacts && process.factsOf(table).refs.nonEmpty &&
      !process.tables.of(table).factsBuiltFor.contains(snapshot.snapshotId())
}

private object FactUpkeep {
  private val IdleSeconds = 60L
}
