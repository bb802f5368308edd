package zonemap.iceberg.plan

import java.util.function.Supplier

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.iceberg.{BaseTable, FileScanTask, PartitionSpec, Snapshot, Table, TableUtil}
import org.apache.iceberg.encryption.PlaintextEncryptionManager
import org.apache.iceberg.io.CloseableIterable

import zonemap.core.eval.Bitmap
import zonemap.core.segment.{CorruptSegmentException, Segment}
import zonemap.iceberg.index.{IndexRegistry, SnapshotKey, TableFacts}
import zonemap.iceberg.upkeep.{ResolvedSnapshot, SnapshotResolver, Upkeep}

/**
 * Plans a scan from the index, or says why Iceberg must.
 *
 * The steps, in order: gates that need no index; the snapshot's index ([[SnapshotResolver]]); the schema the filter
 * binds to ([[BoundScan]]); surviving rows ([[FileSelection]]); tasks for the survivors ([[TaskAssembler]]). The plan
 * is complete before the first task is handed out; any failure on the way means Iceberg plans.
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
    Option(table.resolution()).filter(_.snapshotId == snapshot.snapshotId()).getOrElse {
      val found =
        try gate(table).toLeft(()).flatMap(_ => SnapshotResolver.resolve(table, snapshot, table.settings))
        catch { case e @ (NonFatal(_) | _: LinkageError) => Left(failed(table, snapshot, e)) }
      Resolution(snapshot.snapshotId(), found)
    }

  /** The live data files of the pinned snapshot; `None` when Iceberg plans it. */
  def liveFiles(table: ZoneMapTable): Option[FileSet] =
    Option.when(covers(table))(table.resolution().found.toOption).flatten.map { resolved =>
      val parts = resolved.index.segments.map(live => live.segment -> live.liveRows())
      new FileSet(parts, specsOf(table), TableFacts.of(table))
    }

  /** The specs of a table by id. */
  def specsOf(table: ZoneMapTable): Int => Option[PartitionSpec] =
    table.specs().asScala.map { case (id, spec) => id.intValue -> spec }.get

  def planFiles(
      table: ZoneMapTable,
      request: ScanRequest,
      stock: Supplier[CloseableIterable[FileScanTask]],
      unmeasuredStock: Supplier[CloseableIterable[FileScanTask]]): CloseableIterable[FileScanTask] = {
    val started = System.nanoTime()
    val planned =
      try plan(table, request)
      catch {
        case e @ (NonFatal(_) | _: LinkageError) => Left(failed(request.table, request.snapshot, e))
      }
    val checked = planned.flatMap { plan =>
      if (table.settings.shadow) ShadowCheck.compare(plan.tasks, unmeasuredStock.get()).toLeft(plan) else Right(plan)
    }
    val millis = (System.nanoTime() - started) / 1e6
    checked match {
      case Right(plan) =>
        plan.count(request.metrics)
        table.plannedFiles(plan.files)
        report(table, plan.report(table.baseName, request, millis))
        CloseableIterable.withNoopClose(plan.tasks)
      case Left(reason) =>
        val reported = Option(table.resolution()).exists(_.found == Left(reason))
        if (!reported) report(table, PlanReport.stock(table.baseName, snapshotId(request), reason, millis))
        stock.get()
    }
  }

  private def plan(table: ZoneMapTable, request: ScanRequest): Either[StockReason, FilePlan] =
    for {
      _ <- gate(request).toLeft(())
      resolved <- resolve(table, request.snapshot).found
      bound <- BoundScan.of(request, table.hints)
    } yield assemble(request, resolved, bound, table)

  private def assemble(
      request: ScanRequest,
      resolved: ResolvedSnapshot,
      bound: BoundScan,
      table: ZoneMapTable): FilePlan = {
    val watch = new TierWatch(resolved)
    val heldBefore = resolved.index.residentBytes
    val facts = TableFacts.of(request.table)
    val selection = new FileSelection(resolved.index, bound, request, facts)
    val assembler = new TaskAssembler(resolved.index, bound, request)
    val tasks = new java.util.ArrayList[FileScanTask]
    val counts = new TaskCounts
    val files = IndexedSeq.newBuilder[(Segment, Bitmap)]
    selection.foreachSegment { (segment, rows) =>
      assembler.addTasks(segment, rows, tasks, counts)
      files += segment -> rows
    }
    val parts = files.result()
    val planned = parts.iterator.map(_._1).toSet
    if (resolved.index.residentBytes > heldBefore) Upkeep.trim(table.settings)
    val fileSet = new FileSet(parts, bound.specs.get, facts)
    new FilePlan(resolved, watch.tier(planned), bound, table.hints, selection, tasks, counts, fileSet)
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

  /**
   * Forgets a snapshot whose index failed, so that the next query starts from the store or the manifests again; after
   * damage, every snapshot of the table, since they share segments, and the store is left alone for a while.
   */
  private def failed(table: Table, snapshot: Snapshot, error: Throwable): StockReason = {
    val index = IndexRegistry.of(table)
    error match {
      case damage: CorruptSegmentException =>
        index.damaged()
        StockReason.StoreDamaged(damage.getMessage)
      case _ =>
        Option(snapshot).foreach(s => index.discard(SnapshotKey.of(s)))
        StockReason.PlannerFailed(error.toString)
    }
  }

  private def snapshotId(request: ScanRequest): Long = Option(request.snapshot).fold(-1L)(_.snapshotId())

  private def report(table: ZoneMapTable, report: PlanReport): Unit = {
    table.planned(report)
    PlanLog.record(report)
  }

  private val SupportedFormatVersions = 1 to 3
}

/** What was found of a relation's pinned snapshot, kept so that every scan of the relation sees the same. */
private[plan] final case class Resolution(snapshotId: Long, found: Either[StockReason, ResolvedSnapshot])
