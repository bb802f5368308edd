// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import scala.collection.mutable

import zonemap.core.column.Bitmap
import zonemap.core.predicate.{ColumnRef, Predicate}
import zonemap.core.segment.Segment
import zonemap.core.value.{ZoneValue, ZoneValues}
import zonemap.iceberg.trust._

/**
 * The results of aggregates over files of one segment of which every row matches the condition, as far as the index
 * proves them (SOUNDNESS, S103 to S107). Not thread-safe.
 */
private[answer] final class SegmentResults(segment: Segment, question: AggregateQuestion, trust: BoundsTrust) {
  private val columns = mutable.HashMap.empty[ColumnRef, ExactColumn]
  private val keys = question.grouping.map(key => (row: Int) => known(key.column).key(key.function, row))
  private val results = question.aggregates.map(resultOf).toArray
  private val tested = Predicate
    .fieldIds(question.filter)
    .toSeq
    .flatMap(segment.column)
    .map(stored => known(ColumnRef(stored.fieldId, stored.columnType, "")))

  private def known(column: ColumnRef): ExactColumn =
    columns.getOrElseUpdate(column, new ExactColumn(segment, column, trust))

  /** Whether the bounds that prove the condition for a file describe what readers return. */
  def isProven(row: Int): Boolean = tested.forall(_.boundsAreOfWhatIsRead(row))

  /** Whether [[isProven]] is true for every one of some files. */
  def areProven(files: Bitmap): Boolean = tested.forall(_.boundsAreOfWhatIsRead(files))

  /** Whether the partition of each file determines its group. */
  def areGroupsOfPartitions: Boolean = question.grouping.forall(key => known(key.column).isOfPartitions)

  /** The keys of the group to which all rows of a file belong. */
  def key(row: Int): Option[Seq[ZoneValue]] = SegmentResults.all(keys.map(_(row)))

  /** Adds the results over a file that has `records` rows to its group; false if one of them is not proven. */
  def addTo(group: GroupTotal, row: Int, records: Long): Boolean =
    results.indices.forall { i =>
      val found = results(i)(row, records)
      found.foreach(group.add(i, _))
      found.isDefined
    }

  /** The results over a file that has `records` rows. */
  def of(row: Int, records: Long): Option[Seq[ZoneValue]] = SegmentResults.all(results.map(_(row, records)))

  /**
   * The results over some files together, which have `records` rows: from the zone of the segment in O(1), or file by
   * file where it proves nothing.
   */
  def of(files: Bitmap, records: Long): Option[Seq[ZoneValue]] =
    SegmentResults.all(question.aggregates.indices.map { i =>
      ofZone(question.aggregates(i), files, records).orElse(ofEach(i, files))
    })

  private def ofZone(aggregate: FileAggregate, files: Bitmap, records: Long): Option[ZoneValue] =
    aggregate match {
      case FileAggregate.CountRows           => Some(ZoneValues.ofLong(records))
      case FileAggregate.CountValues(column) => known(column).count(files, records).map(ZoneValues.ofLong)
      case FileAggregate.Least(column)       => known(column).extreme(files, least = true)
      case FileAggregate.Greatest(column)    => known(column).extreme(files, least = false)
    }

  private def ofEach(i: Int, files: Bitmap): Option[ZoneValue] = {
    var row = files.nextSetBit(0)
    var total = results(i)(row, segment.recordCount(row))
    while (total.isDefined && { row = files.nextSetBit(row + 1); row >= 0 }) {
      val found = results(i)(row, segment.recordCount(row))
      total = for (t <- total; f <- found) yield AggregateTotals.merged(question.aggregates(i), t, f)
    }
    total
  }

  private def resultOf(aggregate: FileAggregate): (Int, Long) => Option[ZoneValue] =
    aggregate match {
      case FileAggregate.CountRows => (_, records) => Some(ZoneValues.ofLong(records))
      case FileAggregate.CountValues(column) =>
        val facts = known(column)
        (row, records) => facts.count(row, records).map(ZoneValues.ofLong)
      case FileAggregate.Least(column) =>
        val facts = known(column)
        (row, _) => facts.extreme(row, least = true)
      case FileAggregate.Greatest(column) =>
        val facts = known(column)
        (row, _) => facts.extreme(row, least = false)
    }
}

private object SegmentResults {
  private def all(values: Seq[Option[ZoneValue]]): Option[Seq[ZoneValue]] =
    Option.when(values.forall(_.isDefined))(values.flatten)
}
