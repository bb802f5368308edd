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
 * Builds the facts that a table has for data files that are new, where the settings ask for it.
 *
 * A thread of its own, because data is read: neither a commit nor the index waits for it. One table at a time, and of the
 * snapshots of a table that wait the newest only. A failure is logged and leaves the files without facts, which keeps
 * them in plans; the next snapshot tries again. Thread-safe.
 */
private[zonemap] final class FactUpkeep(process: IndexProcess) {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")
  private val waiting = new ConcurrentHashMap[UUID, () => Unit]
  @volatile private var runnerOf: Table => Option[FactTaskRunner] = _ => None

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

  /** Who reads data for [[enqueue]], asked on the thread that will wait for it; `None` when nobody can now. */
  def register(runner: Table => Option[FactTaskRunner]): Unit = runnerOf = runner

  /** Builds what the snapshot's files lack, soon. The store has the snapshot. */
  def enqueue(table: Table, snapshot: Snapshot, settings: PlannerSettings): Unit =
    if (isWanted(table, snapshot, settings)) {
      val uuid = table.uuid()
      val work = () => runnerOf(table).foreach(run(table, snapshot, settings, _))
      if (waiting.put(uuid, work) == null)
        try worker.execute(() => Option(waiting.remove(uuid)).foreach(_.apply()))
        catch { case _: RejectedExecutionException if worker.isShutdown => () }
    }

  /** Builds what the snapshot's files lack, now. The store has the snapshot. */
  def run(table: Table, snapshot: Snapshot, settings: PlannerSettings, runner: FactTaskRunner): Unit =
    if (isWanted(table, snapshot, settings))
      try {
        val requests = FactRequest.known(table, process.factsOf(table))
        if (requests.nonEmpty)
          new FactBuild(process).build(table, snapshot, settings, requests, runner, FactLimit.Unlimited): Unit
        process.tables.of(table).factsBuiltFor = Some(snapshot.snapshotId())
      } catch {
        case NonFatal(e) =>
          log.warn(s"Cannot build the facts of snapshot ${snapshot.snapshotId()} of ${table.name()}: $e")
      }

  /** Waits until everything queued so far is done, for tests and orderly ends; `false` when time ran out. */
  def await(timeoutMillis: Long): Boolean =
    try {
      val nothing: Runnable = () => ()
      worker.submit(nothing).get(timeoutMillis, TimeUnit.MILLISECONDS)
      true
    } catch { case _: TimeoutException => false }

  /** Takes no more work and drops what waits; a build under way comes to its end. */
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
