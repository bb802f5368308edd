// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.{Set => JSet}

import org.apache.iceberg.SnapshotSummary
import org.apache.iceberg.metrics.ScanMetrics

import zonemap.iceberg.prune.{BoundScan, BoundsLevels, BoundsTrust, FileSelection, FileSet, ScanHints, ScanRequest}
import zonemap.iceberg.report.PlanReport
import zonemap.iceberg.store.StoreBudget
import zonemap.iceberg.task.{TaskAssembler, TaskCounts, TaskWalk}
import zonemap.iceberg.upkeep.ResolvedSnapshot

/** The files of a plan, from which tasks are made, and the report of the plan. */
private[plan] final class FilePlan(
    request: ScanRequest,
    resolved: ResolvedSnapshot,
    bound: BoundScan,
    hints: ScanHints,
    trust: BoundsTrust,
    budget: StoreBudget,
    ownSplits: Boolean) {
  private val watch = new TierWatch(resolved)
  private val heldBefore = resolved.index.residentBytes
  private val selection = new FileSelection(resolved.index, bound, request, hints, trust)
  private val parts = selection.selected()

  val files: FileSet = new FileSet(parts, trust, Some(budget))

  /** Checks the paths of this plan, and paths that only Iceberg planned, against the snapshot's manifest entries. */
  def refutation(ours: JSet[String], missing: JSet[String]): Option[String] =
    new ShadowRefutation(request, bound, trust).difference(ours, missing, selection.limitedTo.isDefined)

  /** Starts a walk through the plan, which makes the tasks. */
  def walk(): TaskWalk = new TaskWalk(parts, new TaskAssembler(resolved.index, bound, request, ownSplits), budget)

  /** Whether planning loaded parts of the index that are now retained in memory. */
  def hasReadMore: Boolean = resolved.index.residentBytes > heldBefore

  /** Adds this plan to Iceberg's scan metrics, so that metrics reports and Spark's SQL tab are correct. */
  def count(metrics: ScanMetrics, tasks: TaskCounts): Unit = {
    val index = resolved.index
    metrics.totalDataManifests().increment(index.dataManifests.toLong)
    metrics.totalDeleteManifests().increment(index.deletes.deleteManifests.toLong)
    metrics.skippedDataFiles().increment(index.dataFiles - files.count)
    tasks.report(metrics)
  }

  /** A total of the snapshot's files, as its summary states it. */
  private def stated(property: String): Option[Long] =
    Option(request.snapshot.summary()).flatMap(summary => Option(summary.get(property))).flatMap(_.toLongOption)

  /** Makes the report; called after the tasks are made. */
  def report(table: String, tasks: TaskCounts, millis: Double, countsRuns: Boolean): PlanReport =
    new PlanReport(
      table,
      request.snapshot.snapshotId(),
      resolved.mode,
      Some(watch.tier(parts.iterator.map(_._1).toSet)),
      resolved.index.dataFiles,
      files.count,
      stated(SnapshotSummary.TOTAL_FILE_SIZE_PROP),
      tasks.bytes,
      stated(SnapshotSummary.TOTAL_RECORDS_PROP),
      tasks.rows,
      Some(() => StoreBudget.within(budget)(selection.steps())),
      countsRuns,
      conditions => StoreBudget.within(budget)(selection.removing(conditions)),
      bound.describe,
      hints.topK.map(_.description),
      selection.limitedTo,
      selection.factReport,
      () => BoundsLevels.of(resolved.index).lines(table, bound.schema),
      millis
    )
}
