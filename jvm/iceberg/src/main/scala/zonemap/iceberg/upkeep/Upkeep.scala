// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import java.lang.{Long => JLong}
import java.util.{ArrayList => JArrayList, Collections, UUID, WeakHashMap}
import java.util.concurrent.{
  ConcurrentHashMap,
  RejectedExecutionException,
  ScheduledThreadPoolExecutor,
  ThreadFactory,
  TimeUnit
}
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.iceberg.build.{AppendedFiles, Merging, SegmentCompactor}
import zonemap.iceberg.registry.{IndexProcess, SeenTable, TableIndex}
import zonemap.iceberg.settings.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey}
import zonemap.iceberg.store.StoreWriteException

/**
 * The only background worker of a process. It covers snapshots that queries requested or that this JVM committed,
 * merges segments according to the policy, and writes stores.
 *
 * Memory is updated at once, for commits as soon as their [[Pace]] allows. A store is updated when the flush interval
 * is over or enough manifests are unwritten. The worker is a daemon thread of low priority. A snapshot is queued at
 * most once at a time, and only the newest of the commits to a table. No lock is held while manifests are decoded,
 * segments merged or files written. Failures are logged, and queries fall back to Iceberg's planning. When the JVM
 * ends, snapshots that wait for the flush interval are not written; the next reader covers them again. Thread-safe.
 */
