// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import zonemap.core.column.Bitmap
import zonemap.core.segment.Segment
import zonemap.iceberg.prune._
import zonemap.iceberg.snapshot.SnapshotIndex
import zonemap.iceberg.trust._

/**
 * Evaluates aggregates over all files that may hold a row of a query, before the scan is planned (SOUNDNESS, S150). It
 * makes no task and reads no path. Without a group and a filter it takes O(segments), else O(files).
 *
 * Used by one thread, once.
 */
private[zonemap] final class SnapshotAggregates(question: AggregateQuestion, index: SnapshotIndex, trust: BoundsTrust) {
  private val totals = new AggregateTotals(question.aggregates)
  private val complete = new CompleteFiles(index, question.filter, trust)

  /**
   * The result of each group. `None` if a row of some file may fail the condition or be deleted, if a result is not
   * proven, or if there are too many groups. Deletes that refer to single files would have to be looked up by path, so
   * the planned scan does it.
   *
   * @param files all files that may hold a row for which the condition is TRUE
   */
  def answer(files: FileSet): Option[Seq[GroupAnswer]] =
    Option
      .when(files.count > 0 && !index.deletes.hasPaths && files.rows.forall { case (segment, rows) =>
        rows.isEmpty || (complete.allMatch(segment, rows) == rows && add(segment, rows))
      })(totals.groups)

  /** Adds files of which all rows match; false if one of them has no proven result. */
  private def add(segment: Segment, files: Bitmap): Boolean = {
    val results = new SegmentResults(segment, question, trust)
    results.areProven(files) && {
      if (question.grouping.isEmpty)
        recordsOf(segment, files).flatMap(results.of(files, _)).exists { found =>
          totals.group(Nil).add(found)
          true
        }
      else addGroups(segment, files, results)
    }
  }

  private def recordsOf(segment: Segment, files: Bitmap): Option[Long] =
    if (!index.deletes.isEmpty) segment.totalOf(files)(complete.recordsOf(segment)(_))
    else if (files.cardinality == segment.rows) segment.totalRecordCount
    else segment.totalOf(files)(segment.recordCount)

  private def addGroups(segment: Segment, files: Bitmap, results: SegmentResults): Boolean = {
    val records = complete.recordsOf(segment)
    val ofPartition =
      if (results.areGroupsOfPartitions) new Array[GroupTotal](segment.partitions.size) else Array.empty[GroupTotal]
    def groupOf(row: Int): Option[GroupTotal] = results.key(row).map(totals.group)
    def group(row: Int): Option[GroupTotal] =
      if (ofPartition.isEmpty) groupOf(row)
      else {
        val partition = segment.partitionOrdinal(row)
        if (ofPartition(partition) == null) ofPartition(partition) = groupOf(row).orNull
        Option(ofPartition(partition))
      }
    var row = files.nextSetBit(0)
    var isProven = true
    while (isProven && row >= 0) {
      val counted = records(row)
      isProven = counted > 0 && group(row).exists(results.addTo(_, row, counted)) && !totals.areTooMany
      row = files.nextSetBit(row + 1)
    }
    isProven
  }
}
