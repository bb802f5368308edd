package zonemap.iceberg.plan

import zonemap.core.eval.Bitmap
import zonemap.core.segment.Segment
import zonemap.iceberg.convert.ColumnNames
import zonemap.iceberg.index.{LiveSegment, SnapshotIndex}

/**
 * The rows (data files) of a snapshot that a filter may match.
 *
 * Zones first: a row falls out when its bounds prove that no row of the file matches. Partitions second, exactly as
 * Iceberg evaluates them, because Spark no longer checks filters that select whole partitions: every surviving row's
 * own tuple is evaluated, once per distinct tuple of a segment. Facts and conditions that have to be evaluated last, because
 * they are asked file by file.
 *
 * Not thread-safe; one instance a plan.
 */
private[plan] final class FileSelection(
    index: SnapshotIndex,
    bound: BoundScan,
    request: ScanRequest,
    trust: BoundsTrust) {
  private val condition = trust.condition(bound.filter, bound.derived)
  private val factFilter = FactFilter.of(trust, bound.predicate)
  private val partitions = new PartitionPruner(id => PartitionPruner.filtersOf(bound.specs(id), request, bound))

  private var limited: Option[Long] = None

  /** The rows that the query wants, if only the files that hold them were selected. */
  def limitedTo: Option[Long] = limited

  /** What facts did, if they were asked. */
  def factReport: Option[FactReport] =
    factFilter.flatMap(_.report(ColumnNames.of(bound.schema, _)))

  /** The segments that have survivors, and the survivors. */
  def selected(): IndexedSeq[(Segment, Bitmap)] = {
    ReadAhead.zones(index.segments.map(_.segment), condition.whole)
    val survivors = index.segments.map(select)
    val enough = bound.limit.flatMap(LimitCut.files(index, survivors, _, trust))
    limited = bound.limit.filter(_ => enough.isDefined).map(_.rows)
    val planned = enough.getOrElse(survivors)
    index.segments.indices.filterNot(planned(_).isEmpty).map(i => index.segments(i).segment -> planned(i))
  }

  private def select(live: LiveSegment): Bitmap = {
    val kept = trust.mayMatch(live.segment, condition, live.liveRows())
    val inPartitions = partitions.keep(live.segment, kept)
    factFilter.fold(inPartitions)(_.keep(live.segment, inPartitions))
  }

  /** The number of live rows whose partition tuple can match. */
  def countAfterPartitions(): Long =
    index.segments.iterator.map(live => partitions.keep(live.segment, live.liveRows()).cardinality.toLong).sum
}
