// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.prune

import scala.collection.mutable

import org.apache.iceberg.PartitionSpec

import zonemap.core.column.Bitmap
import zonemap.core.predicate.{Predicate, True}
import zonemap.core.segment.Segment
import zonemap.iceberg.convert.SourceConditions

/**
 * Prunes files whose partition tuple proves that no row matches. A tuple of a segment is evaluated once, however many
 * files have it. Not thread-safe; one instance for each plan.
 *
 * @param filtersOf the conditions on tuples of a spec, all of which must hold
 */
private[zonemap] final class PartitionPruner(filtersOf: Int => Seq[PartitionFilter]) {
  import PartitionPruner._

  private val filters = mutable.HashMap.empty[Int, Seq[PartitionFilter]]

  /** Removes files without matching rows from `rows`, and returns `rows`. */
  def keep(segment: Segment, rows: Bitmap): Bitmap = if (rows.isEmpty) rows else keepMatching(segment, rows)

  private def keepMatching(segment: Segment, rows: Bitmap): Bitmap = {
    val partitionFilters = segment.partitions.map(p => filters.getOrElseUpdate(p.specId, filtersOf(p.specId)))
    if (partitionFilters.forall(_.isEmpty)) rows
    else {
      val decided = new Array[Byte](segment.partitions.size)
      rows.forEach { row =>
        val ordinal = segment.partitionOrdinal(row)
        if (decided(ordinal) == Undecided)
          decided(ordinal) =
            if (partitionFilters(ordinal).forall(_.keeps(segment.partitions(ordinal).values))) Keep else Drop
        if (decided(ordinal) == Drop) rows.clear(row)
      }
      rows
    }
  }
}

private[zonemap] object PartitionPruner {
  private val Undecided: Byte = 0
  private val Keep: Byte = 1
  private val Drop: Byte = 2

  /** Evaluates a predicate bound by field ids on tuples; files of an unknown spec are retained. */
  def of(predicate: Predicate, specs: Int => Option[PartitionSpec]): PartitionPruner =
    new PartitionPruner(id => specs(id).toSeq.flatMap(filterOf(_, predicate)))

  /** The conditions on tuples: the scan's filter, exactly, and the other conditions that every needed row satisfies. */
  def filtersOf(spec: PartitionSpec, request: ScanRequest, bound: BoundScan): Seq[PartitionFilter] =
    PartitionFilter.of(spec, request.filter, request.caseSensitive).toSeq ++ filterOf(spec, bound.expressions)

  /** `None` if the predicate implies no condition on the partitions of `spec`. */
  private def filterOf(spec: PartitionSpec, predicate: Predicate): Option[PartitionFilter] =
    if (predicate == True || spec.isUnpartitioned) None
    else PartitionFilter.ofDerived(spec, SourceConditions.of(predicate, spec))
}
