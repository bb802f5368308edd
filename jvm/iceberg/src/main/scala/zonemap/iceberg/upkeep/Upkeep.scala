package zonemap.iceberg.upkeep

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, Executors, ThreadFactory, TimeUnit}

import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.iceberg.index._
import zonemap.iceberg.plan.{PlannerSettings, UpkeepMode}
import zonemap.iceberg.store.{IndexStore, StoreWriteException}

/**
 * The one background worker of this JVM that covers snapshots queries have asked for.
 *
 * A low-priority daemon thread; a snapshot is queued once at a time. Failures are logged once each and leave queries
 * to Iceberg. Thread-safe.
 */
private[zonemap] object Upkeep {
  private val log = LoggerFactory.getLogger("zonemap.upkeep")
  private val queued = ConcurrentHashMap.newKeySet[(UUID, Long)]()

  private val worker = Executors.newSingleThreadExecutor(new ThreadFactory {
    override def newThread(task: Runnable): Thread = {
      val thread = new Thread(task, "zonemap-upkeep")
      thread.setDaemon(true)
      thread.setPriority(Thread.MIN_PRIORITY)
      thread
    }
  })

  /**
   * Covers `snapshot` soon: into memory, and to the store where the upkeep mode says so.
   *
   * Queries do not wait for it: no lock is held while manifests are decoded.
   */
  def enqueue(table: Table, snapshot: Snapshot, settings: PlannerSettings): Unit =
    if (settings.upkeep != UpkeepMode.Off) submit(table, snapshot) {
      val index = IndexRegistry.of(table)
      val covered = index.get(SnapshotKey.of(snapshot)).getOrElse {
        SnapshotResolver.keep(index, SnapshotResolver.cover(table, snapshot, index), settings)
      }
      if (persists(settings, index)) persist(table, covered, settings, index)
    }

  /** Writes a snapshot that memory already covers to the store soon, where the upkeep mode says so. */
  def enqueuePersist(table: Table, snapshot: Snapshot, covered: SnapshotIndex, settings: PlannerSettings): Unit = {
    val index = IndexRegistry.of(table)
    if (persists(settings, index)) submit(table, snapshot)(persist(table, covered, settings, index))
  }

  /** Waits until everything queued so far is done, for tests and orderly ends; `false` when the time ran out. */
  def await(timeoutMillis: Long): Boolean =
    try {
      worker.submit((() => ()): Runnable).get(timeoutMillis, TimeUnit.MILLISECONDS)
      true
    } catch { case _: java.util.concurrent.TimeoutException => false }

  private def persists(settings: PlannerSettings, index: TableIndex): Boolean =
    index.storeState.worthAWrite && (settings.upkeep match {
      case UpkeepMode.Persist => true
      case UpkeepMode.Auto => index.storeState.exists
      case UpkeepMode.Memory | UpkeepMode.Off => false
    })

  private def persist(table: Table, covered: SnapshotIndex, settings: PlannerSettings, index: TableIndex): Unit =
    try {
      val (stored, _) = StoredSnapshots.save(table, covered, IndexStore.of(table, settings.storeLocation))
      index.storeState.found()
      SnapshotResolver.keep(index, stored, settings): Unit
    } catch {
      case e: StoreWriteException =>
        index.storeState.refused()
        throw e
    }

  private def submit(table: Table, snapshot: Snapshot)(work: => Unit): Unit = {
    val name = (table.uuid(), snapshot.snapshotId())
    if (queued.add(name))
      worker.execute { () =>
        try work
        catch {
          case NonFatal(e) =>
            log.warn(s"Cannot index snapshot ${snapshot.snapshotId()} of ${table.name()}: $e")
        } finally queued.remove(name): Unit
      }
  }
}
