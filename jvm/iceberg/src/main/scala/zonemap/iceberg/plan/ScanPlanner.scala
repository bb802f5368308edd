package zonemap.iceberg.plan

import java.util.function.Supplier

import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, FileScanTask, Snapshot, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager
import org.apache.iceberg.io.CloseableIterable

import zonemap.iceberg.index.{IndexRegistry, SnapshotKey}
import zonemap.iceberg.upkeep.{ResolvedSnapshot, SnapshotResolver}

/**
 * Plans a scan from the index, or says why Iceberg must.
 *
 * The steps, in order: gates that need no index; the snapshot's index ([[SnapshotResolver]]); the schema the filter
 * binds to ([[BoundScan]]); surviving rows ([[FileSelection]]); tasks for the survivors ([[TaskAssembler]]). The plan
 * is complete before the first task is handed out; any failure on the way means Iceberg plans.
 */
private[zonemap] object ScanPlanner {

  /** Whether a scan of this snapshot should come to us rather than to Spark's distributed planning. */
  def covers(table: ZoneMapTable, snapshotId: java.lang.Long, settings: PlannerSettings): Boolean =
    try {
      Option(snapshotId).flatMap(id => Option(table.snapshot(id))) match {
        case Some(snapshot) if gate(table).isEmpty => SnapshotResolver.resolve(table, snapshot, settings).isRight
        case _ => false
      }
    } catch { case NonFatal(_) | _: LinkageError => false }

  def planFiles(
      table: ZoneMapTable,
      request: ScanRequest,
      stock: Supplier[CloseableIterable[FileScanTask]],
      unmeasuredStock: Supplier[CloseableIterable[FileScanTask]]): CloseableIterable[FileScanTask] = {
    val started = System.nanoTime()
    val planned =
      try plan(table, request)
      catch {
        case e @ (NonFatal(_) | _: LinkageError) =>
          forget(request)
          Left(StockReason.PlannerFailed(e.toString))
      }
    val checked = planned.flatMap { plan =>
      if (table.settings.shadow) ShadowCheck.compare(plan.tasks, unmeasuredStock.get()).toLeft(plan) else Right(plan)
    }
    val millis = (System.nanoTime() - started) / 1e6
    checked match {
      case Right(plan) =>
        plan.count(request.metrics)
        report(table, plan.report(request, millis))
        CloseableIterable.withNoopClose(plan.tasks)
      case Left(reason) =>
        report(table, stockReport(request, reason, millis))
        stock.get()
    }
  }

  private def plan(table: ZoneMapTable, request: ScanRequest): Either[StockReason, FilePlan] =
    for {
      _ <- gate(table).orElse(gate(request)).toLeft(())
      resolved <- SnapshotResolver.resolve(table, request.snapshot, table.settings)
      bound <- BoundScan.of(request)
    } yield assemble(request, resolved, bound)

  private def assemble(request: ScanRequest, resolved: ResolvedSnapshot, bound: BoundScan): FilePlan = {
    val selection = new FileSelection(resolved.index, bound, request)
    val assembler = new TaskAssembler(resolved.index, bound, request)
    val tasks = new java.util.ArrayList[FileScanTask]
    selection.foreachSegment { (segment, rows) => assembler.addTasks(segment, rows, tasks) }
    new FilePlan(resolved, bound, selection, tasks)
  }

  private def gate(table: BaseTable): Option[StockReason] = {
    val metadata = table.operations().current()
    if (metadata.uuid() == null) Some(StockReason.NoUuid)
    else if (!SupportedFormatVersions.contains(TableUtil.formatVersion(table)))
      Some(StockReason.FormatVersion(TableUtil.formatVersion(table)))
    else if (!table.encryption().isInstanceOf[PlaintextEncryptionManager]) Some(StockReason.Encrypted)
    else None
  }

  private def gate(request: ScanRequest): Option[StockReason] =
    if (request.snapshot == null) Some(StockReason.EmptyTable)
    else if (request.returnsColumnStats) Some(StockReason.ColumnStatsRequested)
    else if (BoundScan.readsVariant(request.projection)) Some(StockReason.VariantProjected)
    else None

  /** Drops a snapshot whose index failed, so that the next query starts from the store or the manifests again. */
  private def forget(request: ScanRequest): Unit =
    Option(request.snapshot).foreach { snapshot: Snapshot =>
      IndexRegistry.of(request.table).discard(SnapshotKey.of(snapshot))
    }

  private def stockReport(request: ScanRequest, reason: StockReason, millis: Double): PlanReport =
    new PlanReport(
      request.table.name(),
      Option(request.snapshot).fold(-1L)(_.snapshotId()),
      PlanMode.Stock(reason),
      None,
      0,
      0,
      () => 0,
      "",
      millis)

  private def report(table: ZoneMapTable, report: PlanReport): Unit = {
    table.planned(report)
    PlanLog.record(report)
  }

  private val SupportedFormatVersions = 1 to 3
}
