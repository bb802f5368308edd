// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.upkeep

import scala.util.control.NonFatal

import org.apache.iceberg.{Snapshot, Table}
import org.slf4j.LoggerFactory

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.build.{SnapshotIndexer, UnindexableManifestException}
import zonemap.iceberg.registry.{IndexProcess, StoreState, TableIndex}
import zonemap.iceberg.report.{PlanMode, StockReason, Tier}
import zonemap.iceberg.settings.{CoverOnRead, PlannerSettings, UpkeepMode}
import zonemap.iceberg.snapshot.{SnapshotIndex, SnapshotKey, StoredSnapshots}
import zonemap.iceberg.store.IndexStore

/** The index of a snapshot, with the way in which it was found (mode) and its source (tier). */
private[zonemap] final case class ResolvedSnapshot(index: SnapshotIndex, mode: PlanMode, tier: Tier)

/**
 * Finds the index of a snapshot. The cheapest source comes first:
 *
 *   1. this JVM retains the index: nothing is read;
 *   1. the store contains a version of the snapshot: one small read, and later the sections that queries need;
 *   1. an older snapshot of the table is indexed: the manifest list and the unknown manifests are read;
 *   1. no snapshot is indexed: Iceberg plans, and upkeep covers the snapshot (or the query waits until it is covered).
 *
 * Background threads do all reading, once for all callers and to its end. The caller waits for stores within its
 * [[zonemap.iceberg.store.StoreBudget]], if it has one, and for manifests up to a fixed time. The result is always the
 * index of the requested snapshot, never of another one. Thread-safe.
 */
