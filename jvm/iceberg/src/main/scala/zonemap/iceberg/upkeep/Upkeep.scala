package zonemap.iceberg.upkeep

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, ScheduledThreadPoolExecutor, ThreadFactory, TimeUnit}

import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.iceberg.index._
import zonemap.iceberg.plan.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.store.{IndexStore, StoreWriteException}

/**
 * The one background worker of this JVM: it covers snapshots that queries have asked for or that were committed here,
 * merges segments by the policy, and writes stores.
 *
 * Memory is updated at once, or for commits as soon as their [[Pace]] allows; a store when the flush interval is over or
 * enough manifests wait. A low-priority daemon thread; a snapshot is queued once at a time, and of the commits to a table only the newest. No lock is held while
 * manifests are decoded, segments merged or files written. Failures are logged once each and leave queries to Iceberg.
 * What waits for the interval when the JVM ends is not written; the next reader covers it again. Thread-safe.
 */
private[zonemap] object Upkeep {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")
  private val queued = ConcurrentHashMap.newKeySet[(UUID, Long)]()
  private val commits = new ConcurrentHashMap[String, Commit]
  private val flushes = new ConcurrentHashMap[UUID, FlushState]
  private val paces = new ConcurrentHashMap[UUID, Pace]

  /** A transaction's snapshots are announced before it commits. */
  private val RetryMillis = 1000L

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
    executor
  }

  /** Covers `snapshot` soon: into memory, and to the store where the upkeep mode says so. */
  def enqueue(table: Table, snapshot: Snapshot, settings: PlannerSettings): Unit =
    if (settings.upkeep != UpkeepMode.Off)
      submit(table, snapshot) {
        val index = IndexRegistry.of(table)
        maintain(table, covered(table, snapshot, index, settings), settings, index)
      }

  /** Merges a snapshot that memory covers and writes it to the store, soon and where policy and upkeep mode say so. */
  def enqueueCovered(table: Table, snapshot: Snapshot, covered: SnapshotIndex, settings: PlannerSettings): Unit = {
    val index = IndexRegistry.of(table)
    if (persists(settings, index) || Merging.isDue(table, covered, settings.maintenance.merge))
      submit(table, snapshot)(maintain(table, covered, settings, index))
  }

  /** Keeps the cap after a plan has read more of the segments, off the plan's thread. */
  def trim(settings: PlannerSettings): Unit =
    if (IndexRegistry.residentBytes > settings.hotMaxBytes)
      worker.execute { () =>
        logged(
          "keep the index under its cap",
          IndexRegistry.shrinkTo(settings.hotMaxBytes, settings.maintenance.hotWindowMillis))
      }

  /** A snapshot that was announced, and the settings of who commits it. */
  private final case class Commit(snapshotId: Long, settings: PlannerSettings)

  /**
   * A snapshot was committed in this JVM to the table of that name. Only queues, for tables whose index this JVM holds:
   * it runs on the thread that commits.
   */
  def committed(tableName: String, snapshotId: Long, settingsOf: SeenTable => Option[PlannerSettings]): Unit =
    for {
      index <- IndexRegistry.named(tableName)
      seen <- index.lastSeen
      settings <- settingsOf(seen)
      if settings.upkeep != UpkeepMode.Off && settings.maintenance.followCommits
    } if (commits.put(tableName, Commit(snapshotId, settings)) == null) worker.execute(() => followWhenDue(tableName))

  /**
   * Waits until everything queued so far is done and written, pauses left out, for tests and orderly ends; `false` when
   * time ran out.
   */
  def await(timeoutMillis: Long): Boolean =
    try {
      val done: Runnable = () => {
        commits.keySet().forEach(followCommit(_))
        flushes.keySet().forEach(uuid => logged("write an index", flushWaiting(uuid)))
      }
      worker.submit(done).get(timeoutMillis, TimeUnit.MILLISECONDS)
      true
    } catch { case _: java.util.concurrent.TimeoutException => false }

  private def followWhenDue(tableName: String): Unit =
    if (commits.containsKey(tableName)) {
      val pause = IndexRegistry.named(tableName).fold(0L)(index => paceOf(index.uuid).millisLeft)
      if (pause == 0) followCommit(tableName)
      else {
        val later: Runnable = () => followWhenDue(tableName)
        worker.schedule(later, pause, TimeUnit.MILLISECONDS): Unit
      }
    }

  private def paceOf(uuid: UUID): Pace = paces.computeIfAbsent(uuid, _ => new Pace)

  private def followCommit(tableName: String): Unit =
    Option(commits.remove(tableName)).foreach { commit =>
      follow(tableName, commit) {
        val retry: Runnable = () =>
          follow(tableName, commit)(
            log.debug(s"Snapshot ${commit.snapshotId} of $tableName was announced and never committed"))
        worker.schedule(retry, RetryMillis, TimeUnit.MILLISECONDS): Unit
      }
    }

  private def follow(tableName: String, commit: Commit)(absent: => Unit): Unit =
    for {
      index <- IndexRegistry.named(tableName)
      seen <- index.lastSeen
      if !index.isEmpty
    } paceOf(index.uuid).count(commit.settings.maintenance.maxCpuShare) {
      logged(
        s"index snapshot ${commit.snapshotId} of $tableName", {
          val table = new BaseTable(seen.operations, seen.name)
          find(table, index.uuid, commit.snapshotId).fold(absent) { snapshot =>
            maintain(table, covered(table, snapshot, index, commit.settings), commit.settings, index)
          }
        }
      )
    }

  /** The committing thread has usually refreshed the same operations already; else the metadata is read once here. */
  private def find(table: BaseTable, uuid: UUID, snapshotId: Long): Option[Snapshot] = {
    def known = Option(table.snapshot(snapshotId)).filter(_ => table.uuid() == uuid)
    known.orElse {
      table.refresh()
      known
    }
  }

  private def covered(table: Table, snapshot: Snapshot, index: TableIndex, settings: PlannerSettings): SnapshotIndex =
    index.get(SnapshotKey.of(snapshot)).getOrElse {
      SnapshotResolver.keep(index, SnapshotResolver.cover(table, snapshot, index), settings)
    }

  private def maintain(table: Table, covered: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit = {
    val merged = Merging.ifDue(table, covered, index, settings.maintenance.merge)
    if (merged ne covered) SnapshotResolver.keep(index, merged, settings)
    if (persists(settings, index)) flush(table, merged, settings, index)
  }

  private def persists(settings: PlannerSettings, index: TableIndex): Boolean =
    index.storeState.worthAWrite && (settings.upkeep match {
      case UpkeepMode.Persist                 => true
      case UpkeepMode.Auto                    => index.storeState.exists
      case UpkeepMode.Memory | UpkeepMode.Off => false
    })

  /** Writes now if it is time, else leaves it to a timer. */
  private def flush(table: Table, snapshot: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit = {
    val state = flushes.computeIfAbsent(index.uuid, _ => new FlushState)
    val root = IndexStore.of(table, settings.storeLocation).root
    state.waiting = Some(() => persist(table, index.get(snapshot.key).getOrElse(snapshot), settings, index))
    val delay = state.millisUntilNext(settings.maintenance.flushIntervalMillis)
    if (delay <= 0 || snapshot.unstoredManifests(root) >= settings.maintenance.flushManifests) flushWaiting(index.uuid)
    else if (!state.isTimerSet) {
      state.isTimerSet = true
      val later: Runnable = () => {
        state.isTimerSet = false
        paceOf(index.uuid).count(settings.maintenance.maxCpuShare) {
          logged(s"write the index of ${table.name()}", flushWaiting(index.uuid))
        }
      }
      worker.schedule(later, delay, TimeUnit.MILLISECONDS): Unit
    }
  }

  private def flushWaiting(uuid: UUID): Unit =
    for (state <- Option(flushes.get(uuid)); write <- state.take()) write()

  private def persist(table: Table, covered: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit =
    try {
      val store = IndexStore.of(table, settings.storeLocation)
      val stored = StoredSnapshots.flush(table, covered, index, store)
      index.storeState.found()
      SnapshotResolver.keep(index, stored, settings)
      Option(table.snapshot(covered.key.snapshotId)).foreach(FactUpkeep.enqueue(table, _, settings))
    } catch {
      case e: StoreWriteException =>
        index.storeState.refused()
        throw e
    }

  private def submit(table: Table, snapshot: Snapshot)(work: => Unit): Unit = {
    val name = (table.uuid(), snapshot.snapshotId())
    if (queued.add(name))
      worker.execute { () =>
        try logged(s"index snapshot ${snapshot.snapshotId()} of ${table.name()}", work)
        finally queued.remove(name): Unit
      }
  }

  private def logged(what: => String, work: => Unit): Unit =
    try work
    catch { case NonFatal(e) => log.warn(s"Cannot $what: $e") }
}

/** When a table's store was written last, and what waits to be. Used by the worker only. */
private final class FlushState {
  private var lastNanos = Option.empty[Long]
  var waiting = Option.empty[() => Unit]
  var isTimerSet = false

  /** The first write does not wait. */
  def millisUntilNext(intervalMillis: Long): Long =
    lastNanos.fold(0L)(last => intervalMillis - (System.nanoTime() - last) / 1000000)

  /** What waits, which then counts as written. */
  def take(): Option[() => Unit] = {
    val taken = waiting
    waiting = None
    if (taken.isDefined) lastNanos = Some(System.nanoTime())
    taken
  }
}