private[zonemap] final class Upkeep(process: IndexProcess, facts: FactUpkeep) {
  import Upkeep._

  private val covering = new Covering(process)
  private val compactor = new SegmentCompactor(process.access.spill)

  /** The snapshots that are queued or under way, by table and id, and since when. */
  private val queued = new ConcurrentHashMap[(UUID, Long), JLong]
  private val commits = new ConcurrentHashMap[String, Commit]

  /** By the name of its table, the commit that has left `commits` and whose turn of work has not ended. */
  private val following = new ConcurrentHashMap[String, Commit]

  /** The upkeep state of each table; it is garbage-collected together with the table's index. */
  private val states = Collections.synchronizedMap(new WeakHashMap[TableIndex, TableUpkeep])

  private val cpu = new LongAdder
  private val failed = new LongAdder

  private val worker = {
    val executor = new ScheduledThreadPoolExecutor(
      1,
      new ThreadFactory {
        override def newThread(task: Runnable): Thread = {
          val thread = new Thread(task, "zonemap-upkeep")
          thread.setDaemon(true)
          thread.setPriority(Thread.MIN_PRIORITY)
          thread
        }
      }
    )
    executor.setRemoveOnCancelPolicy(true)
    executor.setKeepAliveTime(IdleSeconds, TimeUnit.SECONDS)
    executor.allowCoreThreadTimeOut(true)
    executor
  }

  /** Queues the covering of `snapshot`: in memory, and in the store if the upkeep mode requires it. */
  def enqueue(table: Table, snapshot: Snapshot, settings: PlannerSettings): Unit =
    if (settings.upkeep != UpkeepMode.Off)
      submit(table, snapshot) {
        val index = process.tables.of(table)
        maintain(table, covered(table, snapshot, index, AppendedFiles.Empty), settings, index)
      }

  /**
   * Queues the maintenance of a covered snapshot: it is merged if the policy requires it, and written to the store if
   * the upkeep mode requires it.
   */
  def enqueueCovered(table: Table, snapshot: Snapshot, covered: SnapshotIndex, settings: PlannerSettings): Unit = {
    val index = process.tables.of(table)
    if (persists(settings, index) || Merging.isDue(table, covered, settings.maintenance.merge))
      submit(table, snapshot)(maintain(table, covered, settings, index))
  }

  /** Shrinks the index to its cap on the worker, after a plan has loaded parts of segments or the cap has changed. */
  def trim(): Unit =
    if (process.tables.residentBytes > process.caps.hotMaxBytes)
      execute(() => logged("keep the index below hot.maxBytes", process.shrink()))

  /**
   * Queues a snapshot that this JVM commits to the table with that name, if this JVM retains an index of the table.
   * Does nothing else, because it runs on the committing thread.
   *
   * @param known the data files that the snapshot has added, if the committing thread knows them. The snapshot is then
   *   indexed at once, without its pause
   */
  def committed(
      tableName: String,
      snapshotId: Long,
      settingsOf: SeenTable => Option[PlannerSettings],
      known: AppendedFiles = AppendedFiles.Empty): Unit =
    for {
      index <- process.tables.named(tableName)
      seen <- index.lastSeen
      settings <- settingsOf(seen)
      if settings.upkeep != UpkeepMode.Off && settings.maintenance.followCommits
    } {
      val commit = Commit(snapshotId, settings, System.currentTimeMillis(), known)
      val waiting = commits.merge(
        tableName,
        commit,
        (older, _) => {
          val since = if (isIndexed(index, older.snapshotId)) commit.sinceMillis else older.sinceMillis
          commit.copy(sinceMillis = since, known = older.known ++ known)
        }
      )
      if (waiting eq commit) execute(() => followWhenDue(tableName))
      else if (!known.isEmpty) execute(() => coverKnown(tableName))
    }

  /**
   * Waits until all work queued so far is done and written, without pauses, for tests and an orderly shutdown; returns
   * `false` after the timeout.
   */
  def await(timeoutMillis: Long): Boolean =
    try {
      val done: Runnable = () => {
        commits.keySet().forEach(followCommit(_))
        states
          .synchronized(new JArrayList(states.values()))
          .forEach(state => logged("write an index", state.recording(state.flushWaiting())))
      }
      worker.submit(done).get(timeoutMillis, TimeUnit.MILLISECONDS)
      true
    } catch { case _: java.util.concurrent.TimeoutException => false }

  /** The work on a table that is queued or under way. */
  def workOn(index: TableIndex): UpkeepWork = {
    val followed = index.lastSeen.toSeq.flatMap { seen =>
      (Option(commits.get(seen.name)) ++ Option(following.get(seen.name))).map(_.sinceMillis)
    }
    val requested = queued.asScala.iterator.collect {
      case ((uuid, _), since) if uuid == index.uuid => since.longValue
    }
    val state = Option(states.get(index))
    UpkeepWork(
      (followed.iterator ++ requested).minOption,
      state.flatMap(_.writeDueMillis),
      state.flatMap(_.lastFailure))
  }

  private def followWhenDue(tableName: String): Unit =
    if (commits.containsKey(tableName)) {
      val pause = process.tables.named(tableName).fold(0L)(stateOf(_).pace.millisLeft)
      if (pause == 0) followCommit(tableName)
      else {
        coverKnown(tableName)
        val later: Runnable = () => followWhenDue(tableName)
        schedule(later, pause)
      }
    }

  /** Covers a commit that waits for its pause, if its files are known, so that no manifest has to be decoded. */
  private def coverKnown(tableName: String): Unit =
    for {
      commit <- Option(commits.get(tableName))
      if !commit.known.isEmpty
      index <- process.tables.named(tableName)
      seen <- index.lastSeen
      if index.isFollowed
    } logged(
      index,
      s"index snapshot ${commit.snapshotId} of $tableName", {
        val table = new BaseTable(seen.operations, seen.name)
        for {
          snapshot <- find(table, index.uuid, commit.snapshotId)
          if index.get(SnapshotKey.of(snapshot)).isEmpty
          covered <- covering.coverKnown(table, snapshot, index, commit.known)
        } {
          process.keep(index, covered): Unit
          commits.computeIfPresent(
            tableName,
            (_, waiting) => if (waiting eq commit) waiting.copy(known = AppendedFiles.Empty) else waiting): Unit
        }
      }
    )

  private def stateOf(index: TableIndex): TableUpkeep = states.computeIfAbsent(index, _ => new TableUpkeep)

  private def followCommit(tableName: String): Unit = {
    Option(commits.get(tableName)).foreach(commit => following.put(tableName, commit))
    var isRetried = false
    try
      Option(commits.remove(tableName)).foreach { commit =>
        follow(tableName, commit) {
          isRetried = true
          schedule(() => followAgain(tableName, commit), RetryMillis)
        }
      }
    finally if (!isRetried) following.remove(tableName): Unit
  }

  private def followAgain(tableName: String, commit: Commit): Unit =
    try
      follow(tableName, commit)(
        log.debug(s"Snapshot ${commit.snapshotId} of $tableName was announced and never committed"))
    finally following.remove(tableName): Unit

  private def follow(tableName: String, commit: Commit)(absent: => Unit): Unit =
    for {
      index <- process.tables.named(tableName)
      seen <- index.lastSeen
      if index.isFollowed
    } stateOf(index).pace.count(commit.settings.maintenance.maxCpuShare) {
      logged(
        index,
        s"index snapshot ${commit.snapshotId} of $tableName", {
          val table = new BaseTable(seen.operations, seen.name)
          find(table, index.uuid, commit.snapshotId).fold(absent) { snapshot =>
            maintain(table, covered(table, snapshot, index, commit.known), commit.settings, index)
          }
        }
      )
    }

  /**
   * The committed snapshot. The committing thread has usually refreshed the same table operations already; otherwise
   * the metadata is read here once.
   */
  private def find(table: BaseTable, uuid: UUID, snapshotId: Long): Option[Snapshot] = {
    def known = Option(table.snapshot(snapshotId)).filter(_ => table.uuid() == uuid)
    known.orElse {
      table.refresh()
      known
    }
  }

  private def covered(table: Table, snapshot: Snapshot, index: TableIndex, known: AppendedFiles): SnapshotIndex =
    index.get(SnapshotKey.of(snapshot)).getOrElse {
      process.keep(index, covering.cover(table, snapshot, index, known))
    }

  private def maintain(table: Table, covered: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit = {
    val merged = Merging.ifDue(table, covered, index, settings.maintenance.merge, compactor)
    if (merged ne covered) process.keep(index, merged)
    if (persists(settings, index)) flush(table, merged, settings, index)
    stateOf(index).succeeded()
  }

  private def persists(settings: PlannerSettings, index: TableIndex): Boolean =
    index.storeState.mayWrite && (settings.upkeep match {
      case UpkeepMode.Persist                 => true
      case UpkeepMode.Auto                    => index.storeState.exists
      case UpkeepMode.Memory | UpkeepMode.Off => false
    })

  /** Writes the snapshot to the store at once if a write is due; otherwise sets a timer. */
  private def flush(table: Table, snapshot: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit = {
    val state = stateOf(index)
    val root = process.storeOf(table, settings).root
    val delay = state.millisUntilNextFlush(settings.maintenance.flushIntervalMillis)
    state.await(() => persist(table, index.get(snapshot.key).getOrElse(snapshot), settings, index), delay)
    if (delay <= 0 || snapshot.unstoredManifests(root) >= settings.maintenance.flushManifests) state.flushWaiting()
    else if (!state.isTimerSet) {
      state.isTimerSet = true
      val later: Runnable = () => {
        state.isTimerSet = false
        state.pace.count(settings.maintenance.maxCpuShare) {
          logged(
            index,
            s"write the index of ${table.name()}", {
              state.flushWaiting()
              state.succeeded()
            }
          )
        }
      }
      schedule(later, delay)
    }
  }

  private def persist(table: Table, covered: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit =
    try {
      val store = process.storeOf(table, settings)
      val stored = covering.flush(table, covered, index, store)
      index.storeState.written()
      process.keep(index, stored)
      Option(table.snapshot(covered.key.snapshotId)).foreach(facts.enqueue(table, _, settings))
    } catch {
      case e: StoreWriteException =>
        index.storeState.refused(e.getMessage)
        throw e
    }

  private def submit(table: Table, snapshot: Snapshot)(work: => Unit): Unit = {
    val name = (table.uuid(), snapshot.snapshotId())
    if (queued.putIfAbsent(name, System.currentTimeMillis()) == null)
      execute { () =>
        try logged(process.tables.of(table), s"index snapshot ${snapshot.snapshotId()} of ${table.name()}", work)
        finally queued.remove(name): Unit
      }
  }

  /** Runs a turn of work on a table; a failure is logged and retained until a turn succeeds. */
  private def logged(index: TableIndex, what: => String, work: => Unit): Unit =
    logged(what, stateOf(index).recording(work))

  private def logged(what: => String, work: => Unit): Unit =
    try work
    catch {
      case NonFatal(e) =>
        failed.increment()
        log.warn(s"Cannot $what: $e")
    }

  /**
   * Since when each commit and snapshot waits that is not indexed in memory yet, in milliseconds of the clock. A snapshot
   * that a query or known files have covered does not wait any more, although its merge or its write may be due.
   */
  def waiting: Seq[Long] = {
    val followed = (commits.asScala.iterator ++ following.asScala.iterator).collect {
      case (name, commit) if !process.tables.named(name).exists(isIndexed(_, commit.snapshotId)) => commit.sinceMillis
    }
    val requested = queued.asScala.iterator.collect {
      case ((uuid, id), since) if !isIndexed(process.tables.look(uuid), id) => since.longValue
    }
    (followed ++ requested).toSeq
  }

  private def isIndexed(index: TableIndex, snapshotId: Long): Boolean =
    index.covered.keysIterator.exists(_.snapshotId == snapshotId)

  /** The CPU time of the worker since the process started. */
  def cpuNanos: Long = cpu.sum()

  /** The turns of work that failed since the process started. */
  def failures: Long = failed.sum()

  /** Accepts no more work and drops queued work; a turn that is under way ends normally. */
  def close(): Unit = worker.shutdownNow(): Unit

  private def execute(task: Runnable): Unit = schedule(task, 0)

  private def counted(task: Runnable): Unit = {
    val before = Pace.threadCpuNanos
    try task.run()
    finally cpu.add(Pace.threadCpuNanos - before)
  }

  /** Schedules a task; tasks after [[close]] are ignored. */
  private def schedule(task: Runnable, millis: Long): Unit =
    try worker.schedule((() => counted(task)): Runnable, millis, TimeUnit.MILLISECONDS): Unit
    catch { case _: RejectedExecutionException if worker.isShutdown => () }
}

private object Upkeep {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")

  /**
   * The delay before a snapshot is looked up again: Iceberg reports a transaction's snapshots before it commits them.
   */
  private val RetryMillis = 1000L

  private val IdleSeconds = 60L

  /**
   * A reported snapshot, and the settings of the session that commits it.
   *
   * @param sinceMillis when the oldest of the commits was queued that this one stands for
   * @param known the data files that these commits have added, as far as they were handed over
   */
  private final case class Commit(snapshotId: Long, settings: PlannerSettings, sinceMillis: Long, known: AppendedFiles)
}
