// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.function.{Consumer, Supplier}

import scala.jdk.CollectionConverters._

import org.apache.iceberg.FileScanTask
import org.apache.iceberg.io.CloseableIterable

import zonemap.iceberg.prune.{BoundScan, ScanRequest}
import zonemap.iceberg.report.{PlanReport, StockReason, Survivable}
import zonemap.iceberg.store.StoreBudget
import zonemap.iceberg.task.{PlannedTasks, TaskCounts}

/**
 * Plans a scan from the index, or falls back to Iceberg with a reason.
 *
 * The steps, in order: checks that need no index; the snapshot's index ([[PinnedRelation]]); the schema to which the
 * filter is bound ([[BoundScan]]); the selected files ([[FileSelection]]); their tasks ([[TaskAssembler]]), each made
 * when the caller reaches it. After any failure, Iceberg plans the scan, or the rest of it ([[PlannedTasks]]).
 */
private[plan] object ScanPlanner {

  /** @param planned receives the plan once its last task is made; not called if Iceberg plans the scan */
  def planFiles(
      table: ZoneMapTable,
      request: ScanRequest,
      stock: Supplier[CloseableIterable[FileScanTask]],
      unmeasuredStock: Supplier[CloseableIterable[FileScanTask]],
      planned: Consumer[PlannedScan]): CloseableIterable[FileScanTask] = {
    val started = System.nanoTime()
    val pinned = table.pinned
    def millis = (System.nanoTime() - started) / 1e6
    def stockFor(reason: StockReason): CloseableIterable[FileScanTask] = {
      if (!pinned.hasReported(reason))
        report(table, PlanReport.stock(table.baseName, snapshotId(request), reason, millis))
      stock.get()
    }
    def failure(e: Throwable) = pinned.failed(request.snapshot, e)
    def attempt[A](work: => Either[StockReason, A]) = ScanPlanner.attempt(pinned, request)(work)
    def finished(plan: FilePlan, tasks: TaskCounts): Unit = {
      if (plan.hasReadMore) pinned.process.upkeep.trim()
      plan.count(request.metrics, tasks)
      val made = plan.report(table.baseName, tasks, millis, pinned.settings.countSteps)
      val found = PlannedScan.of(plan.files, request.projection, made)
      planned.accept(found)
      report(table, found.report)
    }
    val tasks = attempt(plan(table, request)).flatMap { plan =>
      if (pinned.settings.shadow) attempt(compared(pinned, plan, unmeasuredStock.get(), finished(plan, _)))
      else Right(new PlannedTasks(() => plan.walk(), e => stockFor(failure(e)), finished(plan, _)))
    }
    tasks.fold(stockFor, identity)
  }

  /**
   * Uses the plan of a request without making its tasks. If there is a result, the plan is reported and returned with
   * it; else what `use` returned instead.
   *
   * @return the reason, which is not reported, if Iceberg plans the scan
   */
  def withoutTasks[R, A](table: ZoneMapTable, request: ScanRequest)(
      use: FilePlan => Either[R, A]): Either[StockReason, Either[R, (A, PlanReport)]] = {
    val started = System.nanoTime()
    val pinned = table.pinned
    attempt(pinned, request) {
      plan(table, request).map { plan =>
        val found = use(plan).map { result =>
          val millis = (System.nanoTime() - started) / 1e6
          (result, plan.reportWithoutTasks(table.baseName, millis, pinned.settings.countSteps))
        }
        if (plan.hasReadMore) pinned.process.upkeep.trim()
        found.foreach(f => report(table, f._2))
        found
      }
    }
  }

  private def attempt[A](pinned: PinnedRelation, request: ScanRequest)(
      work: => Either[StockReason, A]): Either[StockReason, A] =
    try StoreBudget.within(pinned.storeBudget)(work)
    catch { case Survivable(e) => Left(pinned.failed(request.snapshot, e)) }

  private def plan(table: ZoneMapTable, request: ScanRequest): Either[StockReason, FilePlan] =
    for {
      _ <- gate(request).toLeft(())
      resolved <- table.pinned.resolve(request.snapshot)
      bound <- BoundScan.of(request, table.hints)
    } yield {
      val trust = table.pinned.trustOf(bound.specs.get)
      val pinned = table.pinned
      new FilePlan(request, resolved, bound, table.hints, trust, pinned.storeBudget, pinned.settings.ownSplits)
    }

  /**
   * All tasks of the plan, if shadow mode finds no difference from Iceberg's plan; else the reason to use Iceberg's
   * plan.
   */
  private def compared(
      relation: PinnedRelation,
      plan: FilePlan,
      stock: CloseableIterable[FileScanTask],
      finished: TaskCounts => Unit): Either[StockReason, CloseableIterable[FileScanTask]] = {
    val walk = plan.walk()
    val tasks = Iterator.continually(walk.next()).takeWhile(_ != null).toList.asJava
    val found = ShadowCheck.compare(tasks, stock, plan.refutation)
    found.foreach(reason => relation.known.quarantine(reason.message))
    found.toLeft {
      finished(walk.counts)
      CloseableIterable.withNoopClose(tasks)
    }
  }

  private def gate(request: ScanRequest): Option[StockReason] =
    if (request.snapshot == null) Some(StockReason.EmptyTable)
    else if (request.returnsColumnStats) Some(StockReason.ColumnStatsRequested)
    else None

  private def snapshotId(request: ScanRequest): Long = Option(request.snapshot).fold(-1L)(_.snapshotId())

  def report(table: ZoneMapTable, report: PlanReport): Unit = {
    table.planned(report)
    table.pinned.process.index.planLog.record(report)
  }
}
