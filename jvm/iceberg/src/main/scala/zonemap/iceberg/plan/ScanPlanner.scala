package zonemap.iceberg.plan

import java.util.function.Supplier

import scala.jdk.CollectionConverters._

import org.apache.iceberg.{BaseTable, FileScanTask, PartitionSpec, Snapshot, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager
import org.apache.iceberg.io.CloseableIterable

import zonemap.core.segment.CorruptSegmentException
import zonemap.iceberg.index.SnapshotKey
import zonemap.iceberg.store.{StoreBudget, StoreSlowException}
import zonemap.iceberg.upkeep.ResolvedSnapshot

/**
 * Plans a scan from the index, or says why Iceberg must.
 *
 * The steps, in order: gates that need no index; the snapshot's index ([[zonemap.iceberg.upkeep.SnapshotResolver]]); the schema the filter
 * binds to ([[BoundScan]]); surviving rows ([[FileSelection]]); tasks for the survivors ([[TaskAssembler]]), each made when
 * it is asked for. Any failure on the way means that Iceberg plans, or what is left of the plan ([[PlannedTasks]]).
 */
private[plan] object ScanPlanner {

  /**
   * Whether a scan of the pinned snapshot should come to us rather than to Spark's distributed planning, which never
   * asks the table. Where the answer is no, this is where the reason is reported.
   */
  def covers(table: ZoneMapTable): Boolean = {
    val started = System.nanoTime()
    val snapshot = Option(table.snapshotId()).flatMap(id => Option(table.snapshot(id)))
    val resolution = snapshot.fold(Resolution(-1L, Left(StockReason.EmptyTable)))(s => resolve(table, s))
    if (table.resolution() == null)
      resolution.found.left.foreach { reason =>
        val millis = (System.nanoTime() - started) / 1e6
        report(table, PlanReport.stock(table.baseName, resolution.snapshotId, reason, millis))
      }
    table.resolved(resolution)
    resolution.found.isRight
  }

  /** The index of `snapshot`, found once a relation; any failure is a reason. */
  private def resolve(table: ZoneMapTable, snapshot: Snapshot): Resolution =
    Option(table.resolution()).filter(_.snapshotId == snapshot.snapshotId()).filterNot(isOutdated(table, _)).getOrElse {
      val found =
        try
          StoreBudget.within(table.storeBudget) {
            gate(table)
              .orElse(quarantine(table))
              .toLeft(())
              .flatMap(_ => table.process.resolver.resolve(table, snapshot, table.settings))
          }
        catch { case Survivable(e) => Left(failed(table, snapshot, e)) }
      Resolution(snapshot.snapshotId(), found)
    }

  /** A store that was slow is asked again after a while. */
  private def isOutdated(table: ZoneMapTable, resolution: Resolution): Boolean =
    resolution.found.left.exists(_.isInstanceOf[StockReason.StoreSlow]) && table.storeBudget.isRenewed

  /** The live data files of the pinned snapshot; `None` when Iceberg plans it. */
  def liveFiles(table: ZoneMapTable): Option[FileSet] =
    Option.when(covers(table))(table.resolution().found.toOption).flatten.map { resolved =>
      val parts = resolved.index.segments.map(live => live.segment -> live.liveRows())
      new FileSet(parts, trustOf(table, specsOf(table)), Some(table.storeBudget))
    }

  /** What bounds of the relation's files may be used for. */
  def trustOf(table: ZoneMapTable, specs: Int => Option[PartitionSpec]): BoundsTrust =
    BoundsTrust.of(table, table.process.index.factsOf(table), specs)

  /** The specs of a table by id. */
  def specsOf(table: ZoneMapTable): Int => Option[PartitionSpec] =
    table.specs().asScala.map { case (id, spec) => id.intValue -> spec }.get

  def planFiles(
      table: ZoneMapTable,
      request: ScanRequest,
      stock: Supplier[CloseableIterable[FileScanTask]],
      unmeasuredStock: Supplier[CloseableIterable[FileScanTask]]): CloseableIterable[FileScanTask] = {
    val started = System.nanoTime()
    def millis = (System.nanoTime() - started) / 1e6
    def stockFor(reason: StockReason): CloseableIterable[FileScanTask] = {
      val reported = Option(table.resolution()).exists(_.found == Left(reason))
      if (!reported) report(table, PlanReport.stock(table.baseName, snapshotId(request), reason, millis))
      stock.get()
    }
    def failure(e: Throwable) = failed(table, request.snapshot, e)
    def attempt[A](work: => Either[StockReason, A]): Either[StockReason, A] =
      try StoreBudget.within(table.storeBudget)(work)
      catch { case Survivable(e) => Left(failure(e)) }
    def finished(plan: FilePlan, tasks: TaskCounts): Unit = {
      if (plan.hasReadMore) table.process.upkeep.trim()
      plan.count(request.metrics, tasks)
      table.plannedFiles(plan.files)
      report(table, plan.report(table.baseName, millis))
    }
    val tasks = attempt(plan(table, request)).flatMap { plan =>
      if (table.settings.shadow) attempt(compared(table, plan, unmeasuredStock.get(), finished(plan, _)))
      else Right(new PlannedTasks(() => plan.walk(), e => stockFor(failure(e)), finished(plan, _)))
    }
    tasks.fold(stockFor, identity)
  }

  private def plan(table: ZoneMapTable, request: ScanRequest): Either[StockReason, FilePlan] =
    for {
      _ <- gate(request).toLeft(())
      resolved <- resolve(table, request.snapshot).found
      bound <- BoundScan.of(request, table.hints)
    } yield {
      val trust = trustOf(table, bound.specs.get)
      new FilePlan(request, resolved, bound, table.hints, trust, table.storeBudget)
    }

  /** All tasks at once, if they do not differ from Iceberg's. */
  private def compared(
      table: ZoneMapTable,
      plan: FilePlan,
      stock: CloseableIterable[FileScanTask],
      finished: TaskCounts => Unit): Either[StockReason, CloseableIterable[FileScanTask]] = {
    val walk = plan.walk()
    val tasks = Iterator.continually(walk.next()).takeWhile(_ != null).toList.asJava
    val found = ShadowCheck.compare(tasks, stock, plan.refutation)
    found.foreach(reason => table.process.index.tables.of(table).quarantine(reason.message))
    found.toLeft {
      finished(walk.counts)
      CloseableIterable.withNoopClose(tasks)
    }
  }

  private def gate(table: BaseTable): Option[StockReason] = {
    val metadata = table.operations().current()
    if (metadata.uuid() == null) Some(StockReason.NoUuid)
    else if (!SupportedFormatVersions.contains(TableUtil.formatVersion(table)))
      Some(StockReason.FormatVersion(TableUtil.formatVersion(table)))
    else if (!table.encryption().isInstanceOf[PlaintextEncryptionManager]) Some(StockReason.Encrypted)
    else None
  }

  private def quarantine(table: ZoneMapTable): Option[StockReason] =
    table.process.index.tables.of(table).quarantined.map(StockReason.Quarantined)

  private def gate(request: ScanRequest): Option[StockReason] =
    if (request.snapshot == null) Some(StockReason.EmptyTable)
    else if (request.returnsColumnStats) Some(StockReason.ColumnStatsRequested)
    else if (BoundScan.readsVariant(request.projection)) Some(StockReason.VariantProjected)
    else None

  /**
   * Forgets a snapshot whose index failed, so that the next query starts from the store or the manifests again; after
   * damage, every snapshot of the table, since they share segments, and the store is left alone for a while. The same
   * where memory ran out, so that the index gives back what it holds and the next query does not try again.
   */
  private def failed(table: ZoneMapTable, snapshot: Snapshot, error: Throwable): StockReason = {
    val index = table.process.index.tables.of(table)
    error match {
      case damage: CorruptSegmentException =>
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

  private def snapshotId(request: ScanRequest): Long = Option(request.snapshot).fold(-1L)(_.snapshotId())

  private def report(table: ZoneMapTable, report: PlanReport): Unit = {
    table.planned(report)
    table.process.index.planLog.record(report)
  }

  private val SupportedFormatVersions = 1 to 3
}

/** What was found of a relation's pinned snapshot, kept so that every scan of the relation sees the same. */
private[plan] final case class Resolution(snapshotId: Long, found: Either[StockReason, ResolvedSnapshot])
