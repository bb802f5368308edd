// SPDX-License-Identifier: Apache-2.0
package zonemap.iceberg.answer

import scala.collection.mutable

import zonemap.core.value.{LongValue, ZoneValue, ZoneValues}

/** Adds up the results of aggregates over parts of a table, by group (SOUNDNESS, S109). Not thread-safe. */
private[answer] final class AggregateTotals(aggregates: Seq[FileAggregate]) {
  private val byKey = mutable.LinkedHashMap.empty[Seq[ZoneValue], GroupTotal]

  /** Whether there are more groups than a plan can hold. */
  def areTooMany: Boolean = byKey.size > AggregateTotals.MaxGroups

  def groups: Seq[GroupAnswer] = byKey.iterator.map { case (key, total) => GroupAnswer(key, total.results) }.toSeq

  /** The group of a key, which is added if there is none. Each group must get the results of some part. */
  def group(key: Seq[ZoneValue]): GroupTotal = byKey.getOrElseUpdate(key, new GroupTotal(aggregates.toArray))
}

/** The results of one group so far; null before the first part. Not thread-safe. */
private[answer] final class GroupTotal(aggregates: Array[FileAggregate]) {
  private val totals = new Array[ZoneValue](aggregates.length)

  def results: Seq[ZoneValue] = totals.toSeq

  /** Adds the result of one aggregate over one part. */
  def add(i: Int, found: ZoneValue): Unit = totals(i) = AggregateTotals.merged(aggregates(i), totals(i), found)

  /** Adds the results of one part. */
  def add(found: Seq[ZoneValue]): Unit = found.indices.foreach(i => add(i, found(i)))
}

private[answer] object AggregateTotals {

  /** The plan of a query can hold this many rows without becoming slow. */
  val MaxGroups = 10000

  /** The result over two parts together. */
  def merged(aggregate: FileAggregate, left: ZoneValue, right: ZoneValue): ZoneValue =
    (aggregate, left, right) match {
      case (FileAggregate.CountRows | _: FileAggregate.CountValues, LongValue(a), LongValue(b)) =>
        ZoneValues.ofLong(Math.addExact(a, b))
      case (_, null, value)               => value
      case (_, value, null)               => value
      case (_: FileAggregate.Least, _, _) => if (left.compare(right) <= 0) left else right
      case _                              => if (left.compare(right) >= 0) left else right
    }
}
