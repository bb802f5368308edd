// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.plan

import java.util.{Set => JSet}

import org.apache.iceberg.SnapshotSummary
import org.apache.iceberg.metrics.ScanMetrics

import zonemap.core.segment.Segment
import zonemap.iceberg.answer._
import zonemap.iceberg.prune._
import zonemap.iceberg.report.{PlanReport, SwapReason, Tier}
import zonemap.iceberg.store.{FileIOByteSource, StoreBudget}
import zonemap.iceberg.task.{TaskAssembler, TaskCounts, TaskWalk}
import zonemap.iceberg.trust.{BoundsLevels, BoundsTrust}
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

  /** The results of aggregates over all files of the plan, see [[SnapshotAggregates]]. */
  def aggregates(question: AggregateQuestion): Option[Seq[GroupAnswer]] =
    new SnapshotAggregates(question, resolved.index, trust).answer(files)

  /** The rows of a metadata table of the snapshot, see [[MetadataRows]]. */
  def metadata(question: MetadataQuestion): Either[SwapReason, Seq[Array[AnyRef]]] =
    MetadataRows.of(resolved.index, request.table, question)

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

  /** The report of a plan whose tasks are not made. O(segments), if they are planned as a whole. */
  def reportWithoutTasks(table: String, millis: Double, countsRuns: Boolean): PlanReport = {
    def total(number: Segment => Int => Long, whole: Segment => Long): Long =
      parts.iterator.map { case (segment, rows) =>
        if (rows.cardinality == segment.rows) whole(segment)
        else segment.totalOf(rows)(number(segment)).getOrElse(0L)
      }.sum
    report(
      table,
      total(s => s.fileSizeBytes, _.totalFileSizeBytes),
      total(s => s.recordCount, _.totalRecordCount.getOrElse(0L)),
      millis,
      countsRuns)
  }

  /** Makes the report; called after the tasks are made. */
  def report(table: String, tasks: TaskCounts, millis: Double, countsRuns: Boolean): PlanReport =
    report(table, tasks.bytes, tasks.rows, millis, countsRuns)

  private def report(table: String, bytes: Long, rows: Long, millis: Double, countsRuns: Boolean): PlanReport =
    new PlanReport(
      table,
      request.snapshot.snapshotId(),
      resolved.mode,
      Some(watch.tier(parts.iterator.map(_._1).toSet)),
      resolved.index.dataFiles,
      files.count,
      stated(SnapshotSummary.TOTAL_FILE_SIZE_PROP),
      bytes,
      stated(SnapshotSummary.TOTAL_RECORDS_PROP),
      rows,
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

/**
 * Determines the tier from which a plan was made; created before planning and evaluated after it. A segment counts
 * for no tier if loaded bounds pruned all its files. A plan may count the reads of another plan that runs on the same
 * snapshot at the same time.
 */
private[plan] final class TierWatch(resolved: ResolvedSnapshot) {
  private val segments = resolved.index.segments
  private val readsBefore = segments.map(live => FileIOByteSource.coldReads(live.origin.source))

  /** @param hasSurvivors whether the plan contains files of a segment */
  def tier(hasSurvivors: Segment => Boolean): Tier =
    if (resolved.tier == Tier.Cold) Tier.Cold
    else {
      val isCold = segments.indices.map { i =>
        FileIOByteSource.coldReads(segments(i).origin.source) > readsBefore(i)
      }
      val anyHot = segments.indices.exists(i => !isCold(i) && hasSurvivors(segments(i).segment))
      if (!isCold.contains(true)) Tier.Hot else if (anyHot) Tier.Both else Tier.Cold
    }
}
