// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseTable, PartitionSpec, Snapshot}

import zonemap.core.io.CorruptIndexException
import zonemap.iceberg.convert.{Indexable, MappedNames, PartitionTuples}
import zonemap.iceberg.prune.FileSet
import zonemap.iceberg.registry.TableIndex
import zonemap.iceberg.report.{PlanReport, StockReason, Survivable}
import zonemap.iceberg.settings.PlannerSettings
import zonemap.iceberg.snapshot.{SnapshotDeletes, SnapshotKey, TableFacts}
import zonemap.iceberg.store.{StoreBudget, StoreSlowException}
import zonemap.iceberg.trust.BoundsTrust
import zonemap.iceberg.upkeep.{ResolvedSnapshot, UpkeepProcess}

/**
 * A table as one query reads it: pinned to a snapshot, with the query's settings. The copies of a [[ZoneMapTable]]
 * share one instance, so every scan and every rule of the query sees the same index, or the same reason why there is
 * none. Thread-safe.
 *
 * @param table the table that Iceberg would plan
 * @param pinnedId the snapshot that the query reads; null if the table is empty
 * @param process holds the index
 */
private[zonemap] final class PinnedRelation(
    val table: BaseTable,
    pinnedId: java.lang.Long,
    val settings: PlannerSettings,
    val process: UpkeepProcess) {
  import PinnedRelation._

  import PinnedRelation._

  /** How long all plans of this relation together may wait for the store. */
  val storeBudget = new StoreBudget(settings.maxStoreWaitMillis, process.index.access.requests)

  @volatile private var resolution: Option[Resolution] = None
  @volatile private var firstReport: Option[PlanReport] = None

  def name: String = table.name()

  def snapshotId: Option[Long] = Option(pinnedId).map(_.longValue)

  /** The report of the first check of coverage, if the index did not cover the pinned snapshot; else `None`. */
  def stockReport: Option[PlanReport] = firstReport

  /** Whether `reason` has been reported as the reason why the index does not cover the pinned snapshot. */
  def hasReported(reason: StockReason): Boolean = resolution.exists(_.found == Left(reason))

  /**
   * Whether the index covers the pinned snapshot, so that Spark calls the table's scan instead of its distributed
   * planning, which never uses the index. If the first result is false, this method reports the reason.
   */
  def covers: Boolean = {
    val started = System.nanoTime()
    val snapshot = snapshotId.flatMap(id => Option(table.snapshot(id)))
    val latest =
      snapshot.fold(Resolution(-1L, Left(StockReason.EmptyTable)))(s => Resolution(s.snapshotId(), resolve(s)))
    if (resolution.isEmpty)
      latest.found.left.foreach { reason =>
        val millis = (System.nanoTime() - started) / 1e6
        val report = PlanReport.stock(name, latest.snapshotId, reason, millis)
        firstReport = Some(report)
        process.index.planLog.record(report)
      }
    resolution = Some(latest)
    latest.found.isRight
  }

  /** The index of the pinned snapshot; `None` when Iceberg plans it. */
  def covered: Option[ResolvedSnapshot] =
    if (covers) resolution.flatMap(_.found.toOption) else None

  /**
   * The index of `snapshot`; the index of the pinned snapshot is resolved once. Any failure is returned as a reason.
   */
  def resolve(snapshot: Snapshot): Either[StockReason, ResolvedSnapshot] =
    resolution.filter(_.snapshotId == snapshot.snapshotId()).filterNot(isOutdated).fold(found(snapshot))(_.found)

  private def found(snapshot: Snapshot): Either[StockReason, ResolvedSnapshot] =
    try
      StoreBudget.within(storeBudget) {
        gate(table)
          .orElse(known.quarantined.map(StockReason.Quarantined))
          .toLeft(())
          .flatMap(_ => process.resolver.resolve(table, snapshot, settings))
          .filterOrElse(resolved => !areKeyedByStructs(resolved.index.deletes), DeletesByStructs)
      }
    catch { case Survivable(e) => Left(failed(snapshot, e)) }

  /**
   * Whether an equality delete compares a field of a struct. Iceberg's readers take such a field as null where the query
   * does not read it, so they need exactly the deletes that Iceberg plans: SOUNDNESS, S207.
   */
  private def areKeyedByStructs(deletes: SnapshotDeletes): Boolean =
    deletes.compares { id =>
      table.schemas().values().asScala.exists(s => s.findField(id) != null && s.asStruct().field(id) == null)
    }

  /** Whether a resolution must be repeated: a store that was slow is requested again after some time. */
  private def isOutdated(known: Resolution): Boolean =
    known.found.left.exists(_.isInstanceOf[StockReason.StoreSlow]) && storeBudget.isRenewed

  /** The live data files of the pinned snapshot; `None` when Iceberg plans it. */
  def liveFiles: Option[FileSet] =
    covered.map { resolved =>
      val parts = resolved.index.segments.map(live => live.segment -> live.liveRows())
      new FileSet(parts, trust, Some(storeBudget))
    }

  /** The index of the relation's table, with all snapshots of the table that the process retains. */
  def known: TableIndex = process.index.tables.of(table)

  /** The facts of the table that are valid for the values that readers return now. */
  def facts: TableFacts = process.index.factsOf(table)

  /** The purposes for which bounds of the relation's files may be used. */
  def trust: BoundsTrust = trustOf(PartitionTuples.specsById(table.specs()).get)

  def trustOf(specs: Int => Option[PartitionSpec]): BoundsTrust =
    new BoundsTrust(facts, specs, MappedNames.digests(table))

  /**
   * Discards the index of a snapshot after a failure, so that the next query loads it from the store or the manifests
   * again. After damage it discards every snapshot of the table, because snapshots share segments, and the store is not
   * read for some time. It does the same after an OutOfMemoryError, so that the index releases its memory and the next
   * query does not load it again at once.
   *
   * @param snapshot null where the scan has none
   */
  def failed(snapshot: Snapshot, error: Throwable): StockReason =
    error match {
      case damage: CorruptIndexException =>
        known.damaged(damage.getMessage)
        StockReason.StoreDamaged(damage.getMessage)
      case slow: StoreSlowException => StockReason.StoreSlow(slow.waitedMillis, slow.limitMillis)
      case fault: InternalError =>
        known.damaged(error.toString)
        StockReason.StoreDamaged(s"a spilled segment cannot be read: ${fault.getMessage}")
      case _: OutOfMemoryError =>
        known.damaged(error.toString)
        StockReason.PlannerFailed(error.toString)
      case _ =>
        Option(snapshot).foreach(s => known.discard(SnapshotKey.of(s)))
        StockReason.PlannerFailed(error.toString)
    }
}

private[plan] object PinnedRelation {
  private val DeletesByStructs = StockReason.Unindexable("an equality delete compares a field of a struct")

  /** The result of resolving a snapshot. */
  private final case class Resolution(snapshotId: Long, found: Either[StockReason, ResolvedSnapshot])

  private def gate(table: BaseTable): Option[StockReason] =
    Indexable.obstacle(table).map {
      // Spark itself plans no scan of such a table, because Iceberg's scan hashes the uuid
      case Indexable.NoUuid                 => StockReason.Unindexable("the table has no uuid")
      case Indexable.FormatVersion(version) => StockReason.FormatVersion(version)
      case Indexable.Encrypted              => StockReason.Encrypted
    }
}