private[zonemap] final class SnapshotResolver(process: IndexProcess, upkeep: Upkeep) {
  import SnapshotResolver._

  private val covering = new Covering(process)

  def resolve(table: Table, snapshot: Snapshot, settings: PlannerSettings): Either[StockReason, ResolvedSnapshot] = {
    val index = process.tables.of(table)
    val key = SnapshotKey.of(snapshot)
    process.tables.seen(index, table, settings)
    // segments that are open are read through the FileIO of this table object, which is not closed during the plan
    process.storeOf(table, settings): Unit
    index.get(key) match {
      case Some(known) => Right(ResolvedSnapshot(known, PlanMode.Exact, Tier.Hot))
      case None =>
        fromStore(table, snapshot, key, index, settings) match {
          case Some(stored) => Right(ResolvedSnapshot(stored, PlanMode.Exact, Tier.Cold))
          case None         => resolveWithoutStore(table, snapshot, key, index, settings)
        }
    }
  }

  private def resolveWithoutStore(
      table: Table,
      snapshot: Snapshot,
      key: SnapshotKey,
      index: TableIndex,
      settings: PlannerSettings): Either[StockReason, ResolvedSnapshot] =
    index.get(key) match {
      case Some(known) => Right(ResolvedSnapshot(known, PlanMode.Exact, Tier.Hot))
      case None if index.oversized.exists(o => o.key == key && o.isForGood(process.caps.hotMaxBytes)) =>
        Left(StockReason.NotCovered(tooLarge(index)))
      case None if index.isEmpty && mayNotWait(settings, index) => uncovered(table, snapshot, index, settings)
      case None =>
        val bound = if (index.isEmpty) CoverWaitMillis else ManifestsWaitMillis
        index.flights
          .of((key, settings), s"manifests of ${index.uuid}")(fromManifests(table, snapshot, index, settings))
          .await(bound)
          .getOrElse(Left(StockReason.NotCovered(s"its manifests are still being read after $bound ms")))
    }

  private def fromStore(
      table: Table,
      snapshot: Snapshot,
      key: SnapshotKey,
      index: TableIndex,
      settings: PlannerSettings): Option[SnapshotIndex] =
    if (!index.storeState.mayRead) None
    else {
      val store = process.storeOf(table, settings)
      index.flights.of((key, store.root), store.root)(open(table, snapshot, index, store, settings)).await()
    }

  private def open(
      table: Table,
      snapshot: Snapshot,
      index: TableIndex,
      store: IndexStore,
      settings: PlannerSettings): Option[SnapshotIndex] =
    try {
      val exact = twice(store)(StoredSnapshots.load(table, snapshot, store))
      if (exact.isEmpty && index.isEmpty)
        twice(store)(StoredSnapshots.loadNearest(table, snapshot, store, MaxParents)).foreach { near =>
          index.storeState.found()
          process.keep(index, near): Unit
        }
      if (exact.isDefined) index.storeState.found()
      else if (!index.storeState.exists) index.storeState.missed()
      exact.map(process.keep(index, _))
    } catch {
      case e @ (_: CorruptIndexException | NonFatal(_)) =>
        index.storeState.unusable(StoreState.problemOfRead(e))
        log.warn(
          s"Zonemap: the index of ${table.name()} in '${store.root}' cannot be used: ${e.getMessage}. " +
            s"Queries are planned without it; CALL zonemap.system.build_index builds it anew.")
        None
    }

  /** Loads a damaged index again without the cached ranges, which may be those of a store that was repaired since. */
  private def twice[T](store: IndexStore)(load: => T): T =
    try load
    catch {
      case _: CorruptIndexException =>
        process.access.cold.forget(store.root)
        load
    }

  /** Whether a query must not wait for a table without an index, which upkeep covers instead. */
  private def mayNotWait(settings: PlannerSettings, index: TableIndex): Boolean =
    settings.upkeep == UpkeepMode.Off || settings.coverOnRead != CoverOnRead.Wait ||
      index.oversized.exists(_.bytes > process.caps.hotMaxBytes)

  private def fromManifests(
      table: Table,
      snapshot: Snapshot,
      index: TableIndex,
      settings: PlannerSettings): Either[StockReason, ResolvedSnapshot] =
    if (index.isEmpty) uncovered(table, snapshot, index, settings)
    else {
      val diff = SnapshotIndexer.diff(table, snapshot, index)
      if (!diff.knowsAnything && diff.unknownEntries > 0 && settings.upkeep == UpkeepMode.Off)
        Left(StockReason.NotCovered("none of its manifests is indexed"))
      else if (diff.unknownEntries > settings.maxUnknownEntries) {
        upkeep.enqueue(table, snapshot, settings)
        Left(StockReason.TooManyUnknown(diff.unknownEntries, settings.maxUnknownEntries))
      } else
        indexable {
          val covered = process.keep(index, SnapshotIndexer.inMemory(table, snapshot, diff, process.access.fetches))
          upkeep.enqueueCovered(table, snapshot, covered, settings)
          ResolvedSnapshot(covered, PlanMode.Hybrid, Tier.Hot)
        }
    }

  private def uncovered(
      table: Table,
      snapshot: Snapshot,
      index: TableIndex,
      settings: PlannerSettings): Either[StockReason, ResolvedSnapshot] =
    (settings.upkeep, settings.coverOnRead) match {
      case (UpkeepMode.Off, _) =>
        val why = index.storeState.lastReadError.getOrElse("the table has no index")
        Left(StockReason.NotCovered(s"$why and upkeep is off"))
      case _ if index.oversized.exists(_.bytes > process.caps.hotMaxBytes) =>
        Left(StockReason.NotCovered(tooLarge(index)))
      case (_, CoverOnRead.Wait) =>
        indexable {
          val covered = process.keep(index, covering.cover(table, snapshot, index))
          upkeep.enqueueCovered(table, snapshot, covered, settings)
          ResolvedSnapshot(covered, PlanMode.Exact, Tier.Hot)
        }
      case _ =>
        upkeep.enqueue(table, snapshot, settings)
        Left(StockReason.NotCovered("it is being indexed in the background"))
    }

  private def tooLarge(index: TableIndex): String = {
    val needed = index.oversized.fold(0L)(_.bytes)
    s"its index needs $needed bytes, more than hot.maxBytes=${process.caps.hotMaxBytes}"
  }

  private def indexable(resolve: => ResolvedSnapshot): Either[StockReason, ResolvedSnapshot] =
    try Right(resolve)
    catch { case e: UnindexableManifestException => Left(StockReason.Unindexable(e.getMessage)) }
}

private object SnapshotResolver {
  private val log = LoggerFactory.getLogger("zonemap.index")

  /**
   * The number of parents of a snapshot whose versions are requested if neither the snapshot nor the hint has a
   * version.
   */
  private val MaxParents = 8

  /** How long a query waits for manifests, which Iceberg's own plan would read too. */
  private val ManifestsWaitMillis = 10000L

  /** How long a query with `coverOnRead=wait` waits until its snapshot is covered. */
  private val CoverWaitMillis = 600000L
}
