package zonemap.iceberg.plan

import org.apache.iceberg.{BaseTable, PartitionSpec, Snapshot, Table}

import zonemap.core.segment.CorruptIndexException
import zonemap.iceberg.convert.{Indexable, PartitionTuples}
import zonemap.iceberg.index.{IndexRegistry, SnapshotKey}
import zonemap.iceberg.store.{StoreBudget, StoreSlowException}
import zonemap.iceberg.upkeep.{ResolvedSnapshot, SnapshotResolver}

/**
 * A table as one query reads it: pinned to a snapshot, with the query's settings. The copies of a [[ZoneMapTable]] share
 * one instance, so every scan and every rule of the query sees the same index, or the same reason why there is none.
 * Thread-safe.
 *
 * @param table the table that Iceberg would plan
 * @param pinnedId the snapshot that the query reads; null if the table is empty
 */
private[zonemap] final class PinnedRelation(
    val table: BaseTable,
    pinnedId: java.lang.Long,
    val settings: PlannerSettings) {
  import PinnedRelation._

  /** The time that all plans of this relation together may wait for the store. */
  val storeBudget = new StoreBudget(settings.maxStoreWaitMillis)

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
        PlanLog.record(report)
      }
    resolution = Some(latest)
    latest.found.isRight
  }

  /** The index of the pinned snapshot; `None` when Iceberg plans it. */
  def covered: Option[ResolvedSnapshot] =
    if (covers) resolution.flatMap(_.found.toOption) else None

  /** The index of `snapshot`; that of the pinned snapshot is resolved once. Any failure is returned as a reason. */
  def resolve(snapshot: Snapshot): Either[StockReason, ResolvedSnapshot] =
    resolution.filter(_.snapshotId == snapshot.snapshotId()).filterNot(isOutdated).fold(found(snapshot))(_.found)

  private def found(snapshot: Snapshot): Either[StockReason, ResolvedSnapshot] =
    try
      StoreBudget.within(storeBudget) {
        gate(table)
          .orElse(IndexRegistry.of(table).quarantined.map(StockReason.Quarantined))
          .toLeft(())
          .flatMap(_ => SnapshotResolver.resolve(table, snapshot, settings))
      }
    catch { case Survivable(e) => Left(failed(table, snapshot, e)) }

  /** A store that was slow is tried again after some time. */
  private def isOutdated(known: Resolution): Boolean =
    known.found.left.exists(_.isInstanceOf[StockReason.StoreSlow]) && storeBudget.isRenewed

  /** The live data files of the pinned snapshot; `None` when Iceberg plans it. */
  def liveFiles: Option[FileSet] =
    covered.map { resolved =>
      val parts = resolved.index.segments.map(live => live.segment -> live.liveRows())
      new FileSet(parts, trust, Some(storeBudget))
    }

  def trust: BoundsTrust = BoundsTrust.of(table, specs)

  private def specs: Int => Option[PartitionSpec] = PartitionTuples.specsById(table.specs()).get
}

private[plan] object PinnedRelation {
  /** The result of resolving a snapshot. */
  private final case class Resolution(snapshotId: Long, found: Either[StockReason, ResolvedSnapshot])

  private def gate(table: BaseTable): Option[StockReason] =
    Indexable.obstacle(table).map {
      case Indexable.NoUuid                 => StockReason.NoUuid
      case Indexable.FormatVersion(version) => StockReason.FormatVersion(version)
      case Indexable.Encrypted              => StockReason.Encrypted
    }

  /**
   * Drops the index of a snapshot that failed, so that the next query loads it again from the store or the manifests.
   * After damage, the indexes of all snapshots of the table are dropped, because snapshots share segments, and the
   * store is not read for some time. The same happens when memory runs out, so that the index frees its memory and
   * the next query does not try again.
   *
   * @param snapshot null if the scan has none
   */
  def failed(table: Table, snapshot: Snapshot, error: Throwable): StockReason = {
    val index = IndexRegistry.of(table)
    error match {
      case damage: CorruptIndexException =>
        index.damaged(damage.getMessage)
        StockReason.StoreDamaged(damage.getMessage)
      case slow: StoreSlowException => StockReason.StoreSlow(slow.waitedMillis, slow.limitMillis)
      case fault: InternalError =>
        index.damaged(error.toString)
        StockReason.StoreDamaged(s"a spilled segment cannot be read: ${fault.getMessage}")
      case _: OutOfMemoryError =>
        index.damaged(error.toString)
        StockReason.PlannerFailed(error.toString)
      case _ =>
        Option(snapshot).foreach(s => index.discard(SnapshotKey.of(s)))
        StockReason.PlannerFailed(error.toString)
    }
  }
}
