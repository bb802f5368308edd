// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import zonemap.core.column.Bitmap
import zonemap.core.predicate.Predicate
import zonemap.core.segment.Segment
import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.report.{FactReport, PlanSteps}
import zonemap.iceberg.snapshot.{LiveSegment, SnapshotIndex}
import zonemap.iceberg.trust.BoundsTrust

/**
 * Selects the rows (data files) of a snapshot that a filter may match.
 *
 * First, bounds prune each file for which they prove that no row matches. Second, partition filters are evaluated
 * exactly as Iceberg evaluates them, because Spark does not evaluate filters on whole partitions again: every
 * remaining file's own tuple is evaluated, once for each distinct tuple of a segment. Facts, and conditions that are
 * evaluated on the values of a file, come last, because they are evaluated file by file.
 *
 * Not thread-safe; one instance for each plan.
 */
private[zonemap] final class FileSelection(
    index: SnapshotIndex,
    bound: BoundScan,
    request: ScanRequest,
    hints: ScanHints,
    trust: BoundsTrust) {
  private val condition = trust.condition(bound.filter, bound.derived)
  private val factFilter = FactFilter.of(trust, bound.predicate)
  private val partitions = new PartitionPruner(id => PartitionPruner.filtersOf(bound.specs(id), request, bound))

  private var limited: Option[Long] = None
  private var survivors: IndexedSeq[Bitmap] = Vector.empty
  private var planned: IndexedSeq[Bitmap] = Vector.empty

  /**
   * The number of rows that the query needs, if the selection has only as many files as contain this number of rows.
   */
  def limitedTo: Option[Long] = limited

  /** The effect of facts and single values; `None` if neither can evaluate a part of the filter. */
  def factReport: Option[FactReport] =
    factFilter.map(_.report(ColumnNames.of(bound.schema, _)))

  /** The segments that have selected files, each with these files. */
  def selected(): IndexedSeq[(Segment, Bitmap)] = {
    ReadAhead.zones(index.segments.map(_.segment), condition.whole)
    survivors = index.segments.map(select)
    val enough = bound.limit.flatMap(LimitCut.files(index, survivors, _, trust))
    limited = bound.limit.filter(_ => enough.isDefined).map(_.rows)
    planned = enough.getOrElse(survivors)
    index.segments.indices.filterNot(planned(_).isEmpty).map(i => index.segments(i).segment -> planned(i))
  }

  private def select(live: LiveSegment): Bitmap = {
    val kept = trust.mayMatch(live.segment, condition, live.liveRows())
    val inPartitions = partitions.keep(live.segment, kept)
    factFilter.fold(inPartitions)(_.keep(live.segment, inPartitions))
  }

  /** The files before and after each step of the selection that was made last. It may be called on any thread, once. */
  def steps(): PlanSteps = count.of(survivors, factReport.map(_.answered), limited.map(_ -> planned))

  /** Whether each condition of the filter removes a file, see [[StepCounter]]. */
  def removing(conditions: Seq[(Predicate, Predicate)]): Seq[Boolean] = count.removing(survivors, conditions)

  private def count = new StepCounter(index, bound, hints, request, trust)
}
