package zonemap.iceberg.plan

import org.apache.iceberg.FileScanTask
import org.apache.iceberg.metrics.ScanMetrics

import zonemap.iceberg.upkeep.ResolvedSnapshot

/** A finished plan: the tasks, and what is reported of them. */
private[plan] final class FilePlan(
    resolved: ResolvedSnapshot,
    tier: Tier,
    bound: BoundScan,
    hints: ScanHints,
    selection: FileSelection,
    val tasks: java.util.List[FileScanTask],
    counts: TaskCounts,
    val files: FileSet) {

  /** Adds this plan to Iceberg's scan metrics, so that reports and the SQL tab stay true. */
  def count(metrics: ScanMetrics): Unit = {
    val index = resolved.index
    metrics.totalDataManifests().increment(index.dataManifests.toLong)
    metrics.totalDeleteManifests().increment(index.deletes.deleteManifests.toLong)
    metrics.skippedDataFiles().increment(index.dataFiles - tasks.size)
    counts.report(metrics)
  }

  def report(table: String, request: ScanRequest, millis: Double): PlanReport =
    new PlanReport(
      table,
      request.snapshot.snapshotId(),
      resolved.mode,
      Some(tier),
      resolved.index.dataFiles,
      tasks.size.toLong,
      () => selection.countAfterPartitions(),
      bound.describe,
      hints.topK,
      selection.limitedTo,
      selection.factReport,
      millis
    )
}
